"""Products for the C kernels: contractions and convolutions as batched products of rows by columns.

With the legal variants of the kernel for a problem, and the predicted cost of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from iree_tuner.device.device_facts import usable_cores
from iree_tuner.kernels.c_code import MOST_STACK
from iree_tuner.kernels.kernel import LEAST_SCRATCH, Knobs, Problem, conv_of
from iree_tuner.kernels.product_shape import runs_of, strides_of
from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.workload import Workload


@dataclass(frozen=True)
class Windows:
    """A right operand whose columns are pixels of an image with channels first.

    Attributes:
        width: pixels of a line of the result.
        line, pixel: distances in the image, in elements, for the result's next line and pixel.
        channel: distance of channels, in elements.
        offsets: of a window's positions from its first one, in elements.
    """

    width: int
    line: int
    pixel: int
    channel: int
    offsets: tuple[int, ...]


@dataclass(frozen=True)
class Shape:
    """A product whose left rows may be windows of pixels with channels last.

    Attributes:
        lines, width: lines of all images together, and pixels of a line; each pixel is a row. A matrix is
            one line.
        lines_of_image: lines of one image.
        image, line, pixel: distances in the left operand, in elements, for the next image, line and pixel.
        columns: columns of the result.
        channels: depth at one position of the window.
        offsets: of the window's positions from its first one, in elements.
        right_row, right_column: distances of rows and of columns in the right operand, in elements.
        result_row: distance of rows in the result, in elements.
        batch: number of products, and the distances of products in both operands and the result, in elements.
        swapped: whether the left operand is the problem's second one.
        bytes: of an element of the left and the right operand, and of the result. Sums are f32.
        windows: how columns are read if the right operand is an image; otherwise None.
    """

    lines: int
    width: int
    lines_of_image: int
    image: int
    line: int
    pixel: int
    columns: int
    channels: int
    offsets: tuple[int, ...]
    right_row: int
    right_column: int
    result_row: int
    batch: tuple[int, int, int, int] = (1, 0, 0, 0)
    swapped: bool = False
    windows: Windows | None = field(default=None)
    bytes: tuple[int, int, int] = (4, 4, 4)

    @property
    def rows(self) -> int:
        return self.lines * self.width

    @property
    def depth(self) -> int:
        """The number of products in a sum."""
        return self.channels * len(self.offsets)

    @property
    def right_bytes(self) -> int:
        """Bytes of a right operand that is a matrix."""
        return self.depth * self.columns * self.bytes[1]


def shape_of(problem: Problem) -> Shape | None:
    """The problem as a product of rows by columns; None if it is none."""
    workload = problem.workload
    if workload.dynamic:
        return None
    if is_contraction(workload):
        found = _contraction(workload, (0, 1)) or _contraction(workload, (1, 0))
    else:
        found = _channels_last(problem) or _channels_first(problem)
    if found is None:
        return None
    sizes = [
        2 if each.element_type in ("f16", "bf16") else 4 for each in (*problem.inputs[:2], problem.result)
    ]
    return replace(found, bytes=(sizes[found.swapped], sizes[not found.swapped], sizes[2]))


def right_matrix(problem: Problem, shape: Shape) -> tuple[int, tuple[int, int], int] | None:
    """The right operand's number, its matrix sizes, and the dimension of columns; None if it is no matrix."""
    number = int(not shape.swapped)
    whole = math.prod(problem.inputs[number].shape) == shape.depth * shape.columns
    if shape.windows is not None or shape.batch[0] > 1 or not whole:
        return None
    if (shape.right_row, shape.right_column) == (shape.columns, 1):
        return number, (shape.depth, shape.columns), 1
    if (shape.right_row, shape.right_column) == (1, shape.depth):
        return number, (shape.columns, shape.depth), 0
    return None


