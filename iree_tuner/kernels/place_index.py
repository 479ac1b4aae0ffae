"""Indices into tensors as sums of loops, and the reshapes that give each loop a dimension."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Loop:
    """A loop of the op that is built: a part of a dimension of its result, outer parts first."""

    dimension: int
    part: int
    size: int


@dataclass(frozen=True)
class Clamped:
    """An index, clamped to `0 .. size - 1`."""

    index: Index
    size: int


Variable = Loop | Clamped


@dataclass(frozen=True)
class Index:
    """A constant plus variables times coefficients, largest coefficients first."""

    constant: int = 0
    terms: tuple[tuple[Variable, int], ...] = ()

    @staticmethod
    def of(constant: int, terms: Mapping[Variable, int]) -> Index:
        """Make an index without variables that are always 0 or have the coefficient 0."""
        kept = [(each, factor) for each, factor in terms.items() if factor and each.size > 1]
        return Index(constant, tuple(sorted(kept, key=lambda term: -term[1])))

    @property
    def lowest(self) -> int:
        """The least value."""
        return self.constant + sum(min(0, factor * (each.size - 1)) for each, factor in self.terms)

    @property
    def highest(self) -> int:
        """The greatest value."""
        return self.constant + sum(max(0, factor * (each.size - 1)) for each, factor in self.terms)

    def times(self, factor: int) -> Index:
        """The index times a factor."""
        return Index.of(self.constant * factor, {each: own * factor for each, own in self.terms})

    def plus(self, other: Index | int) -> Index:
        """The sum with another index or a constant."""
        if isinstance(other, int):
            return Index(self.constant + other, self.terms)
        terms = dict(self.terms)
        for each, factor in other.terms:
            terms[each] = terms.get(each, 0) + factor
        return Index.of(self.constant + other.constant, terms)

    def fixed(self, loop: Loop, value: int) -> Index:
        """Replace a loop by a value, also inside clamped indices."""
        found, terms = Index(self.constant), self.terms
        for each, factor in terms:
            if each == loop:
                found = found.plus(value * factor)
            elif isinstance(each, Clamped):
                found = found.plus(clamped(each.index.fixed(loop, value), each.size).times(factor))
            else:
                found = found.plus(Index.of(0, {each: factor}))
        return found


class SplitError(Exception):
    """A loop must be split into two; `inner` is the size of the inner one."""

    def __init__(self, loop: Loop, inner: int) -> None:
        super().__init__(loop, inner)
        self.loop, self.inner = loop, inner


class UnsupportedError(Exception):
    """The graph cannot be written as one op."""


def clamped(index: Index, size: int) -> Index:
    """Clamp an index to `0 .. size - 1`; a plain index if it is always inside."""
    if index.lowest >= 0 and index.highest < size:
        return index
    if index.highest <= 0 or size == 1:
        return Index()
    if index.lowest >= size - 1:
        return Index(size - 1)
    return Index.of(0, {Clamped(index, size): 1})


def digits(index: Index, sizes: Sequence[int]) -> tuple[Index, ...]:
    """Split an index into a collapsed dimension into indices for the original dimensions.

    Raises:
        SplitError: a loop runs over more than one of the dimensions.
        UnsupportedError: no split of loops helps.
    """
    found: list[Index] = []
    for place in range(len(sizes) - 1):
        stride = math.prod(sizes[place + 1 :])
        whole = {each: factor // stride for each, factor in index.terms if factor % stride == 0}
        rest = Index.of(
            index.constant % stride, {each: factor for each, factor in index.terms if factor % stride}
        )
        if rest.lowest < 0 or rest.highest >= stride:
            raise _split_at(rest, stride)
        found.append(Index.of(index.constant // stride, whole))
        index = rest
    return (*found, index)


def _split_at(index: Index, stride: int) -> Exception:
    """The error for an index with a loop that crosses a multiple of a stride."""
    for each, factor in index.terms:
        if isinstance(each, Loop) and stride % factor == 0 and factor * each.size > stride:
            inner = stride // factor
            if each.size % inner == 0:
                return SplitError(each, inner)
    return UnsupportedError("a loop crosses the border of a collapsed dimension")


def decider(index: Index, borders: Sequence[int], most: int) -> Loop | None:
    """A loop with at most `most` values, each of which determines between which borders an index is.

    None if there is no such loop.

    Raises:
        SplitError: there would be one after a loop is split.
    """
    for place, (each, factor) in enumerate(index.terms):
        if not isinstance(each, Loop) or factor < 0:
            continue
        rest = Index(index.constant, (*index.terms[:place], *index.terms[place + 1 :]))
        values = range(each.size)
        if each.size <= most and all(_decided(rest.plus(value * factor), borders) for value in values):
            return each
        distances = [border - index.constant for border in borders]
        if rest.lowest == rest.highest and all(distance % factor == 0 for distance in distances):
            inner = math.gcd(each.size, *(distance // factor for distance in distances))
            if 1 < each.size // inner <= most and inner > 1:
                raise SplitError(each, inner)
    return None


def _decided(index: Index, borders: Sequence[int]) -> bool:
    return all(index.highest < border or index.lowest >= border for border in borders)


@dataclass(frozen=True)
class Cut:
    """How a dimension is sliced and split, so that each loop of an index has a dimension.

    Attributes:
        first, length: the slice that is taken first.
        sizes: the dimensions that the slice is split into.
        offsets: where the index begins in each of these dimensions.
        loops: the loop of each of these dimensions; None if it has none.
    """

    first: int
    length: int
    sizes: tuple[int, ...]
    offsets: tuple[int, ...]
    loops: tuple[Loop | None, ...]


def cut_of(index: Index, size: int) -> Cut | None:
    """How to cut a dimension of this size for an index; None if that is impossible."""
    loops = [each for each, _ in index.terms]
    factors = [factor for _, factor in index.terms]
    if any(not isinstance(each, Loop) for each in loops) or any(factor < 1 for factor in factors):
        return None
    if not factors:
        return Cut(0, size, (size,), (index.constant,), (None,))
    if any(outer % inner for outer, inner in pairwise(factors)):
        return None
    first, length = 0, size
    if size % factors[0]:
        first, length = index.constant, factors[0] * loops[0].size
        if first + length > size:
            return None
    sizes = [length // factors[0]]
    sizes += [outer // inner for outer, inner in pairwise(factors)]
    left, offsets = index.constant - first, list[int]()
    for factor in factors:
        offsets.append(left // factor)
        left %= factor
    own: list[Loop | None] = [each for each in loops if isinstance(each, Loop)]
    if factors[-1] > 1:
        sizes.append(factors[-1])
        offsets.append(left)
        own.append(None)
    fits = zip(own, offsets, sizes, strict=True)
    if any(offset + (loop.size if loop else 1) > whole for loop, offset, whole in fits):
        return None
    return Cut(first, length, tuple(sizes), tuple(offsets), tuple(own))
