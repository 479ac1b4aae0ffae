"""Simulated annealing: a walk that also takes steps to slower candidates, fewer and fewer of them.

As Kernel Tuner does it (B. van Werkhoven, Kernel Tuner: A search-optimizing GPU code auto-tuner, FGCS 90,
2019; the numbers are those of `strategies/simulated_annealing.py` at 96d6abc, June 2026, which were tuned
later). The temperature falls from 0.1 to 0.0001 over 3680 candidates, or over all in a smaller space. A
step that is slower by a part d is taken with the probability exp(-d / T). A member that was measured before
costs nothing when the walk comes there again; after 100 steps without anything new it begins elsewhere.

Different here: a step leads to a neighbor, or with the probability 0.2 one further, and so on, where Kernel
Tuner changes each parameter with that probability; and several candidates are asked for before the walk
goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice

import numpy as np

from iree_tuner.search.cost.landscape import Landscape
from iree_tuner.search.strategy import Result
from iree_tuner.space.configuration import Assignment

_HOT, _COLD = 0.1, 1e-4
_LONGEST = 3680  # candidates until it is cold: 0.9975 to this power is the quotient of the two
_FURTHER = 0.2
_STUCK = 100


class Annealing:
    """One walk, from the compiler's choice or from anywhere."""

    def __init__(self, space: Landscape, seed: int, start: Assignment | None = None) -> None:
        self._space = space
        self._rng = np.random.default_rng(seed)
        order = space.shuffled(seed)
        first = list(islice(order, _LONGEST))
        self._random = chain(first, order)
        self._schedule = max(1, len(first))
        self._here = start
        self._score = 1.0  # the default's, by definition; without a start, never looked at
        self._scores: dict[Assignment, float] = {}
        self._proposed: set[Assignment] = set()
        self._around: dict[Assignment, list[Assignment]] = {}

    def ask(self, count: int) -> list[Assignment]:
        """Where the walk goes next, or somewhere new."""
        asked: list[Assignment] = []
        while len(asked) < count:
            proposal = self._walk()
            if proposal is None:
                proposal = self._draw()
            if proposal is None:
                break
            self._proposed.add(proposal)
            asked.append(proposal)
        return asked

    def tell(self, results: Sequence[Result]) -> None:
        """Step, or stay."""
        for result in results:
            self._proposed.add(result.assignment)
            self._scores[result.assignment] = result.score
            self._step(result.assignment, result.score)

    def _walk(self) -> Assignment | None:
        """The next one that is not known yet. None when there is none near, and when the walk begins anew."""
        for _ in range(_STUCK):
            if self._here is None:
                return None
            there = self._neighbor(self._here)
            if there not in self._proposed:
                return there
            if there in self._scores:  # others are being measured
                self._step(there, self._scores[there])
        self._here = None
        return None

    def _neighbor(self, member: Assignment) -> Assignment:
        steps = int(self._rng.geometric(1.0 - _FURTHER))
        for _ in range(steps):
            if member not in self._around:
                self._around[member] = self._space.neighbors(member)
            around = self._around[member]
            if not around:
                break
            member = around[int(self._rng.integers(len(around)))]
        return member

    def _draw(self) -> Assignment | None:
        return next((member for member in self._random if member not in self._proposed), None)

    def _step(self, there: Assignment, score: float) -> None:
        if self._accepts(score):
            self._here, self._score = there, score

    def _accepts(self, score: float) -> bool:
        if not np.isfinite(score):
            return False
        if self._here is None or score < self._score:
            return True
        cooled = (_COLD / _HOT) ** min(1.0, len(self._scores) / self._schedule)
        worse = (score - self._score) / self._score
        return bool(self._rng.random() < np.exp(-worse / (_HOT * cooled)))