def from_memory(shape: Shape) -> bool:
    """Whether one row takes as long as memory takes to deliver the right operand, packed or in its place.

    The packed copy of a model's weights takes as much memory as they do, and seconds when it is loaded.
    """
    row = shape.rows == 1 and _streamed(shape)
    return row and shape.right_bytes >= FROM_MEMORY


def _contraction(workload: Workload, order: tuple[int, int]) -> Shape | None:
    """The shape with operands in this order: the first one has the rows, the second one the columns."""
    if any(None in one.dimensions for one in workload.maps):
        return None
    left, right, result = (workload.maps[each].loops for each in (*order, 2))
    steps = [strides_of(place, workload.loops) for place in (left, right, result)]
    used = [tuple(each in place for place in (left, right, result)) for each in range(len(workload.loops))]
    sizes: list[int] = []
    strides: list[list[int]] = []  # of each role, in both operands and the result
    for role in ((True, True, True), (True, False, True), (False, True, True), (True, True, False)):
        own = [each for each, size in enumerate(workload.loops) if size > 1 and used[each] == role]
        order_in = steps[role.index(True)]
        run, *others = runs_of(sorted(own, key=order_in.__getitem__, reverse=True), workload.loops, steps)
        if others:
            return None
        sizes.append(math.prod(workload.loops[each] for each in run))
        strides.append([each.get(run[-1], 0) if run else 0 for each in steps])
    batch, m, n, k = sizes
    of_batch, of_m, of_n, of_k = strides
    covered = math.prod(sizes) == math.prod(workload.loops)
    if not covered or (k > 1 and of_k[0] != 1) or (n > 1 and of_n[2] != 1):
        return None
    row, column = of_k[1] if k > 1 else n, of_n[1] if n > 1 else k
    if 1 not in (row, column):
        return None
    if n == 1 and m > 1:
        return None  # in the other order, these rows are columns
    return Shape(
        1, m, 1, 0, 0, of_m[0] if m > 1 else k, n, k, (0,), row, column, of_m[2] if m > 1 else n,
        (batch, of_batch[0], of_batch[1], of_batch[2]), order == (1, 0),
    )  # fmt: skip


def _channels_last(problem: Problem) -> Shape | None:
    conv = conv_of(problem)
    if conv is None:
        return None
    _, height, width, channels = problem.inputs[0].shape  # an image may be larger than the part that is read
    line = width * channels
    steps = conv.dilations[0] * line, conv.dilations[1] * channels
    offsets = window_offsets((conv.window_h, conv.window_w), steps)
    last = (conv.filters, channels, offsets, conv.filters, 1, conv.filters)
    if len(offsets) == 1 and conv.strides == (1, 1) and (height, width) == (conv.out_h, conv.out_w):
        return Shape(1, conv.batch * height * width, 1, 0, 0, channels, *last)
    return Shape(
        conv.batch * conv.out_h, conv.out_w, conv.out_h, height * line, conv.strides[0] * line,
        conv.strides[1] * channels, *last,
    )  # fmt: skip


def window_offsets(window: tuple[int, int], steps: tuple[int, int]) -> tuple[int, ...]:
    """The places of a window's positions, from its first one, by the steps of its lines and pixels."""
    return tuple(y * steps[0] + x * steps[1] for y in range(window[0]) for x in range(window[1]))


def _channels_first(problem: Problem) -> Shape | None:
    """A convolution of `nchw` by `fchw`: the rows are filters, and the columns are pixels."""
    conv = conv_of(problem, channels_first=True)
    if conv is None:
        return None
    _, channels, height, width = problem.inputs[0].shape
    offsets = window_offsets((conv.window_h, conv.window_w), (conv.dilations[0] * width, conv.dilations[1]))
    depth, pixels = channels * len(offsets), conv.out_h * conv.out_w
    plain = len(offsets) == 1 and conv.strides == (1, 1) and (height, width) == (conv.out_h, conv.out_w)
    windows = Windows(conv.out_w, conv.strides[0] * width, conv.strides[1], height * width, offsets)
    return Shape(
        1, conv.filters, 1, 0, 0, depth, pixels, depth, (0,), height * width, 1, pixels,
        (conv.batch, 0, channels * height * width, conv.filters * pixels), swapped=True,
        windows=None if plain else windows,
    )  # fmt: skip


