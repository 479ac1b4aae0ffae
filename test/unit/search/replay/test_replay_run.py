"""What a run counts, and what a strategy hears in it."""

import math

import pytest
from search.replay.recordings import DEFAULT, HEADER, NAMES, lines, member, small, stump, write

from iree_tuner.errors import UsageError
from iree_tuner.search.replay.recorded import read_recording
from iree_tuner.search.replay.run import ReplayRun, replay, replay_all
from iree_tuner.search.strategy import make_strategy
from iree_tuner.space.configuration import Assignment

NUMPY = ("analytic", "local", "model", "shuffle")


class Listed:
    """Asks for batches that were written down, and keeps what it hears."""

    def __init__(self, *batches):
        self.batches = list(batches)
        self.counts = []
        self.heard = []

    def ask(self, count):
        self.counts.append(count)
        return [Assignment.of({"x": x}) for x in self.batches.pop(0)] if self.batches else []

    def tell(self, results):
        self.heard += [(each.assignment["x"], each.score) for each in results]


def ran(records, tmp_path, strategy, budget=100, batch=8):
    space = read_recording(write(tmp_path / "a.jsonl", records))
    return replay(space, "listed", lambda landscape, seed: strategy, 0, budget, batch)


def test_the_best_so_far_after_each_evaluation(tmp_path):
    strategy = Listed([3, 1], [2, 0])
    run = ran(lines(4), tmp_path, strategy)
    assert run == ReplayRun("listed", 0, (4.0, 2.0, 2.0, 1.0), 4)
    assert strategy.heard == [(3, 4 / 16), (1, 2 / 16), (2, 3 / 16), (0, 1 / 16)]


def test_failures_count_as_evaluations_and_are_heard(tmp_path):
    strategy = Listed([1], [2])
    run = ran([HEADER, DEFAULT, member(1), member(2, 8.0)], tmp_path, strategy)
    assert run.best_after == (math.inf, 1.0)
    assert strategy.heard == [(1, math.inf), (2, 0.5)]
    assert (run.share_after(1), run.share_after(2), run.share_after(99)) == (0.0, 1.0, 1.0)


def test_it_is_judged_by_the_second_look_and_hears_the_first(tmp_path):
    strategy = Listed([1, 2])
    records = [HEADER, DEFAULT, member(1, 4.0, again_us=9.0), member(2, 5.0, again_us=6.0)]
    assert ran(records, tmp_path, strategy).best_after == (1.5, 1.0)
    assert strategy.heard == [(1, 0.25), (2, 5 / 16)]


def test_what_is_not_in_the_recording_or_was_asked_before_costs_nothing(tmp_path):
    strategy = Listed([2, 77, 2], [2, 3], [1])
    run = ran(lines(4), tmp_path, strategy)
    assert run.best_after == (3.0, 3.0, 2.0)
    assert [x for x, _ in strategy.heard] == [2, 3, 1]


def test_a_batch_of_unknown_ones_does_not_end_the_run(tmp_path):
    run = ran(lines(4), tmp_path, Listed([77], [78], [0]))
    assert run.best_after == (1.0,)


def test_a_strategy_that_repeats_itself_ends(tmp_path):
    assert ran(lines(4), tmp_path, Listed(*[[77]] * 1000, [0])).best_after == ()


def test_the_budget_is_kept(tmp_path):
    strategy = Listed([0, 1, 2], [3, 4], [5])
    run = ran(lines(9), tmp_path, strategy, budget=5, batch=3)
    assert len(run.best_after) == 5
    assert strategy.counts == [3, 2]


def test_evaluations_to_a_part_of_the_best():
    run = ReplayRun("any", 0, (math.inf, 1.5, 1.1, 1.1, 1.019, 1.0), 10)
    assert run.evaluations_to(0.02) == 5
    assert run.evaluations_to(0.1) == 3
    assert run.evaluations_to(0.0) == 6
    assert ReplayRun("any", 0, (1.2, 1.1), 10).evaluations_to(0.02) is None
    assert ReplayRun("any", 0, (), 10).share_after(16) == 0.0


@pytest.mark.parametrize("recording", NAMES)
@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("batch", [1, 8])
def test_every_strategy_reaches_the_best_in_the_end(name, recording, batch):
    space = small(recording)
    (run,) = replay_all(space, name, [1], 0, batch)
    assert run.best_after[-1] == 1.0
    assert len(run.best_after) >= len(space.members) - 1, "the starting point may be left out"
    assert list(run.best_after) == sorted(run.best_after, reverse=True)


@pytest.mark.parametrize("name", NUMPY)
def test_the_same_seed_runs_the_same(name):
    first, again, other = (
        [run.best_after for run in replay_all(small("flat_h200.jsonl"), name, seeds, 0, 4)]
        for seeds in ([0, 1, 2], [0, 1, 2], [3, 4, 5])
    )
    assert first == again
    if name not in ("analytic", "model"):  # these go by what they expect of a member
        assert first != other


def test_the_model_follows_its_prior():
    space = small("tall_cpu.jsonl")
    best = min(space.times_us, key=space.times_us.__getitem__)
    rows = space.encode(space.members)
    row = rows[space.members.index(best)]
    # A feature by whose value the best one can be told from most others.
    feature = min(space.features, key=lambda name: (rows[:, space.features.index(name)] <=
                                                    row[space.features.index(name)]).sum())  # fmt: skip
    limit = float(row[space.features.index(feature)]) + 1e-3
    space.prior = stump(space.features, feature, limit, 0.0, 3.0)
    asked = make_strategy("model", space, 0).ask(1)
    assert space.guess(space.encode(asked)) == [0.0]
    space.prior = stump(space.features, feature, limit, 3.0, 0.0)
    assert space.guess(space.encode(make_strategy("model", space, 0).ask(1))) == [0.0]


def test_an_unknown_strategy_is_told():
    with pytest.raises(UsageError, match="unknown strategy 'magic'"):
        list(replay_all(small("flat_h200.jsonl"), "magic", [0], 0, 8))
