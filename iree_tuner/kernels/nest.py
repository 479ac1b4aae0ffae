"""Elementwise ops, or sums of their results, as plain data: loops, what they read, and scalar ops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from iree_tuner.kernels.formula import Formula, FormulaTerm

INSIDE, OUTSIDE = "inside", "outside"
"""Terms that test a range."""

PLACE = "place"
"""A term that is the index of a range."""

REDUCED = "row "
"""In front of a scalar op's name: the term is what the op makes of all elements of a row, and of a value."""

SUMS = -1
"""The input of an access that reads no array: the sums that a step after a product begins with."""

MOST_IN_ROW = 1 << 14
"""The most elements of a row: a workgroup keeps it in registers."""


@dataclass(frozen=True)
class Access:
    """How the loops read an input: the place of the first element, and each loop's stride in elements."""

    input: int
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class LoopPart:
    """A part of a loop.

    Attributes:
        size: the number of its iterations.
        loop: the number of the loop.
        factor: how many of the loop's iterations one of its iterations is.
        of: the number of what it is a part of besides, see `common_parts`.
    """

    size: int
    loop: int
    factor: int
    of: int


def common_parts(loops: Sequence[int], others: Sequence[int]) -> list[LoopPart] | None:
    """The parts of loops that go through the same elements as `others`, cut where either ends.

    Both are sizes, outer ones first. Each part has the number of the other one that it is `of`. None if they
    do not divide each other.
    """
    ends = [[math.prod(own[at:]) for at in range(len(own) + 1)] for own in (loops, others)]
    if ends[0][0] != ends[1][0]:
        return None
    found: list[LoopPart] = []
    for outer, inner in pairwise(sorted({*ends[0], *ends[1]}, reverse=True)):
        loop, of = (max(at for at, end in enumerate(own[:-1]) if end >= outer) for own in ends)
        if outer % inner or inner % ends[0][loop + 1]:
            return None
        found.append(LoopPart(outer // inner, loop, inner // ends[0][loop + 1], of))
    return found


@dataclass(frozen=True)
class Range:
    """A test whether an index is in a range.

    Attributes:
        offset, strides: the index of the first iteration, and its increase in each loop.
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
            the terms that it is `of` are true. The input of a term `INSIDE` or `PLACE` is that of a range.
        written: the stride of each loop in the result; None for loops that are summed over.
        combine: the scalar op that combines the terms of one element of the result, if loops are summed over.
        ranges: what terms test.
        row: the number of the first of the innermost loops that are a row, if terms are reduced along it;
            otherwise None.
        scan: the number of the loop along which each element is combined with those before it; or None.
        scanned: for a scan, what combines an earlier (the input 0) and a later element (1).
        after: what is computed of each combined element, as further terms; after sums, they have no ranges.
            The access `SUMS` is that element.
    """

    sizes: tuple[int, ...]
    accesses: tuple[Access, ...]
    terms: Formula
    written: tuple[int | None, ...]
    ranges: tuple[Range, ...] = ()
    row: int | None = None
    combine: str = "arith.addf"
    scan: int | None = None
    scanned: Formula = ()
    after: Formula = ()

    @property
    def iterations(self) -> int:
        return math.prod(self.sizes)

    @property
    def summed(self) -> tuple[bool, ...]:
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
            if (
                nest.summed[outer] == nest.summed[inner]
                and inner != nest.row
                and nest.scan not in (outer, inner)
                and all(
                    strides[outer] == strides[inner] * nest.sizes[inner]
                    for strides in (
                        *(each.strides for each in (*nest.accesses, *nest.ranges)),
                        tuple(each or 0 for each in nest.written),
                    )
                )
            ):
                groups[-1].append(inner)
            else:
                groups.append([inner])
        return nest._with_loops([tuple(each) for each in groups])

    def then(self, op: str, element: str) -> Nest:
        """The nest that computes a scalar op of one operand, with a result of this type, at the end."""
        return replace(self, terms=(*self.terms, FormulaTerm(op, element, (len(self.terms) - 1,))))

    def reading(self, first: int) -> Nest:
        """The nest whose inputs have numbers from `first` on; sums stay what they are."""

        def moved(each: Access) -> Access:
            return each if each.input == SUMS else replace(each, input=first + each.input)

        return replace(self, accesses=tuple(map(moved, self.accesses)))

    def in_parts(self, parts: Sequence[LoopPart]) -> Nest:
        """The nest with these parts of its loops as loops; each computes an element, or a term of it."""

        def moved(strides: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(strides[each.loop] * each.factor for each in parts)

        return replace(
            self, sizes=tuple(each.size for each in parts), written=(0,) * len(parts),
            accesses=tuple(replace(each, strides=moved(each.strides)) for each in self.accesses),
            ranges=tuple(replace(each, strides=moved(each.strides)) for each in self.ranges),
        )  # fmt: skip

    def _with_loops(self, groups: list[tuple[int, ...]]) -> Nest:
        """The nest in which each group of loops is one loop, with the strides of its innermost loop."""
        last = [each[-1] for each in groups]

        def cut(strides: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(strides[loop] for loop in last)

        return replace(
            self,
            sizes=tuple(math.prod(self.sizes[loop] for loop in each) for each in groups),
            accesses=tuple(replace(each, strides=cut(each.strides)) for each in self.accesses),
            written=tuple(self.written[loop] for loop in last),
            ranges=tuple(replace(each, strides=cut(each.strides)) for each in self.ranges),
            row=None if self.row is None else sum(each < self.row for each in last),
            scan=None if self.scan is None else last.index(self.scan),
        )


WORKGROUPS = 528
"""The number of workgroups that keeps a GPU busy: four for each of an H100's 132 multiprocessors."""

_SUMMED, _WRITTEN = 2048, 1024
"""Elements of a tile, of sums and of elementwise ops: 8 for each of 256 and 128 threads."""
_GROUP, _MOST_STEPS = 4, 8
_CLUSTER = 8
"""The most workgroups of a cluster that any GPU of compute capability 9.0 takes."""
_WIDTHS = (256, 128, 64, 32, 16, 8, 4, 2, 1)
_NEIGHBORS = 32
"""The least elements that are next to each other: 64 bytes, of 16 bits each."""
_VECTOR = 8
"""The number of elements of 16 bits that a thread reads at once."""
_LANES = (1024, 512, 256, 128, 64)
_LEAST_LANES = min(_LANES)
_MOST_WASTE = 0.15
FULL = 0.8
"""The least part of a tile's lanes that are not idle, where tiles are narrow along the result."""


@dataclass(frozen=True)
class Axis:
    """Loops that follow each other, as one index.

    Attributes:
        loops: numbers of the loops, outermost first.
        size: the number of iterations of these loops together.
        block: the number of iterations in a tile, a power of two.
        stepped: whether a workgroup goes from tile to tile along the axis.
    """

    loops: tuple[int, ...]
    size: int
    block: int
    stepped: bool = False

    @property
    def tiles(self) -> int:
        """The number of tiles; the last one may go past the end."""
        return -(-self.size // self.block)


@dataclass(frozen=True)
class NestTiles:
    """The tiles of a nest.

    Attributes:
        axes: what a tile goes along, outermost first.
        sums: whether the axes with steps are summed over.
        steps: the number of tiles of a workgroup.
        parts: the number of workgroups along the axes with steps. Each has a part of every sum.
        cluster: whether these are a cluster, which combines the parts.
    """

    axes: tuple[Axis, ...]
    sums: bool
    steps: int
    parts: int
    cluster: bool = False

    @property
    def apart(self) -> int:
        """The number of parts that are written of each sum; 0 if it is written whole."""
        return self.parts if self.sums and self.parts > 1 and not self.cluster else 0

    @property
    def kept(self) -> int:
        """The number of sums of a tile."""
        return math.prod(each.block for each in self.axes if not each.stepped)

    @property
    def partial_bytes(self) -> int:
        """The size of what the workgroups of clusters share: sums of 32 bits."""
        return self.workgroups * self.kept * 4 if self.cluster else 0

    @property
    def workgroups(self) -> int:
        return self.parts * math.prod(each.tiles for each in self.axes if not each.stepped)

    @property
    def elements(self) -> int:
        return math.prod(each.block for each in self.axes)

    @property
    def group(self) -> int:
        """The number of tiles that are read before the first of them is used; divides `steps`."""
        return min(self.steps, _GROUP)

    @property
    def uneven(self) -> bool:
        """Whether the last part goes past the end of the outermost axis with steps."""
        return self.parts * self.steps > _stepped(self.axes)


def tiles_of(nest: Nest) -> NestTiles:
    """The tiles of a nest with merged loops."""
    if nest.row is not None:
        return _tiles_of_rows(nest, nest.row)
    if nest.scan is not None:
        return _tiles_of_scan(nest, nest.scan)
    return _tiles_of_sums(nest) if any(nest.summed) else _tiles_of_elements(nest)


def _tiles_of_sums(nest: Nest) -> NestTiles:
    """Tiles of innermost loops, as wide along the result as there are enough workgroups for.

    These sum whole results, or are clusters that do, unless many lanes were idle (on an H200, groups of 20
    channels took 7.7 us so, and 4.9 in parts). Otherwise tiles are as wide as fits, and the parts are
    combined later.
    """
    enough = 1 << max(1, WORKGROUPS // 2).bit_length() - 1
    for width in _WIDTHS:
        axes = _axes_of_sums(nest, width)
        tiles, apart = _stepped(axes), math.prod(each.tiles for each in axes if not each.stepped)
        most = min(_CLUSTER, 1 << tiles.bit_length() - 1)
        if apart * most < enough or math.prod(1 - _waste(each.size, each.block) for each in axes) < FULL:
            continue
        parts = min(most, power_of_two(-(-WORKGROUPS // apart)))
        steps = -(-tiles // parts)
        steps = -(-steps // _GROUP) * _GROUP if steps > _GROUP else steps
        return NestTiles(axes, True, steps, parts, cluster=parts > 1)
    return _in_parts(_axes_of_sums(nest, _SUMMED), math.inf, sums=True)


def _axes_of_sums(nest: Nest, width: int) -> tuple[Axis, ...]:
    """Axes of tiles that go along so much of the result, but along enough neighbors in memory."""
    axes: list[Axis] = []
    room, inner = _SUMMED, 1
    for loop in reversed(range(len(nest.sizes))):
        size, summed = nest.sizes[loop], nest.summed[loop]
        most = room if summed else min(room, max(width, power_of_two(-(-_NEIGHBORS // inner))))
        block = min(power_of_two(size), most)
        axes.insert(0, Axis((loop,), size, block, summed))
        room, inner = room // block, inner * size
        width = width if summed else max(1, width // block)
    return tuple(axes)


def _tiles_of_rows(nest: Nest, row: int) -> NestTiles:
    """Whole rows, of which a workgroup computes several if they are short."""
    size = math.prod(nest.sizes[row:])
    lanes = Axis(tuple(range(row, len(nest.sizes))), size, power_of_two(size))
    outer = [Axis((loop,), nest.sizes[loop], 1, loop == row - 1) for loop in range(row)]
    return _in_parts((*outer, lanes), max(1, _SUMMED // lanes.block), sums=False)


def _tiles_of_scan(nest: Nest, scan: int) -> NestTiles:
    """Tiles of lines along a scan, which a workgroup follows, with few lines if there are few tiles.

    Loops inside of the scan are lanes, which read neighbors; the loop outside of it has more lines.
    """
    inner, sizes = math.prod(nest.sizes[scan + 1 :]), nest.sizes
    lanes = min(power_of_two(inner), _LEAST_LANES)
    rows = min(power_of_two(sizes[scan - 1]), _WRITTEN) if scan else 1
    while True:
        block = min(power_of_two(sizes[scan]), _SUMMED // lanes)
        rows = min(rows, max(1, _WRITTEN // (block * lanes)))
        outer = [Axis((loop,), sizes[loop], rows if loop == scan - 1 else 1) for loop in range(scan)]
        last = [Axis(tuple(range(scan + 1, len(sizes))), inner, lanes)] if inner > 1 else []
        axes = (*outer, Axis((scan,), sizes[scan], block, True), *last)
        found = math.prod(each.tiles for each in axes if not each.stepped)
        if found * 2 >= WORKGROUPS or (rows == 1 and lanes <= _NEIGHBORS):
            steps = -(-sizes[scan] // block)
            steps = -(-steps // _GROUP) * _GROUP if steps > _GROUP else steps
            return NestTiles(axes, False, steps, 1)
        rows, lanes = max(1, rows // 2), lanes if rows > 1 else lanes // 2


def _tiles_of_elements(nest: Nest) -> NestTiles:
    """Tiles of lanes, which are next to each other in the result, and of rows, the next outer loop.

    A workgroup reads and computes once what is the same for all its rows. Several loops are lanes, if the
    innermost one is no multiple of a vector, if tiles of it would be filled badly, or if it and the next one
    are too short for a tile.
    """
    first = len(nest.sizes) - 1
    while first > 0 and not (_fits(math.prod(nest.sizes[first:])) and _fills(nest.sizes, first)):
        first -= 1
    size = math.prod(nest.sizes[first:])
    lanes = Axis(tuple(range(first, len(nest.sizes))), size, _lanes(size))
    axes = [*(Axis((loop,), nest.sizes[loop], 1) for loop in range(first)), lanes]
    if first:
        rows = axes[-2]
        axes[-2] = replace(rows, block=min(_WRITTEN // lanes.block, power_of_two(rows.size)), stepped=True)
    else:
        axes[0] = replace(lanes, stepped=True)
    return _in_parts(tuple(axes), _MOST_STEPS, sums=False)


def _in_parts(axes: tuple[Axis, ...], most: float, *, sums: bool) -> NestTiles:
    """Parts for enough workgroups, and so many that none has more than `most` steps."""
    tiles = _stepped(axes)
    wanted = min(tiles, -(-WORKGROUPS // math.prod(each.tiles for each in axes if not each.stepped)))
    steps = int(min(most, -(-tiles // wanted)))
    steps = steps // _GROUP * _GROUP if steps > _GROUP else steps
    return NestTiles(axes, sums, steps, -(-tiles // steps))


def _stepped(axes: tuple[Axis, ...]) -> int:
    return math.prod(each.tiles for each in axes if each.stepped)


def _fits(size: int) -> bool:
    return size % _VECTOR == 0 and _waste(size, _lanes(size)) <= _MOST_WASTE


def _fills(sizes: Sequence[int], first: int) -> bool:
    """Whether lanes from a loop on, and rows of the loop before it, have half a tile's elements."""
    lanes = _lanes(math.prod(sizes[first:]))
    return lanes * min(_WRITTEN // lanes, power_of_two(sizes[first - 1])) * 2 >= _WRITTEN


def _lanes(size: int) -> int:
    """The widest tile that wastes least."""
    return min(_LANES, key=lambda block: _waste(size, block))


def _waste(size: int, block: int) -> float:
    """The part of all tiles that is past the end."""
    return 1 - size / (-(-size // block) * block)


def power_of_two(size: int) -> int:
    """The least power of two that is not less than a size."""
    return 1 << max(0, size - 1).bit_length()
