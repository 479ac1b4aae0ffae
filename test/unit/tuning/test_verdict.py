"""The program has the last word: what is used, what is left out, and why."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from iree_tuner.device.numerics import Agreement
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.targets import parse_target
from iree_tuner.targets.find import options_of, with_options
from iree_tuner.tuning.budget import Budget, MeasuredTimes
from iree_tuner.tuning.earlier import EarlierResult, EarlierSpec
from iree_tuner.tuning.options import effort_named
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.timeline import Timeline
from iree_tuner.tuning.verdict import ProgramJudge, Tuned, against_earlier
from iree_tuner.tuning.versions import Change, ProgramVersion

HOST = parse_target("llvm-cpu:host")


def unlimited():
    return Budget(math.inf, Timeline(), 2, StopRequest())


TILED = with_options(HOST, ("data-tiling",))


@dataclass(frozen=True)
class Workload:
    name: str

    @property
    def key(self):
        return f"key of {self.name}"


@dataclass(frozen=True)
class Entry:
    """An entry that really saves so much in the program, or costs it."""

    workload: Workload
    effect_us: float


def entry(name, effect_us):
    return Entry(Workload(name), effect_us)


def result(used, promised_us, *others, corrects=False):
    """A workload's result: what its own verdict promises."""
    task = SimpleNamespace(
        workload=(used or others[0]).workload,
        dispatches=(SimpleNamespace(name="dispatch_of_" + (used or others[0]).workload.name),),
    )
    return SimpleNamespace(
        entry=used, saved_us=promised_us, others=others, task=task, weight_us=10.0, corrects=corrects
    )


class FakeWhole:
    """A program of 1000 us; flags and entries change that by what they say."""

    def __init__(self, flags_us=0.0, wrong=(), noise=0.0, luck=1.0, fails=()):
        self._flags_us = flags_us
        self._fails = fails
        self._wrong = wrong
        self._noise = noise  # half of an interval
        self._luck = luck  # of versions without entries, the first time
        self.steps = []
        self.measured = MeasuredTimes()

    def time_us(self, version):
        flags = self._flags_us if options_of(version.target) else 0.0
        changed = sum(each.made for each in version.changes)
        return 1000.0 + flags - changed - sum(each.effect_us for each in version.entries)

    def compare(self, against, others, look, rival=None):
        self.steps += [version.what for version in others]
        found = [self._one(against, each) for each in others]
        if rival is None or not found[others.index(rival)].ok:
            return found
        over = [self._one(rival, each).comparison for each in others]
        return [replace(each, over_rival=one) for each, one in zip(found, over, strict=True)]

    def _one(self, against, version):
        if any(each.workload.name in self._wrong for each in version.entries):
            return ProgramComparison("main", None, Agreement(False, 9.0), "wrong results: far off")
        if version.what in self._fails:
            return ProgramComparison("", None, Agreement(True, 0.0), "does not compile: failed to distribute")
        speedup = self.time_us(against) / self.time_us(version)
        if not version.entries:
            speedup, self._luck = speedup * self._luck, 1.0
        low, high = speedup * (1 - self._noise), speedup * (1 + self._noise)
        verdict = "win" if low > 1.005 else "lose" if high < 0.995 else "tie"
        comparison = SimpleNamespace(
            speedup=speedup, verdict=verdict, default_us=self.time_us(against),
            interval=(low, high),
        )  # fmt: skip
        return ProgramComparison("main", comparison, Agreement(True, 0.0))


def judged(tuned, whole=None, in_model=1, mend=lambda *_: None, earlier=None):
    whole = whole or FakeWhole()
    judge = ProgramJudge(
        whole, HOST, effort_named("default"), unlimited(), in_model, mend=mend, earlier=earlier
    )
    return judge.choose(tuned), whole


def tuned(target, *results):
    entries = tuple(each.entry for each in results if each.entry is not None)
    return Tuned(target, results, entries)


def names(verdict):
    return [each.workload.name for each in verdict.version.entries]


def test_what_gains_what_it_promises_is_used_as_it_is():
    verdict, whole = judged([tuned(HOST, result(entry("a", 200), 200), result(entry("b", 100), 100))])
    assert names(verdict) == ["a", "b"]
    assert verdict.left_out == ()
    assert len(whole.steps) == 1, "nothing is looked for where nothing is amiss"


