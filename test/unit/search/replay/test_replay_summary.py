"""Medians of runs and of recordings."""

import math

import pytest

from iree_tuner.search.replay.run import ReplayRun, ReplaySummary, finite, median_to, overall, summarize


def run(seed, *best_after):
    return ReplayRun("any", seed, best_after, 100)


def test_medians_over_seeds():
    runs = [run(0, 1.5, 1.01), run(1, 1.05, 1.05, 1.0), run(2, 1.0)]
    found = summarize("name", runs)
    assert found == ReplaySummary("name", "any", 3, 100, (2, 1), 1.0)


def test_runs_that_never_came_near_count_as_infinite():
    runs = [run(0, 1.0), run(1, 1.5), run(2, 1.5)]
    assert median_to(runs, 0.02) == math.inf
    assert median_to(runs[:2], 0.02) == math.inf, "no mean of a number and of what never came"
    assert median_to([run(0, 1.0), run(1, 1.0), run(2, 1.5)], 0.02) == 1
    assert finite(median_to(runs, 0.02)) is None


def test_medians_over_recordings():
    found = [
        ReplaySummary("a", "any", 5, 100, (10, 4), 0.9),
        ReplaySummary("b", "any", 5, 100, (math.inf, 16), 0.8),
        ReplaySummary("c", "any", 5, 100, (20, 16.5), 1.0),
    ]
    total = overall(found)
    assert (total.strategy, total.recordings) == ("any", 3)
    assert total.evaluations == (20, 16)
    assert total.share == 0.9
    assert total.near == pytest.approx(2 / 3)
