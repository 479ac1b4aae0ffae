"""Uniformly random order, without repeats: the baseline that every other strategy has to beat."""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.search.strategy import Result
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.space import Space


class Shuffle:
    """Seeded; draws in growing batches, so that little of a large space is ever looked at."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._seed = seed
        self._drawn: list[Assignment] = []
        self._next = 0

    def ask(self, count: int) -> list[Assignment]:
        """The next assignments of the shuffled order."""
        while len(self._drawn) < self._next + count and self._draw_more(self._next + count):
            pass
        asked = self._drawn[self._next : self._next + count]
        self._next += len(asked)
        return asked

    def tell(self, results: Sequence[Result]) -> None:
        """Nothing is learned."""

    def _draw_more(self, needed: int) -> bool:
        """Draw a larger sample; what was drawn before keeps its place. False when the space has no more."""
        sample = self._space.sample(max(256, 2 * needed), self._seed + len(self._drawn))
        known = set(self._drawn)
        fresh = [assignment for assignment in sample if assignment not in known]
        self._drawn.extend(fresh)
        return bool(fresh)