def test_a_part_that_is_faster_alone_and_slower_in_the_program_is_left_out():
    planted = entry("planted", -300)
    verdict, whole = judged([
        tuned(HOST, result(entry("a", 200), 200), result(planted, 150), result(entry("c", 80), 80))
    ])  # fmt: skip
    assert names(verdict) == ["a", "c"]
    assert verdict.left_out == (planted,)
    assert "planted" in verdict.note
    assert verdict.found.comparison.speedup == pytest.approx(1000 / 720)
    assert len(whole.steps) > 2


def test_a_part_that_hides_in_a_program_that_is_faster_all_the_same():
    planted = entry("planted", -180)
    verdict, _ = judged([tuned(HOST, result(entry("a", 300), 300), result(planted, 150))])
    assert names(verdict) == ["a"], "the program gains less than half of what its parts promise"


def test_a_part_with_wrong_results_is_left_out():
    bad = entry("bad", 100)
    verdict, _ = judged(
        [tuned(HOST, result(entry("a", 200), 200), result(bad, 100))], FakeWhole(wrong=("bad",))
    )
    assert names(verdict) == ["a"]
    assert verdict.left_out == (bad,)


def test_what_mends_the_program_stays_whatever_it_costs():
    mending = entry("mending", -300)
    mended = result(mending, -300, corrects=True)
    for others in (
        [],
        [result(entry("a", 200), 200)],
        [result(entry("a", 200), 200), result(entry("bad", -100), 90)],
    ):
        verdict, _ = judged([tuned(HOST, mended, *others)])
        assert "mending" in names(verdict)
        assert "corrected, because the compiler's default computes wrong results: mending" in verdict.note
        assert "bad" not in names(verdict)
    bad = result(entry("wrong", 100), 100)
    verdict, _ = judged([tuned(HOST, mended, bad)], FakeWhole(wrong=("wrong",)))
    assert names(verdict) == ["mending"]


def test_a_version_with_a_wrong_kernel_is_judged_again_without_it():
    bad, good = entry("bad", 400), entry("good", 300)
    wrong = ProgramVersion("all kernels", HOST, (bad, good))
    asked = []

    def mend(version, found):
        assert not found.agreement.ok
        asked.append(version)
        return ProgramVersion("those that are right", HOST, (good,))

    own = Tuned(HOST, (result(entry("a", 50), 50),), (entry("a", 50),), more=(wrong,))
    verdict, _ = judged([own], FakeWhole(wrong=("bad",)), mend=mend)
    assert asked == [wrong]
    assert names(verdict) == ["good"]
    verdict, _ = judged([own], FakeWhole(wrong=("bad",)))
    assert names(verdict) == ["a"], "where nobody is found out, what is right is used"


def test_a_version_with_kernels_that_does_not_compile_is_judged_again_as_it_is_mended():
    kernels = ProgramVersion("flags and kernels", HOST, (entry("kernels", 400),))
    plain = ProgramVersion("kernels", HOST, (entry("kernels", 300),))
    own = Tuned(HOST, (result(entry("a", 50), 50),), (entry("a", 50),), more=(kernels,))
    found = []
    whole = FakeWhole(fails=("flags and kernels",))
    verdict, _ = judged([own], whole, mend=lambda version, one: found.append((version, one.error)) or plain)
    assert found == [(kernels, "does not compile: failed to distribute")]
    assert verdict.version == plain


def test_nothing_is_used_that_makes_the_program_slower():
    verdict, _ = judged([tuned(HOST, result(entry("a", -200), 200))])
    assert verdict.found is None
    assert names(verdict) == []
    assert verdict.version.target == HOST


def test_a_tie_keeps_entries_that_won_alone():
    verdict, _ = judged([tuned(HOST, result(entry("a", 1), 1))])
    assert names(verdict) == ["a"]


def test_a_tie_that_looks_slower_keeps_the_program_as_it_was():
    verdict, _ = judged([tuned(HOST, result(entry("a", -2), 2))])
    assert names(verdict) == []
    assert "not measurably faster" in verdict.note


