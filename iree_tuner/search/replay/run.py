"""One strategy on one recording."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from iree_tuner.search.replay.recorded import RecordedSpace, Seen
from iree_tuner.search.strategy import Strategy, check_strategy, make_strategy
from iree_tuner.space.configuration import Assignment

_FRUITLESS = 1000
"""Times in a row that a strategy may propose nothing that is new and recorded."""

Make = Callable[[RecordedSpace, int], Strategy]
"""Makes a strategy for a recording and a seed."""


@dataclass(frozen=True)
class ReplayRun:
    """The run of one seed of a strategy."""

    strategy: str
    seed: int  # of everything random
    # after each evaluation, the best time so far as a multiple of the recording's best; infinite until
    # something ran
    best_after: tuple[float, ...]
    size: int  # members of the recording

    def evaluations_to(self, within: float) -> int | None:
        """Evaluations until the best so far was within that part of the best; None if it never was."""
        limit = 1.0 + within
        return next((place + 1 for place, best in enumerate(self.best_after) if best <= limit), None)

    def share_after(self, count: int) -> float:
        """The reached part of the best speed after a number of evaluations, from 0 to 1."""
        if not self.best_after:
            return 0.0
        best = self.best_after[min(count, len(self.best_after)) - 1]
        return 1.0 / best if math.isfinite(best) else 0.0


def replay(space: RecordedSpace, name: str, make: Make, seed: int, budget: int, batch: int) -> ReplayRun:
    """Let a strategy evaluate up to `budget` members, `batch` at a time.

    The seed also determines the order of the members, so that no strategy gains by ties.
    """
    strategy = make(space, seed)
    best, fruitless = math.inf, 0
    curve: list[float] = []
    asked: set[Assignment] = set()
    limit = min(budget, len(space.scores))
    while len(curve) < limit and fruitless < _FRUITLESS:
        proposed = strategy.ask(min(batch, limit - len(curve)))
        if not proposed:
            break
        # Members that were not recorded have no result, and known ones cost nothing.
        fresh = [each for each in dict.fromkeys(proposed) if each in space.scores and each not in asked]
        fruitless = 0 if fresh else fruitless + 1
        asked.update(fresh)
        for member in fresh:
            best = min(best, space.times_us.get(member, math.inf) / space.best_us)
            curve.append(best)
        strategy.tell([Seen(member, space.scores[member]) for member in fresh])
    return ReplayRun(name, seed, tuple(curve), len(space.scores))


def replay_all(
    space: RecordedSpace, name: str, seeds: Iterable[int], budget: int, batch: int
) -> Iterator[ReplayRun]:
    """A strategy by name, for each seed; a budget of 0 is all members. UsageError for an unknown name."""
    check_strategy(name)

    def make(landscape: RecordedSpace, seed: int) -> Strategy:
        return make_strategy(name, landscape, seed, landscape.start)

    for seed in seeds:
        yield replay(space, name, make, seed, budget or len(space.scores), batch)


# Summaries of many runs: medians over seeds, and over recordings.


WITHIN = (0.02, 0.10)
"""How near to the best one counts evaluations to."""

SHOWN_AFTER = 16
"""Evaluations after which one asks how much of the best was reached."""


@dataclass(frozen=True)
class ReplaySummary:
    """The runs of one strategy on one recording."""

    recording: str
    strategy: str
    seeds: int  # how many runs
    members: int  # of the recording
    # for each of `WITHIN`, the median of the evaluations until the best so far was that near; infinite where
    # half of the runs never came there
    evaluations: tuple[float, ...]
    # median of the part of the best one's speed that was reached after `SHOWN_AFTER` evaluations
    share: float


@dataclass(frozen=True)
class Overall:
    """A strategy on all recordings; each counts the same."""

    strategy: str
    recordings: int
    evaluations: tuple[float, ...]  # medians of the recordings' medians
    share: float  # likewise
    near: float  # part of the recordings whose median run was within the last of `WITHIN` after `SHOWN_AFTER`


def summarize(recording: str, runs: Sequence[ReplayRun]) -> ReplaySummary:
    """Runs of one strategy on one recording, at least one."""
    evaluations = tuple(median_to(runs, within) for within in WITHIN)
    share = statistics.median(run.share_after(SHOWN_AFTER) for run in runs)
    return ReplaySummary(recording, runs[0].strategy, len(runs), runs[0].size, evaluations, share)


def overall(summaries: Sequence[ReplaySummary]) -> Overall:
    """Summaries of one strategy on several recordings, at least one."""
    columns = zip(*(each.evaluations for each in summaries), strict=True)
    near = sum(each.evaluations[-1] <= SHOWN_AFTER for each in summaries) / len(summaries)
    evaluations, share = tuple(map(statistics.median, columns)), statistics.median(x.share for x in summaries)
    return Overall(summaries[0].strategy, len(summaries), evaluations, share, near)


def median_to(runs: Sequence[ReplayRun], within: float) -> float:
    """Median of the evaluations to that part of the best; infinite for a run that never reached it."""
    counts = (run.evaluations_to(within) for run in runs)
    return statistics.median(math.inf if count is None else count for count in counts)


def finite(value: float) -> float | None:
    """For JSON, which has no infinity."""
    return value if math.isfinite(value) else None
