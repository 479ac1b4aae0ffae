"""All members of a space, each packed into an integer; the integers are ordered as the members are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iree_tuner.errors import TunerError
from iree_tuner.space.domains import Domains
from iree_tuner.space.interpreter import Array
from iree_tuner.space.join import FRONTIER, Join

MEMBER_LIMIT = 20_000_000
"""Spaces with more members are not enumerated."""

_WORD = 1 << 62


class Packing:
    """Rows of indices as one integer each, or as several where one is too short.

    Args:
        sizes: how many values each column has.
    """

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self._words: list[list[tuple[int, int]]] = [[]]
        for column, size in enumerate(sizes):
            if math.prod(size for _, size in self._words[-1]) * size >= _WORD:
                self._words.append([])
            self._words[-1].append((column, size))

    def pack(self, columns: list[Array], length: int) -> NDArray[np.int64]:
        """A row a word, a column a row of indices."""
        packed = np.zeros((len(self._words), length), np.int64)
        for word, places in zip(packed, self._words, strict=True):
            for column, size in places:
                word *= size
                word += columns[column]
        return packed

    def unpack(self, packed: NDArray[np.int64]) -> list[Array]:
        """The columns again."""
        found: list[Array] = []
        for word, places in zip(packed[::-1], self._words[::-1], strict=True):
            rest = word
            for _, size in places[::-1]:
                rest, index = np.divmod(rest, size)
                found.append(index)
        return found[::-1]


@dataclass(frozen=True, eq=False)
class Members:
    """The legal set, in the lexicographic order of the knobs' values.

    Attributes:
        names: the knobs, in the order in which the op declares them.
        domains: the values of each knob that occur in some member, ascending.
    """

    names: tuple[str, ...]
    domains: Domains
    _indexed: tuple[NDArray[np.int64], ...]
    _packing: Packing
    _packed: NDArray[np.int64]

    def __len__(self) -> int:
        return self._packed.shape[1]

    def values(self, which: Array) -> NDArray[np.int64]:
        """The knobs' values of some members, by their places: a row a member."""
        columns = self._packing.unpack(self._packed[:, which])
        values = [indexed[column] for indexed, column in zip(self._indexed, columns, strict=True)]
        return np.stack(values, axis=1) if values else np.zeros((len(which), 0), np.int64)


def enumerate_members(join: Join) -> Members:
    """Every legal assignment. Raises TunerError when there are more than `MEMBER_LIMIT`."""
    domains = join.relations.domains
    packing = Packing(tuple(len(domains[name]) for name in join.knobs))
    used = {name: np.zeros(len(domains[name]), bool) for name in join.knobs}
    pieces: list[NDArray[np.int64]] = [packing.pack([np.zeros(0, np.int64)] * len(used), 0)]
    total = 0
    for rows in join.complete(join.frontier(FRONTIER)):
        total += rows.length
        if total > MEMBER_LIMIT:
            raise TunerError(f"the space has more than {MEMBER_LIMIT} members, too many to enumerate")
        columns = [join.column(rows, name) for name in join.knobs]
        for name, column in zip(join.knobs, columns, strict=True):
            used[name][column] = True
        pieces.append(packing.pack(columns, rows.length))
    packed = _sorted(np.concatenate(pieces, axis=1))
    if join.auxiliaries and packed.shape[1]:  # several values of an auxiliary make one member
        packed = packed[:, np.append(True, np.any(packed[:, 1:] != packed[:, :-1], axis=0))]
    occurring = {name: domains[name][mask] for name, mask in used.items()}
    return Members(join.knobs, occurring, tuple(domains[n] for n in join.knobs), packing, packed)


def _sorted(packed: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(packed) == 1:
        return np.sort(packed, axis=1)
    return packed[:, np.lexsort(packed[::-1])]