def test_flags_must_win():
    verdict, _ = judged([tuned(TILED), tuned(HOST)], FakeWhole(flags_us=-1.0))
    assert verdict.version.target == HOST
    assert verdict.found is None
    verdict, _ = judged([tuned(TILED), tuned(HOST)], FakeWhole(flags_us=-300.0))
    assert verdict.version.target == TILED
    assert verdict.flags_alone.speedup == pytest.approx(1000 / 700)


def test_the_faster_of_two_choices_of_flags_with_what_each_was_tuned_to():
    other = tuned(TILED, result(entry("mmt4d", 50), 50))
    given = tuned(HOST, result(entry("matmul", 500), 500))
    verdict, _ = judged([other, given], FakeWhole(flags_us=-300.0))
    assert verdict.version.target == HOST
    assert names(verdict) == ["matmul"]
    verdict, _ = judged([other, given], FakeWhole(flags_us=-600.0))
    assert verdict.version.target == TILED
    assert names(verdict) == ["mmt4d"]


def test_noise_does_not_take_away_what_won_alone():
    """Flags alone look faster by chance: 1.28x, beside 1.25x with an entry that is worth 5 % of the time."""
    won = [tuned(TILED, result(entry("a", 50), 60))]
    verdict, _ = judged(won, FakeWhole(-150, noise=0.1, luck=1.088))
    assert names(verdict) == ["a"]
    assert verdict.left_out == ()
    verdict, _ = judged(won, FakeWhole(-150, noise=0.01, luck=1.088))
    assert names(verdict) == [], "what is measured decides"


def test_flags_that_won_are_not_lost_with_an_entry_that_hurts():
    """Once the entry is left out, the flags alone look like a tie: they have won before that."""

    class Unlucky(FakeWhole):
        asked = 0

        def _one(self, against, version):
            found = super()._one(against, version)
            if against.target == HOST and not version.entries:
                self.asked += 1
                if self.asked > 1:
                    found.comparison.verdict, found.comparison.speedup = "tie", 0.99
            return found

    hurts = entry("hurts", -60)
    verdict, whole = judged([tuned(TILED, result(hurts, 100))], Unlucky(-150, noise=0.04))
    assert whole.asked == 2
    assert names(verdict) == []
    assert verdict.version.target == TILED
    assert verdict.found.comparison.verdict == "win"


def test_what_does_not_win_alone_may_win_in_the_program():
    tie, slow = entry("a", 150), entry("b", -20)
    results = (result(None, 0, tie), result(None, 0, slow))
    verdict, _ = judged([tuned(HOST, *results)], in_model=2)
    assert names(verdict) == ["a"]
    assert verdict.found.comparison.speedup == pytest.approx(1000 / 850)
    assert verdict.note == "chosen, because it wins in the program, though not alone: a"
    assert names(judged([tuned(HOST, *results)], in_model=1)[0]) == []
    beside, _ = judged([tuned(HOST, result(entry("c", 100), 100), *results)], in_model=2)
    assert names(beside) == ["c", "a"]


def test_what_wins_nowhere_is_not_used():
    verdict, whole = judged([tuned(HOST, result(None, 0, entry("a", -50)))], in_model=3)
    assert names(verdict) == []
    assert verdict.found is None
    assert len(whole.steps) == 1


def test_flags_alone_may_have_others_beside_them():
    whole = FakeWhole(flags_us=-200)
    other = entry("a", 100)
    results = [tuned(HOST, result(None, 0, other)), tuned(TILED, result(None, 0, other))]
    verdict, _ = judged(results, whole, in_model=2)
    assert names(verdict) == ["a"]
    assert verdict.version.target == TILED


def test_others_that_won_alone_take_the_place_of_one_that_is_worse_in_the_program():
    better = entry("a", 400)
    verdict, _ = judged([tuned(HOST, result(entry("a", 200), 200, better))], in_model=2)
    assert verdict.version.entries == (better,)
    verdict, _ = judged([tuned(HOST, result(entry("a", 200), 200, better))], in_model=1)
    assert verdict.version.entries != (better,), "only where that is asked for"


def test_nothing_to_judge():
    verdict, whole = judged([tuned(HOST)])
    assert verdict.found is None
    assert whole.steps == []


