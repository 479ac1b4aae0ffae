"""A genetic algorithm: generations of candidates that inherit from good ones.

As Kernel Tuner does it (B. van Werkhoven, Kernel Tuner: A search-optimizing GPU code auto-tuner, FGCS 90,
2019; the numbers are those of `strategies/genetic_algorithm.py` at 96d6abc, June 2026, which were tuned
later): 26 members a generation, fewer in small spaces; parents are drawn by rank, by a beta distribution;
crossover at one point; one child in 55 is replaced by a neighbor; a generation takes the place of the one
before it. A child that was measured before joins at no cost.

Different here: genes are features and not knobs, so that a child is the member that is nearest to the
inherited features; and children are born of the last complete generation while the next one is being
measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iree_tuner.search.cost.landscape import Landscape
from iree_tuner.search.cost.terms import Array
from iree_tuner.search.sampled_space import Pool
from iree_tuner.search.strategy import Result
from iree_tuner.space.configuration import Assignment

_POPULATION = 26
_GENERATIONS = 90
_MUTATED = 55
_BETA = (1.0, 2.5)
_ATTEMPTS = 50


class Genetic:
    """The first generation is drawn at random; the compiler's choice belongs to it."""

    def __init__(self, space: Landscape, seed: int, start: Assignment | None = None) -> None:
        self._space = space
        self._rng = np.random.default_rng(seed)
        self._pool = Pool(space, seed)
        self._size = _population(len(self._pool.members))
        self._scores: dict[int, float] = {}
        self._parents: list[int] = []
        self._young: list[int] = []
        self._given: set[int] = set()
        if start is not None:  # the default has the score 1 by definition
            self._grow(self._pool.place(start), 1.0)
            self._pool.propose([self._pool.place(start)])

    def ask(self, count: int) -> list[Assignment]:
        """Children; as long as there are no parents, what was drawn."""
        asked: list[Assignment] = []
        while len(asked) < count and (left := self._pool.left()):
            asked += self._give(self._born(left) if self._parents else left[0])
        return asked

    def tell(self, results: Sequence[Result]) -> None:
        """Measured members grow up; failures do so too, as the last in rank."""
        for result in results:
            place = self._pool.place(result.assignment)
            self._give(place)  # what others asked for is not open any more
            self._grow(place, result.score)

    def _give(self, place: int) -> list[Assignment]:
        self._given.add(place)
        return self._pool.propose([place])

    def _grow(self, place: int, score: float) -> None:
        """Take a member into the next generation, which takes over when it is complete."""
        self._scores[place] = score
        if place not in self._young:
            self._young.append(place)
        if len(self._young) >= self._size:
            self._parents = sorted(self._young, key=lambda member: self._scores[member])
            self._young = []

    def _born(self, left: Sequence[int]) -> int:
        """The place of a child that was not proposed yet."""
        for _ in range(_ATTEMPTS):
            child = self._mutated(int(np.argmin(self._distances())))
            if child not in self._given:
                return child
            if child in self._scores:  # others are being measured
                self._grow(child, self._scores[child])
        return left[int(np.argmin(self._distances()[list(left)]))]

    def _distances(self) -> Array:
        """The distances of all members to the features that a child of two parents inherits."""
        first, second = self._couple()
        rows = self._pool.rows
        cut = int(self._rng.integers(max(1, rows.shape[1])))
        genes = np.concatenate([rows[first, :cut], rows[second, cut:]])
        return np.round((np.abs(rows - genes) / self._pool.spread).sum(axis=1), 6)

    def _couple(self) -> tuple[int, int]:
        """Two parents, more likely ones of a better rank."""
        ranks: list[int] = []
        while len(ranks) < 2:
            rank = int(self._rng.beta(*_BETA) * len(self._parents))
            if rank not in ranks:
                ranks.append(rank)
        return self._parents[ranks[0]], self._parents[ranks[1]]

    def _mutated(self, child: int) -> int:
        """Mostly the child itself."""
        if self._rng.integers(_MUTATED):
            return child
        around = self._space.neighbors(self._pool.members[child])
        return self._pool.place(around[int(self._rng.integers(len(around)))]) if around else child


def _population(size: int) -> int:
    """At most half of the space, then less."""
    if size >= 2 * _POPULATION:
        return _POPULATION
    return min(max(round(3 * size / _GENERATIONS), 2), _POPULATION)
