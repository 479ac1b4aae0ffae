"""Uniformly random order, without repeats: the baseline that every other strategy has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from iree_tuner.search.cost.encoder import ESTIMATE
from iree_tuner.search.cost.landscape import Landscape
from iree_tuner.search.pool import Pool, ranked
from iree_tuner.search.strategy import Result
from iree_tuner.space.configuration import Assignment


class Shuffle:
    """Seeded, and as lazy as the space's own shuffled order: little of a large space is ever looked at."""

    def __init__(self, space: Landscape, seed: int, start: Assignment | None = None) -> None:
        del start
        self._order = space.shuffled(seed)

    def ask(self, count: int) -> list[Assignment]:
        """The next assignments of the shuffled order."""
        return list(islice(self._order, count))

    def tell(self, results: Sequence[Result]) -> None:
        """Nothing is learned."""


# A list that is worked off: what a recording measures, and what a benchmark compares.


class FixedOrder:
    """Asks for the assignments that it was given, in their order, and learns nothing."""

    def __init__(self, waiting: Sequence[Assignment] = ()) -> None:
        self.waiting = list(waiting)

    def ask(self, count: int) -> list[Assignment]:
        """The next ones."""
        asked, self.waiting = self.waiting[:count], self.waiting[count:]
        return asked

    def tell(self, results: Sequence[Result]) -> None:
        """Nothing is learned."""


# First principles: what should be fastest by the cost model comes first. Learns nothing.


class Analytic:
    """In the order of the estimated times; at random where the space has no estimate."""

    def __init__(self, space: Landscape, seed: int, start: Assignment | None = None) -> None:
        del start
        self._pool = Pool(space, seed)

    def ask(self, count: int) -> list[Assignment]:
        """The next ones in the order."""
        places = self._pool.left()
        estimate = self._pool.column(ESTIMATE)
        order = places if estimate is None else ranked(estimate, places)
        return self._pool.propose(order[:count])

    def tell(self, results: Sequence[Result]) -> None:
        """Nothing is learned."""
