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
"""So many tiles are enough to choose from, without variants of them; a run rarely measures more."""


class Pool:
    """Members that were drawn or added, in that order; each has a place.

    Tiles are drawn before their variants (`Landscape.staged`): a strategy adds these next to good members.
    They are drawn as well where there are few tiles, and when all else was proposed.

    Args:
        space: what they are of.
        seed: of the draw.
        size: how many are drawn.
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

    def add(self, members: Iterable[Assignment]) -> int:
        """Take in members that are not there yet; how many there were."""
        fresh = [each for each in dict.fromkeys(members) if each not in self._places]
        if fresh:
            for member in fresh:
                self._places[member] = len(self.members)
                self.members.append(member)
            self.rows = np.concatenate([self.rows, self._space.encode(fresh)])
            self._spread = None
        return len(fresh)

    def place(self, member: Assignment) -> int:
        """Its place; it is taken in when it is not there yet."""
        self.add([member])
        return self._places[member]

    @property
    def spread(self) -> Array:
        """Standard deviation of each feature, but no less than a trifle: what it is divided by."""
        spread = self._spread
        if spread is None:
            spread = self._spread = np.maximum(np.asarray(self.rows.std(axis=0), np.float64), 1e-3)
        return spread

    def column(self, feature: str) -> Array | None:
        """Values of a feature for all members; None where the space has none of that name."""
        names = self._space.features
        return self.rows[:, names.index(feature)] if feature in names else None

    def open_places(self) -> list[int]:
        """Members that were not proposed yet, in the order of their places."""
        return [place for place in range(len(self.members)) if place not in self._proposed]

    def left(self) -> list[int]:
        """The same; more members are drawn when there is none. Empty at the end of the space."""
        while not (places := self.open_places()):
            drawn = list(islice(self._order, max(1, len(self.members))))
            if not drawn:
                return []
            self.add(drawn)
        return places

    def propose(self, places: Sequence[int]) -> list[Assignment]:
        """Give members away; they are not open any more."""
        self._proposed.update(places)
        return [self.members[place] for place in places]


def ranked(scores: Array, places: Sequence[int]) -> list[int]:
    """Places by score, least first; equal ones in the order of their places, on every machine."""
    chosen = np.asarray(places, dtype=np.intp)
    order = np.argsort(np.round(scores[chosen], 9), kind="stable")
    return [int(place) for place in chosen[order]]
