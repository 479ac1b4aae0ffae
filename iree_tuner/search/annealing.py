"""Simulated annealing: a walk that also takes steps to slower candidates, fewer and fewer of them.

Temperatures and acceptance are those of Kernel Tuner (B. van Werkhoven, 2019): 1 at first, times 0.995 after
each candidate, and a step that is slower by a part d is taken with the probability exp(-d / T).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iree_tuner.cost.landscape import Landscape
from iree_tuner.search.shuffle import Shuffle
from iree_tuner.search.strategy import Result
from iree_tuner.space.configuration import Assignment

_COOLING = 0.995
_COLDEST = 1e-3
_STUCK = 20


class Annealing:
    """One walk, from the compiler's choice or from anywhere; it begins anew when it is stuck or cold."""

    def __init__(self, space: Landscape, seed: int, start: Assignment | None = None) -> None:
        self._space = space
        self._rng = np.random.default_rng(seed)
        self._random = Shuffle(space, seed)
        self._here = start
        self._score = 1.0
        self._temperature = 1.0
        self._rejected = 0
        self._proposed: set[Assignment] = set()

    def ask(self, count: int) -> list[Assignment]:
        """Neighbors of where the walk is, or somewhere new."""
        around = [] if self._here is None else self._space.neighbors(self._here)
        fresh = [each for each in around if each not in self._proposed]
        self._rng.shuffle(fresh)
        asked = fresh[:count]
        while len(asked) < count:
            drawn = self._random.ask(1)
            if not drawn:
                break
            if drawn[0] not in self._proposed and drawn[0] not in asked:
                asked += drawn
        self._proposed.update(asked)
        return asked

    def tell(self, results: Sequence[Result]) -> None:
        """Step, or stay."""
        for result in results:
            self._temperature = max(_COLDEST, self._temperature * _COOLING)
            if self._accepts(result.score):
                self._here, self._score, self._rejected = result.assignment, result.score, 0
                continue
            self._rejected += 1
            if self._rejected >= _STUCK:
                self._here, self._score, self._temperature, self._rejected = None, np.inf, 1.0, 0

    def _accepts(self, score: float) -> bool:
        if not np.isfinite(score):
            return False
        if score <= self._score or self._here is None:
            return True
        worse = (score - self._score) / self._score
        return bool(self._rng.random() < np.exp(-worse / self._temperature))