TILES: Mapping[int, tuple[tuple[int, int], ...]] = {
    16: (
        (6, 4), (8, 3), (9, 3), (7, 3), (12, 2), (14, 2), (13, 2), (10, 2), (8, 2), (4, 6), (5, 5), (3, 7),
        (2, 8), (2, 12), (1, 8), (1, 16), (1, 24), (24, 1), (28, 1), (4, 2), (2, 4), (1, 1),
    ),
    8: ((6, 2), (5, 2), (4, 3), (4, 2), (3, 4), (2, 6), (2, 4), (1, 8), (1, 12), (12, 1), (14, 1), (1, 1)),
    4: ((8, 3), (7, 3), (6, 4), (12, 2), (14, 2), (4, 6), (2, 8), (1, 8), (1, 16), (24, 1), (4, 2), (1, 1)),
}  # fmt: skip
"""Rows and vectors of a tile of sums, by the number of f32 in a vector. AVX-512 and NEON have 32 registers,
AVX2 has 16, and the operands need some."""

_DOTS: Mapping[int, tuple[tuple[int, int], ...]] = {
    16: ((1, 8), (1, 16), (1, 4), (2, 8), (3, 6), (4, 5), (4, 6), (6, 4)),
    8: ((1, 8), (1, 4), (2, 5), (3, 3), (4, 2)),
    4: ((1, 4), (2, 4), (4, 4), (6, 4)),
}
"""Rows and columns of a tile of dot products. Each sum takes a vector, whose lanes are added at the end. A
tile has at most as many columns as a vector has lanes."""

_DEPTHS = (256, 512, 128, 384, 1024)
# Bytes of the right operand's tile that stay in the L1 cache, and the cycles of a load from beyond it. Tiles
# of columns read the rows of the left operand again, of which the L1 cache keeps none: cycles of a line.
# Most cycles here are fitted to trials of 25 problems (`benchmarks/results/c_gemm_order.jsonl`).
_L1, _L1_MISS, _LEFT_LINE = 40 << 10, 1.5, 4.0
_LOAD = 0.2  # of a load, besides its place among the products
_PART_CYCLES = 4.0  # for each vector of sums, to go on with a further part of the depth
_L2 = 768 << 10  # bytes of the cache for the rows that a workgroup reads again
_MEMORY_CYCLES = 0.25  # for an f32 of a right operand that is larger than that cache
_LINE = 16  # f32 in a line of the cache
_FMA_CYCLES = 4  # latency: from one addition to a sum to the next
_TILE_CYCLES, _WORKGROUP_CYCLES = 300.0, 4000.0
_PAGE = 1024  # f32
# How much slower rows are read that are on pages of their own, and rows that take the same places of a cache.
_FAR, _ALIKE = 1.3, 2.0
_WIDEN, _WIDEN_ONE = 0.5, 1.0  # to convert a vector of 16-bit numbers, and one that becomes a vector
_SUM_CYCLES = 1.5  # to read and write a vector of sums in the L1 cache
_STREAM_CYCLES = 0.6  # of a load that waits for more than the caches
_NEW_RUN = 80  # f32 that memory could deliver in the time to begin a part of a row
_TOTAL_CYCLES = 8.0  # to add the lanes of a vector
_WAIT = 0.1  # of a workgroup's time, which the others wait at the end
_MEMORY_WAIT = 0.02  # where memory delivers to the others what one has no more use for
_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_MOST_STREAMED = 8
"""Rows of a product whose right operand is streamed: their sums are read and written for each part of it."""
FROM_MEMORY = 32 << 20
"""Bytes of a right operand that no cache keeps until the next run of the program."""
_TOGETHER = (8, 4)  # rows of the right operand that are streamed at once
_FEW_PARTS = 3  # divisions into workgroups that are tried with a tile


