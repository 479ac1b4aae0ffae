"""Products and convolutions of 8-bit integers, in C, with four-way dot products if the machine has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from iree_tuner.device.device_facts import usable_cores
from iree_tuner.kernels.c_code import (
    EXACT,
    MOST_STACK,
    CKernel,
    compiled,
    formula_of,
    inputs_of,
    refused_integers,
    widths,
)
from iree_tuner.kernels.c_plan import TILES, Shape, right_matrix, shape_of
from iree_tuner.kernels.integers import Integers
from iree_tuner.kernels.kernel import (
    Code,
    Knobs,
    Launch,
    Packed,
    Problem,
    conv_of,
    scratch_room,
)
from iree_tuner.kernels.moves import MOST_PADDING
from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.targets import Target

_SOURCE, _ENTRY = "gemm_i8.c", "iree_tuner_gemm_i8"
_GROUP = 4  # elements of the depth that are stored together
_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_FEW_PARTS = 3
_DOT_CYCLES, _TILE_CYCLES, _WORKGROUP_CYCLES = 5.0, 20.0, 3000.0


class CGemmI8(CKernel):
    """Keeps a tile of sums in registers, and stores it after requantization."""

    name = "c_gemm_i8"
    summary = "i8 products and 2-D convolutions (nhwc) in C, register tiles, VNNI, requantization"

    def refuses(self, problem: Problem) -> str:
        if not is_contraction(problem.workload) and not is_convolution(problem.workload):
            return "it is neither a product nor a convolution"
        if why := refused_integers(problem):
            return why
        shape = shape_of(problem)
        if shape is None or shape.windows is not None:
            return "its operands have a layout that the kernel cannot read in place"
        integers = problem.integers
        assert integers is not None
        if not integers.signed[int(not shape.swapped)]:
            return "its right operand is unsigned"
        if _padded(problem) and conv_of(problem) is None:
            return "its padded operand is not an image with channels last"
        sizes = problem.result.shape
        if any(along == "last" for _, along in inputs_of(problem)) and sizes[-1] != shape.columns:
            return "a vector after its sums is not along the columns of its product"
        return "" if _row(shape) <= MOST_STACK // 2 else "its sums are too long"

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        shape = self.known(shape_of(problem), problem)
        found = [(plan.cycles(usable_cores()), plan) for plan in _plans(problem, shape)]
        return tuple(plan.knobs for _, plan in sorted(found, key=lambda each: each[0]))

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        shape = self.known(shape_of(problem), problem)
        return _code(problem, _IntegerTiling(problem, shape, knobs), target, packed=False)

    def packed(self, problem: Problem, target: Target, knobs: Knobs) -> Packed | None:
        """Code for a right operand packed into tiles of columns, four rows together. Raises KernelError."""
        shape = self.known(shape_of(problem), problem)
        matrix, plan = right_matrix(problem, shape), _IntegerTiling(problem, shape, knobs)
        if matrix is None or -shape.columns % plan.wide * shape.depth > MOST_PADDING:
            return None
        return Packed(*matrix, plan.wide, _code(problem, plan, target, packed=True), _GROUP)


def _padded(problem: Problem) -> bool:
    return problem.integers is not None and problem.integers.padded


def _row(shape: Shape) -> int:
    return -(-shape.depth // 64) * 64 + 64


@dataclass(frozen=True)
class _IntegerTiling:
    """A shape with the tiles of knobs: `rows`, `vectors`, `lanes`, `tiles`, `columns`, `unroll`."""

    problem: Problem
    shape: Shape
    knobs: Knobs

    @property
    def wide(self) -> int:
        return self.knobs["vectors"] * self.knobs["lanes"]

    @property
    def all_tiles(self) -> int:
        return -(-self.shape.rows // self.knobs["rows"])

    @property
    def workgroups(self) -> tuple[int, int]:
        return -(-self.shape.columns // self.knobs["columns"]), -(-self.all_tiles // self.knobs["tiles"])

    @property
    def scratch_bytes(self) -> int:
        """Scratch memory for the right operand, which each workgroup packs for itself."""
        across, down = self.workgroups
        columns = -(-self.knobs["columns"] // self.wide) * self.wide
        return self.shape.batch[0] * across * down * columns * -(-self.shape.depth // _GROUP) * _GROUP

    def legal(self) -> bool:
        columns = -(-self.knobs["columns"] // self.wide) * self.wide
        on_stack = self.knobs["rows"] * _row(self.shape) + columns * 4
        return on_stack <= MOST_STACK and self.scratch_bytes <= scratch_room(self.problem)

    def cycles(self, threads: int) -> float:
        """The predicted time with a packed right operand, in cycles of two vector operations each."""
        knobs, shape = self.knobs, self.shape
        across, down = self.workgroups
        tiles, columns = min(knobs["tiles"], self.all_tiles), min(knobs["columns"], shape.columns)
        vectors = -(-columns // knobs["lanes"])
        whole, rest = divmod(vectors, knobs["vectors"])
        rows, steps = knobs["rows"], -(-shape.depth // _GROUP)
        integers = self.problem.integers
        after = 3 + 0.6 * len(integers.formula if integers else ())
        one = 0.0
        for width, count in ((knobs["vectors"], whole), (rest, int(rest > 0))):
            step = max(rows * width / 2, _DOT_CYCLES, (rows + width) / 2) + 0.05 * (rows + width)
            one += count * (step * steps + rows * width * after + _TILE_CYCLES)
        places = len(_runs(self.problem, shape)[0])
        one += rows * (places * 4 + shape.depth / 32)
        if columns * shape.depth > 1 << 20:  # it does not stay in the cache
            one *= 1.2
        slower = 1.0 if knobs["lanes"] == widths()[0] else 1.6
        corrected = whole * steps * knobs["vectors"]
        workgroups = -(-across * down * shape.batch[0] // threads) + 0.04
        return workgroups * ((one * tiles + corrected) * slower + _WORKGROUP_CYCLES)


def _plans(problem: Problem, shape: Shape) -> Iterator[_IntegerTiling]:
    """Plans whose tiles are not larger than the result, each with the best divisions into workgroups."""
    for lanes in widths():
        for rows, vectors in TILES[lanes]:
            if rows > shape.rows or (vectors > 1 and (vectors - 1) * lanes >= shape.columns):
                continue
            unroll = 2 if rows * vectors < 12 else 1
            base = {"rows": rows, "vectors": vectors, "lanes": lanes, "unroll": unroll}
            found = [plan for plan in _cut(problem, shape, base) if plan.legal()]
            yield from sorted(found, key=lambda each: each.cycles(usable_cores()))[:_FEW_PARTS]


def _cut(problem: Problem, shape: Shape, base: Knobs) -> Iterator[_IntegerTiling]:
    whole = _IntegerTiling(problem, shape, {**base, "tiles": 1, "columns": 1})
    tiles, across_tiles = whole.all_tiles, -(-shape.columns // whole.wide)
    seen: set[tuple[int, int]] = set()
    for down, across in product(_PARTS, _PARTS):
        cut = -(-tiles // down), -(-across_tiles // across) * whole.wide
        if down <= tiles and across <= across_tiles and down * across <= _PARTS[-1] and cut not in seen:
            seen.add(cut)
            yield _IntegerTiling(problem, shape, {**base, "tiles": cut[0], "columns": cut[1]})


def _runs(problem: Problem, shape: Shape) -> tuple[tuple[int, ...], int]:
    """The window as runs of consecutive bytes: the offset of each run, and the bytes of a run."""
    conv = conv_of(problem)
    if conv is None or _padded(problem) or conv.dilations[1] != 1 or len(shape.offsets) == 1:
        return shape.offsets, shape.channels
    return shape.offsets[:: conv.window_w], shape.channels * conv.window_w


def _code(problem: Problem, plan: _IntegerTiling, target: Target, *, packed: bool) -> Code:
    launch = Launch((*plan.workgroups, plan.shape.batch[0]))
    code = compiled(_SOURCE, _ENTRY, _macros(problem, plan, packed=packed), target, launch, plan.knobs, EXACT)
    return replace(code, scratch_bytes=0 if packed else plan.scratch_bytes)


def _macros(problem: Problem, plan: _IntegerTiling, *, packed: bool) -> dict[str, int | str]:
    shape, integers = plan.shape, problem.integers or Integers((True, True))
    offsets, run = _runs(problem, shape)
    found: dict[str, int | str] = {
        **{name.upper(): value for name, value in plan.knobs.items()},
        "LINES": shape.lines, "WIDTH": shape.width, "LINES_OF_IMAGE": shape.lines_of_image,
        "IMAGE": shape.image, "LINE": shape.line, "PIXEL": shape.pixel, "FILTERS": shape.columns,
        "RUN": run, "DEPTH": shape.depth, "DEPTH4": -(-shape.depth // _GROUP) * _GROUP,
        "PLACES": len(offsets), "RIGHT_ROW": shape.right_row, "RIGHT_COLUMN": shape.right_column,
        "RESULT_ROW": shape.result_row, "SWAPPED": int(shape.swapped), "PACKED": int(packed),
        "SIGNED": int(integers.signed[int(shape.swapped)]), "PADDED": int(_padded(problem)),
        **formula_of(problem),
    }  # fmt: skip
    found |= zip(("BATCH_LEFT", "BATCH_RIGHT", "BATCH_RESULT"), shape.batch[1:], strict=True)
    conv = conv_of(problem)
    if conv is not None and _padded(problem):
        padding, (_, high, across, _) = integers.padding, problem.inputs[0].shape
        places = list(product(range(conv.window_h), range(conv.window_w)))
        found |= {
            "ABOVE": padding.above, "BEFORE": padding.left, "AROUND": padding.value, "HIGH": high,
            "ACROSS": across, "DOWN": conv.strides[0], "RIGHT": conv.strides[1],
            "PLACE_LINES": ",".join(str(y * conv.dilations[0]) for y, _ in places),
            "PLACE_PIXELS": ",".join(str(x * conv.dilations[1]) for _, x in places),
        }  # fmt: skip
        before = padding.above * across + padding.left
        offsets = tuple(each - before * shape.channels for each in offsets)
    return found | {"PLACE_OFFSETS": ",".join(map(str, offsets))}
