"""The classifier behind ask and tell; most of it is in test_strategies, with all others."""

import math

import numpy as np
import pytest
from grid import Grid, Outcome, at, bowl, play

from iree_tuner.search.cost.landscape import ESTIMATE

ranker = pytest.importorskip(
    "iree_tuner_strategies.ranker", reason="needs `pip install ./benchmarks/strategies`"
)
Ranker = ranker.Ranker


class Known(Grid):
    """A grid with an estimate, which grows with x, and a guess, which grows with y."""

    features = (ESTIMATE, "y")

    def __init__(self, side, guessed):
        super().__init__(side)
        self.guessed = guessed

    def guess(self, rows):
        return rows[:, 1] if self.guessed else None


def test_the_first_batches_follow_the_estimate():
    asked = play(Ranker(Known(10, False), 0), lambda member: 1.0, 2, batch=5)
    assert {member["x"] for member in asked} == {0}


def test_what_other_workloads_suggest_is_added_to_it():
    asked = play(Ranker(Known(10, True), 0), lambda member: 1.0, 2, batch=5)
    assert {member["x"] + member["y"] for member in asked} == {0, 1, 2, 3}


def test_after_them_it_follows_what_was_seen():
    """The estimate puts the best last."""
    strategy = Ranker(Known(30, False), 0)
    strategy.tell([Outcome(at(x, 15), 2.0 - x / 30) for x in range(0, 30, 2)])
    strategy.tell([Outcome(at(29, y), 1.0 + abs(y - 15) / 30) for y in range(0, 30, 2)])
    asked = strategy.ask(8)
    assert sum(member["x"] > 20 and 8 <= member["y"] <= 22 for member in asked) >= 6


def test_failures_are_learned_from():
    """The estimate promises most of what fails: nothing else is known but the compiler's choice."""

    def score(member):
        return math.inf if member["x"] < 10 else bowl(member)

    seen = play(Ranker(Known(30, False), 0, at(22, 15)), score, 10)
    fails = [member["x"] < 10 for member in seen]
    assert all(fails[:16])
    assert sum(fails[16:]) <= 24  # of 64


def test_a_batch_is_diverse(monkeypatch):
    def spread():
        strategy = Ranker(Grid(40), 3)
        play(strategy, bowl, 6)
        batch = strategy.ask(8)
        points = np.array([[member["x"], member["y"]] for member in batch], float)
        gaps = np.abs(points[:, None] - points[None]).sum(axis=2)
        return np.median(gaps[np.triu_indices(8, 1)])

    apart = spread()
    monkeypatch.setattr(ranker, "_ALIKE", 0.0)
    assert apart > spread()


def test_equal_results_are_no_error():
    assert len(set(play(Ranker(Grid(8), 0), lambda member: 1.0, 8))) == 64


def test_nothing_is_printed_or_warned_of(capfd, recwarn):
    play(Ranker(Grid(8), 0, at(1, 1)), bowl, 4)
    assert capfd.readouterr() == ("", "")
    assert [str(each.message) for each in recwarn] == []
