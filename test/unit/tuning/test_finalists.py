"""Who comes to the finals, how they are played, and what is said of those who do not win."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from tuning.fakes import close, fake_lab, fake_search

from iree_tuner.device.numerics import Agreement
from iree_tuner.tuning import workloads
from iree_tuner.tuning.engine import Engine
from iree_tuner.tuning.finals import ANY, Final, FinalPlan, play_finals
from iree_tuner.tuning.search import InTurns
from iree_tuner.tuning.stop import StopRequest

PLAN = FinalPlan(2, 2, 16, 60.0)


def played(*searches_texts, plan=PLAN, wrong=(), alternate=True, mends=None, fits=lambda *_: True):
    """The finals of searches over such candidates, and the searches."""
    stop, lab = StopRequest(), fake_lab(alternate=alternate)
    measurer = lab.measurer
    compared = []

    def rounds(vmfbs, bench, count):
        compared.append([vmfb.decode().split()[0] for vmfb in vmfbs])
        times = [float(vmfb.decode().partition("time:")[2].split()[0]) for vmfb in vmfbs]
        return [times] * count

    measurer.rounds = rounds
    measurer.agrees = lambda vmfb, bench: (
        mends or Agreement(not any(name in vmfb.decode().split() for name in wrong), 0.0, "far off")
    )
    searches = [fake_search(texts, lab, stop=stop) for texts in searches_texts]
    try:
        for search in searches:
            list(Engine(lab, stop, 4).run(InTurns([search])))
        finals = play_finals(searches, lab, lambda _, __: plan, fits=fits)
        return list(finals.values()), searches, compared
    finally:
        close(lab)


def test_what_only_compiles_unverified_does_not_win():
    (final,), (search,), _ = played(["code:1 time:50 invalid", "code:2 time:120"])
    assert final.winner is None
    assert "failed to compile a second time: the compiler refuses" in final.note
    assert sorted(trial.outcome for trial in search.trials) == ["compile_error", "ok"]
    assert search.best.time_us == 120


def test_who_could_not_be_built_is_told_beside_one_that_did_not_win():
    (final,), _, _ = played(["code:1 time:50 invalid", "code:2 time:100"])
    assert final.winner is None
    assert final.comparison is not None
    assert "failed to compile a second time" in final.note


@pytest.mark.parametrize("alternate", [True, False])
def test_the_best_wins_after_it_was_judged_on_fresh_samples(alternate):
    (final,), _, compared = played(
        ["code:1 time:90", "code:2 time:50", "code:3 time:70"], alternate=alternate
    )
    assert final.winner.time_us == 50
    assert final.comparison.verdict == "win"
    assert compared[0] == ["code:0", "code:2", "code:3"], "two finalists choose"
    assert compared[-1] == ["code:0", "code:2"], "and one is judged"


def test_a_single_finalist_is_chosen_by_the_search_and_compared_once():
    texts = ["code:1 time:90", "code:2 time:50", "code:3 time:70"]
    (final,), _, compared = played(texts, plan=replace(PLAN, finalists=1), alternate=False)
    assert (final.winner.time_us, final.comparison.verdict) == (50, "win")
    assert set(map(tuple, compared)) == {("code:0", "code:2")}
    (final,), _, _ = played(texts, plan=replace(PLAN, finalists=1), wrong=("code:2", "code:3"))
    assert final.winner.time_us == 90
    (final,), _, _ = played(["code:1 time:101"], plan=replace(PLAN, finalists=1))
    assert final.winner is None
    assert final.comparison.verdict == "tie"


def test_what_waits_to_be_judged_is_told_to_who_knows_the_time():
    told = []
    finals, _, _ = played(
        ["code:1 time:50"], ["code:1 time:150"], ["code:1 time:40"], ["code:1 time:30"],
        fits=lambda _, waiting: told.append(waiting) or len(told) < 4,
    )  # fmt: skip
    assert told == [0, 1, 1, 2]
    assert [final.winner.time_us if final.winner else None for final in finals] == [50, None, 40]


def test_what_has_wrong_numbers_makes_room_for_the_next():
    texts = ["code:1 time:50", "code:2 time:60", "code:3 time:70"]
    (final,), (search,), _ = played(texts, wrong=("code:1", "code:2"))
    assert final.winner.time_us == 70
    outcomes = {trial.assignment["x"]: trial.outcome for trial in search.trials}
    assert outcomes == {0: "wrong_result", 1: "wrong_result", 2: "ok"}


def test_where_the_default_is_wrong_who_is_right_wins_however_long_it_takes():
    texts = ["code:1 time:50", "code:2 time:150 mends", "code:3 time:90", "code:4 time:130 mends"]
    says = Agreement(True, 0.0, note="the default itself is wrong: seed 0", corrects=True)
    (final,), (search,), _ = played(texts, plan=replace(PLAN, least=ANY), mends=says)
    assert final.winner.time_us == search.best.time_us == 130
    assert final.comparison.verdict == "lose"
    assert final.note.startswith("the default itself is wrong")
    told = search.strategy.told
    known = next(place for place, trial in enumerate(told) if trial.corrects)
    assert all(trial.corrects or trial.outcome == "wrong_result" for trial in told[known:])
    assert search.to_beat == 1.3
    (final,), _, _ = played(texts, plan=replace(PLAN, least=ANY), mends=replace(says, corrects=False))
    assert final.winner is None, "on further inputs it is as wrong as the default"


def test_where_all_are_wrong_nothing_wins_and_it_is_said():
    (final,), _, _ = played(["code:1 time:50"], wrong=("code:1",))
    assert final.winner is None
    assert "wrong result: far off" in final.note


def test_where_nothing_came_near_nothing_is_compared():
    (final,), _, compared = played(["code:1 time:150"])
    assert final.winner is None
    assert final.note == "no candidate came close to the default's time"
    assert not compared


def test_the_finals_of_several_searches_go_through_each_step_together():
    finals, _, _ = played(["code:1 time:50"], ["code:1 time:150"], ["code:2 time:80", "code:3 time:40"])
    assert [final.winner.time_us if final.winner else None for final in finals] == [50, None, 40]


def test_others_that_win_are_named_where_they_are_asked_for():
    texts = ["code:1 time:50", "code:2 time:60", "code:3 time:70"]
    (final,), _, _ = played(texts, plan=replace(PLAN, finalists=3, keep=2))
    assert [each.winner.time_us for each in final.named] == [50, 60]


def test_others_that_do_not_win_are_named_where_several_are_asked_for():
    texts = ["code:1 time:99.9", "code:2 time:110", "code:3 time:190"]
    (final,), _, _ = played(texts, plan=replace(PLAN, finalists=3, keep=3))
    assert final.winner is None
    assert [each.winner.time_us for each in final.named] == [99.9, 110], "what is far slower is not"
    (alone,), _, _ = played(texts, plan=replace(PLAN, finalists=3))
    assert alone.named == ()


class Found:
    """A search, as far as it matters when it has a final."""

    def __init__(self, score):
        self.best = SimpleNamespace(score=score)


def test_what_a_search_finds_after_its_final_has_another_one(monkeypatch):
    """Only what is better than before, or had no final."""
    played, first, second = [], Found(0.8), Found(0.7)

    def play(run, lab, chosen, after_s, *, late):
        searches = [search for each in chosen for search in each.searches]
        played.append((searches, late))
        return {search: Final(None, None) for search in searches}

    monkeypatch.setattr(workloads, "_played", play)
    monkeypatch.setattr(workloads, "_final_s", lambda each, lab: 0.0)
    each = [SimpleNamespace(corrects=False, gained_us=1.0, searches=[search]) for search in (first, second)]
    run = SimpleNamespace(budget=SimpleNamespace(limited=False))
    queue, finals = SimpleNamespace(run=run, lab=None, workloads=each), workloads._Finals()
    finals.play(queue, 0.0, "")
    finals.play(queue, 0.0, "")
    first.best = SimpleNamespace(score=0.79)
    finals.play(queue, 0.0, "")
    late = Found(0.9)
    each.append(SimpleNamespace(corrects=False, gained_us=0.5, searches=[late]))
    finals.play(queue, 0.0, "")
    assert played == [([first, second], False), ([first], True), ([late], True)]
    assert set(finals.finals) == {first, second, late}
