"""Strategies that learn nothing: fixed orders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from iree_tuner.search.cost.landscape import ESTIMATE, Landscape
from iree_tuner.search.sampled_space import Pool, ranked
from iree_tuner.search.strategy import Result
from iree_tuner.space.configuration import Assignment


class FixedOrder:
    """The given assignments in their order: the sample of a recording, or candidates of a benchmark."""

    def __init__(self, waiting: Iterable[Assignment] = ()) -> None:
        self.waiting = iter(waiting)

    def ask(self, count: int) -> list[Assignment]:
        """The next ones."""
        return list(islice(self.waiting, count))

    def tell(self, results: Sequence[Result]) -> None:
        """Nothing is learned."""


class Shuffle(FixedOrder):
    """Uniformly random, seeded, without repeats, and lazy: the baseline of every other strategy."""

    def __init__(self, space: Landscape, seed: int, start: Assignment | None = None) -> None:
        super().__init__(space.shuffled(seed))


class Analytic(FixedOrder):
    """In the order of the times that the cost model estimates; at random without an estimate."""

    def __init__(self, space: Landscape, seed: int, start: Assignment | None = None) -> None:
        self._pool = Pool(space, seed)

    def ask(self, count: int) -> list[Assignment]:
        """The next ones in the order."""
        places = self._pool.left()
        estimate = self._pool.column(ESTIMATE)
        order = places if estimate is None else ranked(estimate, places)
        return self._pool.propose(order[:count])
