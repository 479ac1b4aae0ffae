"""Elementwise ops, or sums of their results, as plain data: loops, what they read, and scalar ops."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

from iree_tuner.kernels.formula import Formula

INSIDE, OUTSIDE = "inside", "outside"
"""Terms that test a range."""


@dataclass(frozen=True)
class Access:
    """How the loops read an input.

    Attributes:
        input: number of the input.
        offset: place of the first element.
        strides: elements from one iteration of each loop to the next; 0 if the element is the same.
    """

    input: int
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Range:
    """A test whether an index is in a range.

    Attributes:
        offset: the index of the first iteration.
        strides: the index's increase from one iteration of each loop to the next.
        first, end: the first index in the range, and the first one after it.
    """

    offset: int
    strides: tuple[int, ...]
    first: int
    end: int


@dataclass(frozen=True)
class Nest:
    """Loops that compute one element of the result in each iteration, or a term of it.

    Attributes:
        sizes: size of each loop, outermost first.
        accesses: what the loops read.
        terms: the computation. The input of a term `input` is the number of an access; it is read only where
            the terms that it is `of` are true. The input of a term `INSIDE` is the number of a range.
        written: the stride of each loop in the result; None for loops that are summed over.
        ranges: what terms test.
    """

    sizes: tuple[int, ...]
    accesses: tuple[Access, ...]
    terms: Formula
    written: tuple[int | None, ...]
    ranges: tuple[Range, ...] = ()

    @property
    def iterations(self) -> int:
        """The number of iterations of all loops."""
        return math.prod(self.sizes)

    @property
    def summed(self) -> tuple[bool, ...]:
        """Whether each loop is summed over."""
        return tuple(each is None for each in self.written)

    def merged(self) -> Nest:
        """The nest with as few loops as possible.

        Loops of one iteration are dropped. Sums may have any order, so their loops get that of the largest
        input in memory. Two loops that all arrays go through like one become one.
        """
        order = [loop for loop, size in enumerate(self.sizes) if size > 1]
        if any(self.summed):
            widest = max(self.accesses, key=lambda each: sum(map(bool, each.strides)))
            order.sort(key=lambda loop: -widest.strides[loop])
        nest = self._with_loops([(each,) for each in order])
        groups = [[0]] if order else []
        for outer, inner in pairwise(range(len(order))):
            if nest.summed[outer] == nest.summed[inner] and all(
                strides[outer] == strides[inner] * nest.sizes[inner]
                for strides in (
                    *(each.strides for each in (*nest.accesses, *nest.ranges)),
                    _known(nest.written),
                )
            ):
                groups[-1].append(inner)
            else:
                groups.append([inner])
        return nest._with_loops([tuple(each) for each in groups])

    def _with_loops(self, groups: list[tuple[int, ...]]) -> Nest:
        """The nest in which each group of loops is one loop, with the strides of its innermost loop."""
        last = [each[-1] for each in groups]
        return replace(
            self,
            sizes=tuple(math.prod(self.sizes[loop] for loop in each) for each in groups),
            accesses=tuple(
                replace(each, strides=tuple(each.strides[loop] for loop in last)) for each in self.accesses
            ),
            written=tuple(self.written[loop] for loop in last),
            ranges=tuple(
                replace(each, strides=tuple(each.strides[loop] for loop in last)) for each in self.ranges
            ),
        )


def _known(written: tuple[int | None, ...]) -> tuple[int, ...]:
    return tuple(each or 0 for each in written)
