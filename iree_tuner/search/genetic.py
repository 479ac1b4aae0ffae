"""A genetic algorithm: candidates between good ones.

Sizes and rates are Kernel Tuner's (B. van Werkhoven, 2019): a population of 20, uniform crossover, one child
in ten mutated. A child is the member nearest to the mixed features of its parents.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iree_tuner.cost.access import Array
from iree_tuner.cost.landscape import Landscape
from iree_tuner.search.pool import Pool
from iree_tuner.search.strategy import Result
from iree_tuner.space.configuration import Assignment

_POPULATION = 20
_MUTATED = 0.1


class Genetic:
    """Parents are drawn by rank from the best of all that ran."""

    def __init__(self, space: Landscape, seed: int, start: Assignment | None = None) -> None:
        self._space = space
        self._rng = np.random.default_rng(seed)
        self._pool = Pool(space, seed)
        self._scores: dict[int, float] = {}
        if start is not None:
            self._scores[self._pool.place(start)] = 1.0
            self._pool.propose([self._pool.place(start)])

    def ask(self, count: int) -> list[Assignment]:
        """The first generation at random, then children."""
        asked: list[Assignment] = []
        while len(asked) < count:
            left = self._pool.open_places()
            if not left:
                break
            born = len(self._scores) >= _POPULATION
            asked += self._pool.propose([self._child(left) if born else left[0]])
        return asked

    def tell(self, results: Sequence[Result]) -> None:
        """Remember what ran."""
        for result in results:
            if np.isfinite(result.score):
                self._scores[self._pool.place(result.assignment)] = result.score

    def _child(self, left: Sequence[int]) -> int:
        """The place of the member nearest to a mixture, among those not proposed yet."""
        parents = sorted(self._scores, key=lambda place: self._scores[place])[:_POPULATION]
        weights = np.arange(len(parents), 0, -1, dtype=float)
        first, second = self._rng.choice(parents, size=2, p=weights / weights.sum())
        if self._rng.random() < _MUTATED:
            around = self._space.neighbors(self._pool.members[first])
            if around:
                second = self._pool.place(around[int(self._rng.integers(len(around)))])
        rows: Array = self._pool.rows
        mixed = np.where(self._rng.random(rows.shape[1]) < 0.5, rows[first], rows[second])
        spread = np.maximum(rows.std(axis=0), 1e-3)
        distances = np.round((np.abs(rows[list(left)] - mixed) / spread).sum(axis=1), 6)
        return left[int(np.argmin(distances))]
