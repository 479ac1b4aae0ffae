"""One strategy on one recording."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from iree_tuner.search.registry import check_strategy, make_strategy
from iree_tuner.search.replay.recorded import RecordedSpace, Seen
from iree_tuner.search.strategy import Strategy
from iree_tuner.space.configuration import Assignment

_FRUITLESS = 1000
"""Times in a row that a strategy may propose nothing that is new and recorded."""

Make = Callable[[RecordedSpace, int], Strategy]
"""Makes a strategy for a recording and a seed."""


@dataclass(frozen=True)
class Run:
    """The run of one seed of a strategy.

    Attributes:
        strategy: its name.
        seed: of everything random.
        best_after: after each evaluation, the best time so far as a multiple of the recording's best;
            infinite until something ran.
        size: members of the recording.
    """

    strategy: str
    seed: int
    best_after: tuple[float, ...]
    size: int

    def evaluations_to(self, within: float) -> int | None:
        """Evaluations until the best so far was within that part of the best; None when it never was."""
        limit = 1.0 + within
        return next((place + 1 for place, best in enumerate(self.best_after) if best <= limit), None)

    def share_after(self, count: int) -> float:
        """Part of the best one's speed that was reached after so many evaluations, from 0 to 1."""
        if not self.best_after:
            return 0.0
        best = self.best_after[min(count, len(self.best_after)) - 1]
        return 1.0 / best if math.isfinite(best) else 0.0


def replay(space: RecordedSpace, name: str, make: Make, seed: int, budget: int, batch: int) -> Run:
    """Let a strategy evaluate up to `budget` members, `batch` at a time.

    The seed also stands for the order of the recording's members, so that no strategy gains by ties.
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
    return Run(name, seed, tuple(curve), len(space.scores))


def replay_all(
    space: RecordedSpace, name: str, seeds: Iterable[int], budget: int, batch: int
) -> Iterator[Run]:
    """A strategy by name, for each seed; a budget of 0 is all members. UsageError for an unknown name."""
    check_strategy(name)

    def make(landscape: RecordedSpace, seed: int) -> Strategy:
        return make_strategy(name, landscape, seed, landscape.start)

    for seed in seeds:
        yield replay(space, name, make, seed, budget or len(space.scores), batch)
