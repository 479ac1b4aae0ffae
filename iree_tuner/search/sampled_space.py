"""A part of a space, held with its features: what strategies that compare candidates choose from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice

import numpy as np

from iree_tuner.search.cost.landscape import Landscape
from iree_tuner.search.cost.terms import Array
from iree_tuner.space.configuration import Assignment

DRAWN = 4096
"""Members drawn from a space at first: all of a small one."""

ENOUGH = 256
"""Tiles that are enough to choose from, without variants; a run rarely measures more."""


class Pool:
    """Members that were drawn or added, in that order; each has a place.

    Tiles are drawn before their variants (`Landscape.staged`), because strategies add variants of good ones.
    Variants are drawn as well if there are few tiles, and when all else was proposed.
    """

    def __init__(self, space: Landscape, seed: int, size: int = DRAWN) -> None:
        self._space = space
        self._order = space.staged(seed)
        self.members: list[Assignment] = []
        self.rows: Array = np.zeros((0, len(space.features)))
        self._places: dict[Assignment, int] = {}
        self._proposed: set[int] = set()
        self._spread: Array | None = None
        drawn = list(islice(self._order, size))
        plain = sum(map(space.is_plain, drawn))
        first = plain if plain >= ENOUGH else len(drawn)
        self.add(drawn[:first])
        self._order = chain(drawn[first:], self._order)

    def add(self, members: Iterable[Assignment]) -> None:
        """Add members that are new."""
        fresh = [each for each in dict.fromkeys(members) if each not in self._places]
        if fresh:
            for member in fresh:
                self._places[member] = len(self.members)
                self.members.append(member)
            self.rows = np.concatenate([self.rows, self._space.encode(fresh)])
            self._spread = None

    def place(self, member: Assignment) -> int:
        """Its place; a new member is added."""
        self.add([member])
        return self._places[member]

    @property
    def spread(self) -> Array:
        """Standard deviation of each feature, by which it is divided; not zero."""
        spread = self._spread
        if spread is None:
            spread = self._spread = np.maximum(np.asarray(self.rows.std(axis=0), np.float64), 1e-3)
        return spread

    def column(self, feature: str) -> Array | None:
        """Values of a feature for all members; None if the space does not have it."""
        names = self._space.features
        return self.rows[:, names.index(feature)] if feature in names else None

    def left(self) -> list[int]:
        """Places that were not proposed yet; more are drawn if none is left. Empty at the space's end."""
        while not (places := [each for each in range(len(self.members)) if each not in self._proposed]):
            drawn = list(islice(self._order, max(1, len(self.members))))
            if not drawn:
                return []
            self.add(drawn)
        return places

    def propose(self, places: Sequence[int]) -> list[Assignment]:
        """The members at these places, which are not left any more."""
        self._proposed.update(places)
        return [self.members[place] for place in places]


def ranked(scores: Array, places: Sequence[int]) -> list[int]:
    """Places by score, least first; equal ones in the order of their places, on every machine."""
    chosen = np.asarray(places, dtype=np.intp)
    order = np.argsort(np.round(scores[chosen], 9), kind="stable")
    return [int(place) for place in chosen[order]]
