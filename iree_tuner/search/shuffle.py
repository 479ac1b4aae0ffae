"""Uniformly random order, without repeats: the baseline that every other strategy has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from iree_tuner.search.cost.landscape import Landscape
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
