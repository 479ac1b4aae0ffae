"""A search strategy from outside: the neighbors of the best that is known, then whatever comes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from iree_tuner.search import Result
from iree_tuner.search.cost import Landscape
from iree_tuner.space.configuration import Assignment


class Climb:
    def __init__(self, space: Landscape, seed: int, start: Assignment | None = None) -> None:
        self._space, self._order = space, space.shuffled(seed)
        self._best, self._score, self._asked = start, float("inf"), set[Assignment]()

    def ask(self, count: int) -> list[Assignment]:
        around = [] if self._best is None else self._space.neighbors(self._best)
        waiting, asked = chain(around, self._order), list[Assignment]()
        while len(asked) < count and (member := next(waiting, None)) is not None:
            if member not in self._asked:
                self._asked.add(member)
                asked.append(member)
        return asked

    def tell(self, results: Sequence[Result]) -> None:
        for each in results:
            if each.score < self._score:
                self._best, self._score = each.assignment, each.score