@dataclass(frozen=True)
class CTiling:
    """A shape with knobs: `rows`, `vectors`, `lanes`, `depth`, `pack_left`, `pack_right`, `dot`, `tiles`,
    `columns`, `unroll`, and `stream` where it is 1. `packed` is whether the right operand is packed before
    the program runs.
    """

    shape: Shape
    knobs: Knobs
    packed: bool = False

    @property
    def wide(self) -> int:
        return self.knobs["vectors"] * (1 if self.knobs["dot"] else self.knobs["lanes"])

    @property
    def across(self) -> tuple[int, int]:
        """The length of a run of rows that is cut into tiles, and the number of such runs."""
        whole = self.knobs["pack_left"]
        return (self.shape.rows, 1) if whole else (self.shape.width, self.shape.lines)

    @property
    def all_tiles(self) -> int:
        length, times = self.across
        return times * -(-length // self.knobs["rows"])

    @property
    def workgroups(self) -> tuple[int, int]:
        return -(-self.shape.columns // self.knobs["columns"]), -(-self.all_tiles // self.knobs["tiles"])

    @property
    def part(self) -> int:
        """The part of the depth that is summed up at once."""
        channels, depth = self.shape.channels, self.knobs["depth"]
        if channels >= depth:
            return depth
        return channels * min(depth // channels, len(self.shape.offsets))

    @property
    def stride(self) -> int:
        """Distance of packed rows, in elements: an odd number of cache lines, so that rows do not collide."""
        lines = -(-self.part // _LINE)
        return (lines + 1 - lines % 2) * _LINE

    @property
    def scratch_bytes(self) -> int:
        """Bytes of scratch memory: packed rows, and then sums."""
        return self.packed_left_bytes + self.kept_bytes

    @property
    def kept_bytes(self) -> int:
        """Bytes of the sums of a narrow result, which go on with another part of the depth."""
        shape, knobs = self.shape, self.knobs
        at_once = knobs["unroll"] if self.streams else shape.depth if knobs["dot"] else self.part
        if shape.bytes[2] == 4 or at_once >= shape.depth:
            return 0
        return shape.batch[0] * shape.rows * shape.columns * 4

    @property
    def packed_left_bytes(self) -> int:
        """Bytes of the packed rows of all workgroups."""
        if not self.knobs["pack_left"]:
            return 0
        across, down = self.workgroups
        return (
            self.shape.batch[0] * across * down * self.knobs["tiles"] * self.knobs["rows"] * self.stride * 4
        )

    def legal(self) -> bool:
        fits = self.packed_left_bytes <= LEAST_SCRATCH - min(self.kept_bytes, LEAST_SCRATCH // 2)
        return fits and (self.packed or self._on_stack <= MOST_STACK)

    @property
    def _on_stack(self) -> int:
        return self.knobs["pack_right"] * self.knobs["depth"] * self.wide * 4

    def unpacked(self) -> CTiling:
        """The plan for a right operand that was not packed before: with parts of the depth that fit."""
        depth = self.knobs["depth"]
        while self._on_stack * depth > MOST_STACK * self.knobs["depth"]:
            depth = -(-depth // 2)
        return CTiling(self.shape, {**self.knobs, "depth": _depth_of(self.shape, depth)})

    def cycles(self, workers: int) -> float:
        """The predicted time on that many workers, in cycles of two vector operations each."""
        if self.streams:
            return self._streaming_cycles(workers)
        across, down = self.workgroups
        shape, knobs = self.shape, self.knobs
        columns, tiles = min(knobs["columns"], shape.columns), min(knobs["tiles"], self.all_tiles)
        length, times = self.across
        full, left = divmod(length, knobs["rows"])
        row_tiles = [(knobs["rows"], full * times), (left, times if left else 0)]
        whole, rest = divmod(columns, self.wide)
        last = rest if knobs["dot"] else -(-rest // knobs["lanes"])
        column_tiles = [(knobs["vectors"], whole), (last, 1 if rest else 0)]
        one = sum(
            count * many * self._tile_cycles(height, width)
            for height, count in row_tiles
            for width, many in column_tiles
        )
        found = one * tiles / self.all_tiles
        found += self._packing(columns, tiles)
        if shape.right_bytes > _L2:
            found += shape.depth * columns * _MEMORY_CYCLES * shape.bytes[1] / 4
        if tiles * knobs["rows"] * self.part * 4 > _L2 and whole + bool(rest) > 1:
            found *= 1.1
        return (-(-across * down * shape.batch[0] // workers) + _WAIT) * (found + _WORKGROUP_CYCLES)

    @property
    def streams(self) -> bool:
        """Whether rows of the right operand are read in place, as wide as a workgroup is."""
        return bool(self.knobs.get("stream"))

    def _streaming_cycles(self, workers: int) -> float:
        """The same of a plan that streams: products, sums that are read and written again, and memory."""
        shape, knobs = self.shape, self.knobs
        columns, depth = min(knobs["columns"], shape.columns), shape.depth
        steps = -(-columns // knobs["lanes"]) * depth
        step = shape.rows / 2 + _STREAM_CYCLES + shape.rows * _SUM_CYCLES / knobs["unroll"]
        found = steps * (step + _WIDEN * (shape.bytes[1] == 2))
        groups, wait = self.workgroups[0] * shape.batch[0], _WAIT
        if depth * shape.columns * 4 > _L2:
            found += depth * columns * _MEMORY_CYCLES * shape.bytes[1] / 4 * (1 + _NEW_RUN / columns)
            wait = _MEMORY_WAIT
        return (-(-groups // workers) + wait) * (found + _WORKGROUP_CYCLES)

    def _packing(self, columns: int, tiles: int) -> float:
        shape, knobs = self.shape, self.knobs
        right = 0.4 if shape.right_row == 1 else (8.0 if shape.windows else 3.0) / knobs["lanes"]
        found = 0.0 if self.packed else knobs["pack_right"] * shape.depth * columns * right
        if knobs["pack_left"]:
            left = 0.3 if shape.channels >= _LINE else 1.5
            found += tiles * knobs["rows"] * shape.depth * left
        return found

    def _tile_cycles(self, rows: int, vectors: int) -> float:
        """Cycles of a tile: its products or their latency, some for loads, and a fixed part."""
        depth = self.shape.depth
        step = max(rows * vectors / 2, _FMA_CYCLES, (rows + vectors) / 2) + _LOAD * (rows + vectors)
        step += _LEFT_LINE * rows / _LINE
        narrow_left, narrow_right = (each == 2 for each in self.shape.bytes[:2])
        if narrow_left and not self.knobs["pack_left"]:
            step += (_WIDEN if self.knobs["dot"] else _WIDEN_ONE) * rows
        if narrow_right and not self.knobs["pack_right"]:
            step += _WIDEN * vectors
        if self.part * vectors * self.knobs["lanes"] * 4 > _L1:
            step += _L1_MISS * vectors
        in_place = not (self.packed or self.knobs["pack_right"])
        if in_place and self.shape.right_row >= _PAGE:
            step *= _FAR if self.shape.right_row % _PAGE else _ALIKE
        if self.knobs["dot"]:
            return step * depth / self.knobs["lanes"] + rows * vectors * _TOTAL_CYCLES + _TILE_CYCLES
        parts = -(-depth // self.part)
        return step * depth + parts * _TILE_CYCLES + (parts - 1) * rows * vectors * _PART_CYCLES


def plans(shape: Shape, widths: tuple[int, ...], *, packed: bool = False) -> list[CTiling]:
    """The legal plans, lowest predicted cost first. Each further plan of a tile gets a small penalty.

    `packed` says that the right operand is packed before the program runs.
    """
    threads = usable_cores()
    costs: list[tuple[float, int, CTiling]] = []
    for lanes in widths:
        slower = 1.0 if lanes == widths[0] else 1.5
        for base in _tiles_of(shape, lanes, packed=packed):
            own: list[CTiling] = []
            for each in base:  # the plans with the best divisions into workgroups
                legal = [plan for plan in _cut(shape, each, packed=packed) if plan.legal()]
                own += sorted(legal, key=lambda plan: plan.cycles(threads))[:_FEW_PARTS]
            own.sort(key=lambda each: each.cycles(threads))
            costs += [
                (plan.cycles(threads) * slower * (1 + 0.01 * place), len(costs) + place, plan)
                for place, plan in enumerate(own)
            ]
    return [plan for _, _, plan in sorted(costs, key=lambda each: each[:2])]


def _tiles_of(shape: Shape, lanes: int, *, packed: bool) -> Iterator[list[dict[str, int]]]:
    """For each tile that is not larger than the result, all choices of the other knobs except workgroups."""
    depths = dict.fromkeys(_depth_of(shape, depth) for depth in _DEPTHS)
    turned = shape.right_row == 1 and shape.columns > 1
    rights = (1,) if shape.windows or turned else (0,) if packed else (0, 1)
    for rows, vectors in TILES[lanes]:
        if rows > shape.rows or (vectors > 2 and (vectors - 1) * lanes >= shape.columns):
            continue
        lefts = (0, 1) if rows <= shape.width else (1,)
        unrolls = (1,) if rows >= 4 else (4, 1)
        tile = {"rows": rows, "vectors": vectors, "lanes": lanes, "dot": 0}
        names = ("depth", "pack_left", "pack_right", "unroll")
        yield [
            {**tile, **dict(zip(names, each, strict=True))}
            for each in product(depths, lefts, rights, unrolls)
        ]
    if shape.right_column == 1 and _streamed(shape):
        tile = {"rows": shape.rows, "vectors": 2, "lanes": lanes, "dot": 0, "depth": shape.channels}
        yield [{**tile, "pack_left": 0, "pack_right": 0, "unroll": each, "stream": 1} for each in _TOGETHER]
    for rows, columns in (
        _DOTS[lanes] if shape.right_row == 1 and len(shape.offsets) == 1 and shape.windows is None else ()
    ):
        if rows <= shape.rows and columns <= shape.columns:
            tile = {"rows": rows, "vectors": columns, "lanes": lanes, "dot": 1, "depth": shape.channels}
            yield [{**tile, "pack_left": 0, "pack_right": 0, "unroll": each} for each in (1, 2)]


def _streamed(shape: Shape) -> bool:
    """Whether it is a product of few rows with a matrix."""
    plain = shape.lines == 1 and len(shape.offsets) == 1 and shape.windows is None
    return plain and shape.rows <= _MOST_STREAMED and shape.columns > 1


def _depth_of(shape: Shape, depth: int) -> int:
    """A part of the depth without a small rest: whole window positions, or equal parts of the channels."""
    if shape.channels < depth:
        return shape.channels * max(1, min(depth // shape.channels, len(shape.offsets)))
    return -(-shape.channels // -(-shape.channels // depth))


def _cut(shape: Shape, base: Mapping[str, int], *, packed: bool) -> Iterator[CTiling]:
    """A plan for each division of the result into workgroups."""
    whole = CTiling(shape, {**base, "tiles": 1, "columns": 1})
    own = packed and not base["dot"] and not base.get("stream")
    wide, tiles = whole.wide, whole.all_tiles
    column_tiles = -(-shape.columns // wide)
    seen: set[tuple[int, int]] = set()
    for down, across in product(_PARTS, _PARTS):
        if down * across > _PARTS[-1] or down > tiles or across > column_tiles:
            continue
        cut = -(-tiles // down), -(-column_tiles // across) * wide
        if cut not in seen:
            seen.add(cut)
            yield CTiling(shape, {**base, "tiles": cut[0], "columns": cut[1]}, own)