def earlier(saves_us, *workloads):
    """A result of a run before, which saves so much and configures these workloads."""
    version = ProgramVersion(
        "the earlier result", HOST, (), (Change(EarlierSpec.name, "", "", made=saves_us),)
    )
    keys = frozenset(Workload(each).key for each in workloads)
    return EarlierResult(Path("a.spec.mlir"), None, version, keys)


def settled(before, *results, **how):
    """What is used, and what the earlier result is to it."""
    verdict, whole = judged([tuned(HOST, *results)], earlier=before.version, **how)
    return *against_earlier(verdict, before, "no time"), whole


@pytest.mark.parametrize(
    ("before_us", "new_us", "state"),
    [(200, 300, "beaten"), (300, 200, "kept"), (200, 201, "kept"), (200, 200, "kept"), (-200, 100, "none")],
)
def test_an_earlier_result_is_replaced_only_by_a_faster_one(before_us, new_us, state):
    """All are compared with the default and with it at once; one that is slower than the default is none."""
    before = earlier(before_us)
    verdict, found, whole = settled(before, result(entry("a", new_us), new_us))
    assert found.state == state
    assert whole.steps == ["default flags with the spec", "the earlier result"]
    assert (verdict.version == before.version) == (state == "kept")
    used_us = before_us if state == "kept" else new_us
    assert verdict.found.comparison.speedup == pytest.approx(1000 / (1000 - used_us))
    if state != "none":
        assert found.comparison.speedup == pytest.approx((1000 - before_us) / (1000 - new_us))


def test_a_gain_that_noise_may_explain_does_not_replace_an_earlier_result():
    _, found, _ = settled(earlier(200), result(entry("a", 220), 220), whole=FakeWhole(noise=0.05))
    assert (found.state, found.comparison.verdict) == ("kept", "tie")


@pytest.mark.parametrize("results", [[], [result(entry("a", -50), 50)]])
def test_without_a_new_result_the_earlier_one_is_used(results):
    before = earlier(200)
    verdict, found, _ = settled(before, *results)
    assert found.state == "kept"
    assert verdict.version == before.version
    assert verdict.found.comparison.speedup == pytest.approx(1000 / 800)


def test_a_new_result_whose_harmful_part_is_left_out_meets_the_earlier_one_again():
    verdict, found, whole = settled(earlier(150), result(entry("a", 200), 200), result(entry("b", -150), 80))
    assert names(verdict) == ["a"]
    assert found.state == "beaten"
    assert whole.steps[-1] == "the earlier result"


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"fails": ("the earlier result",)}, "does not compile: failed to distribute"),
        ({"wrong": True}, "wrong results: far off"),
        ({"same": ("the earlier result",)}, "it does not change this program"),
    ],
)
def test_an_earlier_result_that_fails_or_changes_nothing_counts_as_none(broken, why):
    class Broken(FakeWhole):
        def _one(self, against, version):
            if version.what == "the earlier result" and broken.get("wrong"):
                return ProgramComparison("main", None, Agreement(False, 9.0), "wrong results: far off")
            same = version.what in broken.get("same", ())
            return replace(super()._one(against, version), same_code=same)

    verdict, found, _ = settled(
        earlier(0), result(entry("a", 100), 100), whole=Broken(fails=broken.get("fails", ()))
    )
    assert (found.state, found.note) == ("none", why)
    assert names(verdict) == ["a"]


def test_an_earlier_result_that_was_not_compared_stays():
    verdict, _ = judged([tuned(HOST, result(entry("a", 100), 100))])
    same, found = against_earlier(verdict, earlier(200), "out of time")
    assert (same, found.state, found.note) == (verdict, "not compared", "out of time")
    assert found.stays
    apart = replace(verdict, earlier=verdict.found)  # did not fit into memory together
    assert against_earlier(apart, earlier(200), "")[1].state == "not compared"


def test_a_result_that_corrects_the_program_replaces_one_that_does_not():
    mended = result(entry("wrong", -100), -100, corrects=True)
    assert settled(earlier(200), mended)[1].state == "beaten"
    assert settled(earlier(200, "wrong"), mended)[1].state == "kept", "it corrects it, too"
