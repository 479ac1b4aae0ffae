"""The legal variants of the C kernel for a problem, and the predicted cost of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from iree_tuner.kernels.c_code import MOST_STACK, workers
from iree_tuner.kernels.c_shape import Shape
from iree_tuner.kernels.kernel import Knobs
from iree_tuner.kernels.problem import LEAST_SCRATCH

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
_TOTAL_CYCLES = 8.0  # to add the lanes of a vector
_WAIT = 0.1  # of a workgroup's time, which the others wait at the end
_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_FEW_PARTS = 3  # divisions into workgroups that are tried with a tile


@dataclass(frozen=True)
class CTiling:
    """A shape with knobs: `rows`, `vectors`, `lanes`, `depth`, `pack_left`, `pack_right`, `dot`, `tiles`,
    `columns`, `unroll`. `packed` is whether the right operand is packed before the program runs.
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
        """Bytes of scratch memory for the packed rows of all workgroups."""
        if not self.knobs["pack_left"]:
            return 0
        across, down = self.workgroups
        return (
            self.shape.batch[0] * across * down * self.knobs["tiles"] * self.knobs["rows"] * self.stride * 4
        )

    def legal(self) -> bool:
        return (self.packed or self._on_stack <= MOST_STACK) and self.scratch_bytes <= LEAST_SCRATCH

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
        if shape.depth * shape.columns * 4 > _L2:
            found += shape.depth * columns * _MEMORY_CYCLES
        if tiles * knobs["rows"] * self.part * 4 > _L2 and whole + bool(rest) > 1:
            found *= 1.1
        return (-(-across * down * shape.batch[0] // workers) + _WAIT) * (found + _WORKGROUP_CYCLES)

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
    threads = workers()
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
    for rows, columns in (
        _DOTS[lanes] if shape.right_row == 1 and len(shape.offsets) == 1 and shape.windows is None else ()
    ):
        if rows <= shape.rows and columns <= shape.columns:
            tile = {"rows": rows, "vectors": columns, "lanes": lanes, "dot": 1, "depth": shape.channels}
            yield [{**tile, "pack_left": 0, "pack_right": 0, "unroll": each} for each in (1, 2)]


def _depth_of(shape: Shape, depth: int) -> int:
    """A part of the depth without a small rest: whole window positions, or equal parts of the channels."""
    if shape.channels < depth:
        return shape.channels * max(1, min(depth // shape.channels, len(shape.offsets)))
    return -(-shape.channels // -(-shape.channels // depth))


def _cut(shape: Shape, base: Mapping[str, int], *, packed: bool) -> Iterator[CTiling]:
    """A plan for each division of the result into workgroups."""
    whole = CTiling(shape, {**base, "tiles": 1, "columns": 1})
    own = packed and not base["dot"]
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
