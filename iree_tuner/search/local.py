"""Local search: short random walks from the best that is known, setting out from the compiler's choice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iree_tuner.search.cost.landscape import Landscape
from iree_tuner.search.orders import Shuffle
from iree_tuner.search.strategy import Result
from iree_tuner.space.configuration import Assignment

_PARENTS = 3
_RANDOM_PART = 0.125
_LONGEST_WALK = 3
_ATTEMPTS = 50


class Local:
    """Proposes members one to three steps away from one of the best three; an eighth is drawn at random.

    The starting point counts as a candidate with the score 1, which the default has by definition. It is not
    proposed itself.
    """

    def __init__(self, space: Landscape, seed: int, start: Assignment | None = None) -> None:
        self._space = space
        self._rng = np.random.default_rng(seed)
        self._random = Shuffle(space, seed)
        self._scores: dict[Assignment, float] = {} if start is None else {start: 1.0}
        self._proposed: set[Assignment] = set(self._scores)

    def ask(self, count: int) -> list[Assignment]:
        """New assignments near the best ones."""
        asked: list[Assignment] = []
        while len(asked) < count and (proposal := self._propose()) is not None:
            self._proposed.add(proposal)
            asked.append(proposal)
        return asked

    def tell(self, results: Sequence[Result]) -> None:
        """Remember the scores of members that ran."""
        for result in results:
            if np.isfinite(result.score):
                self._scores[result.assignment] = result.score

    def _propose(self) -> Assignment | None:
        parents = sorted(self._scores, key=lambda assignment: self._scores[assignment])[:_PARENTS]
        if parents and self._rng.random() >= _RANDOM_PART:
            for _ in range(_ATTEMPTS):
                # The best parent is taken half of the time, the next a quarter.
                parent = parents[min(int(self._rng.geometric(0.5)) - 1, len(parents) - 1)]
                proposal = self._walk(parent, 1 + int(self._rng.integers(_LONGEST_WALK)))
                if proposal not in self._proposed:
                    return proposal
        return self._draw()

    def _walk(self, start: Assignment, steps: int) -> Assignment:
        current = start
        for _ in range(steps):
            around = self._space.neighbors(current)
            if not around:
                break
            current = around[int(self._rng.integers(len(around)))]
        return current

    def _draw(self) -> Assignment | None:
        while asked := self._random.ask(1):
            if asked[0] not in self._proposed:
                return asked[0]
        return None
