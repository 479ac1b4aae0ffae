"""Matrix multiplications for NVIDIA GPUs, by Triton's ahead-of-time compiler, which needs no GPU.

A tile has one of three forms (`triton_source`): `plain` and `one_row`, for results with one row, which may
divide the depth among workgroups (`split`), and `persistent`. Columns that are computed may become rows
(`turned`): their tiles stay in registers. The estimate of a tile's cost on an H200 only
orders variants. Its constants were fitted to benchmarks/results/h200_kernels.jsonl.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from iree_tuner.kernels import triton_finish
from iree_tuner.kernels.formula import CONSTANT, INPUT
from iree_tuner.kernels.gated import EXCHANGED, GATED, HALVES
from iree_tuner.kernels.kernel import COMPUTED, Code, KernelError, Knobs, Problem, scratch_room
from iree_tuner.kernels.nest import Nest, power_of_two
from iree_tuner.kernels.product_shape import (
    EXTRA,
    LEFT,
    RESULT,
    RIGHT,
    WHOLE,
    Matrices,
    ProductShape,
    operand_types,
    operation_of,
    product_shape,
)
from iree_tuner.kernels.triton_code import (
    ELEMENTS,
    NARROW,
    SHARED_BYTES,
    TritonKernel,
    made_code,
    unfit_arrays,
)
from iree_tuner.kernels.triton_tiles import (
    function_of_tile,
    functions_of_tile,
    in_f32,
    run_of_tile,
    unknown_value,
)
from iree_tuner.kernels.triton_words import (
    MOST_HELD,
    MOST_STEPS,
    functions_of_words,
    packed_product,
    steps_at_once,
)
from iree_tuner.ops.element_type import ElementType
from iree_tuner.targets import Target

MULTIPROCESSORS = 132  # of an H100 SXM and an H200

_BYTES = 2  # of an element of the result, mostly
_SUM_BYTES = 4
_LEAST = 16  # the least size of a tile's side for tensor cores
_WIDE_ROWS = 64  # with so many rows, a group of four warps multiplies from shared memory (wgmma)
_RUN, _RUN_ALONG = 64, 256  # bytes next to each other across columns, and along the depth
_SPLITS = (2, 4, 8)  # workgroups of a cluster that every device allows: CUDA C++ Programming Guide

_PER_NS = 6000.0  # operations of a multiprocessor's tensor cores
_PARTS_OF_F32 = 6.0  # products of TF32, at half the rate, for one of f32
_PLAIN_PER_NS = 140.0  # bytes of a right operand that a multiprocessor multiplies without tensor cores
_MADE_NS, _OP_NS, _MOST_WARPS = 0.55, 0.2, 32  # of an element that is computed; warps at work at once
_IN_WORDS_NS, _OF_STEP_NS, _OF_GROUP_NS = 0.47, 1.8, 0.16  # the same of words, a thread's step, and scales
_ROWS_ALONG = 3.5  # a thread's row elements for words along the depth, of those for words across columns
_TALLEST, _APART_NS = 256, 1.5  # sides of tiles, and what an element that is written and read takes
_THROUGH_SHARED = 2.0  # elements of right operands go through shared memory to tensor cores
_READ_PER_NS = 85.0  # bytes to a multiprocessor, mostly from the second-level cache
_MEMORY_PER_NS = 4500.0  # bytes from memory to all multiprocessors
_LATENCY_NS = 800.0  # of memory
_ONE_ROW_IN_REGISTERS = 3.0  # the same with one stage: four steps are loaded before one is used
_ONE_ROW_AHEAD = 0.8  # steps whose loads are under way without tensor cores, with any number of stages
_FEW_WARPS, _OF_FEW_WARPS = 4, 1.1  # they ask for a small tile's operands more slowly than eight
_START_NS, _TILE_NS, _WORKGROUP_NS, _MEETING_NS = 1500.0, 1000.0, 100.0, 2500.0
_TAIL = 1.2  # divided last rounds have not been timed: others come before
_HIDDEN = 0.02  # part of the shorter of two overlapping times that counts: orders otherwise equal variants
_THREADS = 2048  # of a multiprocessor


@dataclass(frozen=True)
class Limits:
    """Properties of a problem, except for its shape, that limit its tiles.

    Attributes:
        result_bytes: size of an element of the result.
        scratch_bytes: size of the available scratch memory.
        added: whether the epilogue reads arrays of the result's shape.
    """

    result_bytes: int
    scratch_bytes: int = 0
    added: bool = False


@dataclass(frozen=True)
class CopyEngine:
    """A problem as matrices for the bulk copy engine; `result` is None if the engine cannot write it."""

    left: Matrices
    right: Matrices
    result: Matrices | None


def engine_of(shape: ProductShape, result_bytes: int) -> CopyEngine | None:
    """The problem as matrices for the copy engine; None if the engine cannot read an operand."""
    if shape.computed or shape.bytes > 2:
        return None
    left = shape.matrices(LEFT, ("m", "k"), shape.bytes)
    right = shape.matrices(RIGHT, ("k", "n"), shape.bytes)
    result = shape.written.matrices(RESULT, ("m", "n"), result_bytes)
    if left is None or right is None:
        return None
    return CopyEngine(left, right, None if result is None or result.turned else result)


def tiles_of(shape: ProductShape, knobs: Knobs) -> int:
    """The number of tiles of the result, over all batches."""
    return shape.batch * -(-shape.m // knobs.get("bm", 1)) * -(-shape.n // knobs["bn"])


def workgroups_of(shape: ProductShape, knobs: Knobs) -> int:
    """The number of workgroups."""
    tiles = tiles_of(shape, knobs)
    if knobs["persistent"]:
        return min(MULTIPROCESSORS, tiles)
    alone = tiles_alone(shape, knobs)
    return alone + (tiles - alone) * knobs.get("split", 1)


def tiles_alone(shape: ProductShape, knobs: Knobs) -> int:
    """The tiles that a workgroup computes alone: all without a split, those of full rounds with `tail`."""
    tiles, split = tiles_of(shape, knobs), knobs.get("split", 1)
    if split == 1:
        return tiles
    return tiles // _at_once(split) * _at_once(split) if knobs.get("tail") else 0


def _at_once(split: int) -> int:
    """Workgroups in a round of clusters of so many: groups of 16 or 18 multiprocessors hold 16."""
    return MULTIPROCESSORS if split == 2 else MULTIPROCESSORS // 16 * 16


def partial_bytes(shape: ProductShape, knobs: Knobs) -> int:
    """Bytes of the partial sums of all workgroups; 0 without a split."""
    if knobs.get("split", 1) == 1:
        return 0
    parts = workgroups_of(shape, knobs) - tiles_alone(shape, knobs)
    return parts * knobs.get("bm", 1) * knobs["bn"] * _SUM_BYTES


def ordered(shape: ProductShape, limits: Limits) -> tuple[Knobs, ...]:
    """All variants, promising ones first: by the estimate, with a penalty for variants like earlier ones."""
    known = [(estimate_ns(_seen(shape, each), each), each) for each in variants(shape, limits)]
    seen: Counter[tuple[int, ...]] = Counter()
    keyed: list[tuple[float, int, Knobs]] = []
    for number, (cost, knobs) in enumerate(sorted(known, key=lambda each: each[0])):
        tile = *sorted((knobs.get("bm", 0), knobs["bn"])), knobs.get("split", 1)
        kind = "bm" in knobs, knobs["persistent"], knobs.get("split", 1) > 1
        form = (*tile, *kind, *(knobs.get(each, 0) for each in ("parts", "flatten", "turned", "tail")))
        keyed.append((cost * (1 + 0.03 * seen[tile] + 0.04 * seen[form] + 0.03 * seen[kind]), number, knobs))
        seen.update((tile, form, kind))
    return tuple(knobs for _, _, knobs in sorted(keyed, key=lambda each: each[:2]))


def _seen(shape: ProductShape, knobs: Knobs) -> ProductShape:
    """The shape as a variant sees it."""
    return shape.turned if knobs.get("turned") else shape


def variants(shape: ProductShape, limits: Limits) -> Iterator[Knobs]:
    """All legal variants, in any order."""
    if shape.m == 1:
        yield from _one_row(shape, limits)
    if RIGHT in shape.computed and LEFT not in shape.computed and not shape.gated:
        turned = variants(shape.turned, limits) if shape.m >= _LEAST else ()
        yield from ({**each, "turned": 1} for each in turned if "bm" in each)
    engine = engine_of(shape, limits.result_bytes)
    for tile in _tiles(shape):
        bm, bn, bk = tile["bm"], tile["bn"], tile["bk"]
        count = tiles_of(shape, tile)
        yield {**tile, "persistent": 0, "split": 1}
        for split in _SPLITS:
            few = count * split <= 2 * MULTIPROCESSORS and shape.k // bk >= 4 * split
            knobs = {**tile, "persistent": 0, "split": split}
            if few and partial_bytes(shape, knobs) <= limits.scratch_bytes:
                yield knobs
            tail = {**knobs, "tail": 1}
            alone, last = tiles_alone(shape, tail), count - tiles_alone(shape, tail)
            short = 0 < last * split <= _at_once(split) and shape.k // bk >= 4 * split
            if alone and short and partial_bytes(shape, tail) <= limits.scratch_bytes:
                yield tail
        if engine is None:
            continue
        values_bytes = bm * bn * limits.result_bytes
        for parts, flatten in ((1, 0), (1, 1)) if shape.gated else ((1, 0), (1, 1), (2, 1)):
            written = 0 if engine.result is None else values_bytes // parts
            # Access through pointers makes threads exchange values in shared memory.
            moved = values_bytes // 2 + 64 if limits.added or engine.result is None else 0
            fits = _shared(shape, tile) + written + moved <= SHARED_BYTES
            wide = parts == 1 or (bn >= 128 and engine.result is not None)
            if fits and wide and (not flatten or count > MULTIPROCESSORS):
                yield {**tile, "persistent": 1, "parts": parts, "flatten": flatten}


def _tiles(shape: ProductShape) -> Iterator[dict[str, int]]:
    for bm, bn, bk in product(_rows(shape), _columns(shape), _depths(shape)):
        if (bk > 128 and bm >= _WIDE_ROWS) or (bn == _LEAST < shape.n and bm >= _WIDE_ROWS):
            continue
        if shape.gated and bn < 2 * _LEAST:  # both halves have so many columns of it
            continue
        steps = -(-shape.k // bk)
        for warps, stages in product((4, 8), (2, 3, 4, 5, 6, 8)):
            small = bm < _WIDE_ROWS
            few = stages == 2 and steps > 2
            many = stages > max(2, steps) or stages == (5 if small else 8)
            held = bm * bn / (warps * 32)
            balanced = (2 if small or bn == _LEAST else 16) <= held <= 128
            tile = {"bm": bm, "bn": bn, "bk": bk, "warps": warps, "stages": stages}
            if balanced and not few and not many and _shared(shape, tile) <= SHARED_BYTES:
                yield tile


def _rows(shape: ProductShape) -> list[int]:
    most = max(_LEAST, power_of_two(shape.m))
    few = [each for each in (16, 32) if each <= most and shape.m <= 2 * each]
    return [*few, *(each for each in (64, 128, 256) if each <= max(_WIDE_ROWS, most))]


def _columns(shape: ProductShape) -> list[int]:
    most = max(_LEAST, power_of_two(shape.n))
    return [each for each in (16, 32, 64, 128, 256) if each <= most]


def _depths(shape: ProductShape) -> list[int]:
    """The depths of a step to try. With several loops of the depth, a step must divide the innermost one."""
    inner = shape.sizes["k"][-1]
    several = len(shape.sizes["k"]) > 1
    most = max(_LEAST, power_of_two(shape.k))
    found = [each for each in (16, 32, 64, 128, 256) if each <= most and not (several and inner % each)]
    deep = [each for each in found if each >= 64]
    return deep or found[-1:]


def _one_row(shape: ProductShape, limits: Limits) -> Iterator[Knobs]:
    """Variants for one row, without tensor cores. A warp reads contiguous memory."""
    several, packed = len(shape.sizes["k"]) > 1, packed_product(shape)
    each = _bytes_of(shape, RIGHT) / (shape.batch * shape.n * shape.k)
    for bn, bk in product((2, 4, 8, 16, 32, 64, 128, 256), (16, 32, 64, 128, 256, 512, 1024)):
        if bn > max(2, power_of_two(shape.n)) or bk > max(_LEAST, power_of_two(shape.k)):
            continue
        narrow = shape.k * shape.n > 1 << 16 and not _reads_runs(shape, bn, bk)
        if narrow or (several and shape.sizes["k"][-1] % bk):
            continue
        for warps, stages in product((1, 2, 4, 8), (1, 2, 3, 4)):
            held = bn * bk / (warps * 32)
            tile = {"bn": bn, "bk": bk, "warps": warps, "stages": stages, "persistent": 0}
            most, wide = 32, bn // 2 if shape.gated else bn
            if stages == 1 and packed is not None and packed.fits(wide, bk):
                tile |= {"words": packed.sharing(wide, bk, 32 * warps)}
                most = MOST_HELD
            if 8 <= held <= most and bn * bk * each * stages <= SHARED_BYTES // 2:
                yield from (
                    knobs for split in (1, *_SPLITS)
                    if _divides(shape, knobs := {**tile, "split": split}, limits)
                )  # fmt: skip


def _divides(shape: ProductShape, knobs: Knobs, limits: Limits) -> bool:
    """Whether a tile of one row may divide the depth so often: not with halves, and if few would be busy."""
    split = knobs["split"]
    if split == 1:
        return True
    fits = not shape.gated and knobs["bn"] % split == 0 and shape.k // knobs["bk"] >= 4 * split
    few = tiles_of(shape, knobs) * split <= 4 * MULTIPROCESSORS
    return fits and few and partial_bytes(shape, knobs) <= limits.scratch_bytes


def _reads_runs(shape: ProductShape, bn: int, bk: int) -> bool:
    """Whether a tile of the right operand is read in runs of many bytes."""
    nest = shape.computed.get(RIGHT)
    if nest is not None:
        along, size = run_of_tile(nest, shape.n, shape.k, bn, bk)
        return size >= (_RUN_ALONG if along else _RUN)
    along = shape.steps[RIGHT]["k"][-1] == 1
    run = (bk if along else bn) * shape.bytes
    return run >= (_RUN_ALONG if along else 2 * _RUN if shape.gated else _RUN)


def _shared(shape: ProductShape, knobs: Knobs) -> int:
    """Bytes of a workgroup's shared memory for operands."""
    return (knobs.get("bm", 1) + knobs["bn"]) * knobs["bk"] * shape.bytes * knobs["stages"]


def estimate_ns(shape: ProductShape, knobs: Knobs) -> float:
    """The predicted time of a variant: the maximum for its slowest multiprocessor and for memory."""
    bm, bn, bk, split = knobs.get("bm", 1), knobs["bn"], knobs["bk"], knobs.get("split", 1)
    alone = tiles_alone(shape, knobs) if knobs.get("tail") else 0
    depth = -(-shape.k // bk) * bk / (1 if alone else split)
    own: float = -(-tiles_of(shape, knobs) * split // MULTIPROCESSORS)
    own = alone / _at_once(split) + 1 / split if alone else own
    left, right = (_bytes_of(shape, array) for array in (LEFT, RIGHT))
    each_left, each_right = (
        left / (shape.batch * shape.m * shape.k),
        right / (shape.batch * shape.n * shape.k),
    )
    step = bm * each_left + bn * each_right
    sides = [
        (shape.computed[array], size) for array, size in ((LEFT, bm), (RIGHT, bn)) if array in shape.computed
    ]
    made = sum(size for _, size in sides)
    together = 1
    if not knobs["persistent"]:
        held = step * bk * knobs["stages"] + made * bk * shape.bytes
        together = min(int(SHARED_BYTES // held), _THREADS // (32 * knobs["warps"]) // 2)
    together = max(1, min(own, together))
    rounds = -(-own // together)
    read = step * depth + (2 * bm * bn * _SUM_BYTES if split > 1 else 0)
    ahead = max(1, knobs["stages"] - 1) if "bm" in knobs else _ONE_ROW_AHEAD
    ahead = _ONE_ROW_IN_REGISTERS if knobs["stages"] == 1 else ahead
    if knobs.get("words"):
        ahead *= steps_at_once(bn, bk, 32 * knobs["warps"]) / MOST_STEPS
    flying = ahead * step * bk
    per_ns = _PER_NS if shape.bytes == 2 else _PER_NS / _PARTS_OF_F32
    computed = bn * depth * shape.bytes / _PLAIN_PER_NS if "bm" not in knobs else 2 * bm * bn * depth / per_ns
    small = _LEAST <= bm < _WIDE_ROWS
    if small:
        computed *= 2  # these instructions take operands from registers
    each = _TILE_NS * (0.6 if knobs.get("flatten") else 1.0) + (_MEETING_NS if split > 1 else 0.0)
    busy = max(own * computed, own * read / _READ_PER_NS, rounds * read * _LATENCY_NS / flying)
    making = sum(size * depth * _ns_of(nest, knobs, shape.k) for nest, size in sides)  # of one warp
    making *= _THROUGH_SHARED if "bm" in knobs and not knobs.get("turned") else 1.0
    busy = max(busy, rounds * making / knobs["warps"], own * making / _MOST_WARPS)
    if small and knobs["warps"] == _FEW_WARPS:
        busy *= _OF_FEW_WARPS
    own_ns = busy + rounds * each + own * _WORKGROUP_NS
    memory_ns = (left + right + _values(shape, RESULT) * _BYTES) / _MEMORY_PER_NS
    return _START_NS + (_TAIL if alone else 1.0) * max(own_ns, memory_ns) + _HIDDEN * min(own_ns, memory_ns)


def _repeats(shape: ProductShape) -> bool:
    """Whether an operand would be computed so often that writing and reading it takes less time."""
    others = {LEFT: shape.n, RIGHT: shape.m}
    counts = [(-(-others[array] // _TALLEST), nest) for array, nest in shape.computed.items()]
    return any(count > 1 and count * _ns_of(nest) > _APART_NS for count, nest in counts)


def _ns_of(nest: Nest, knobs: Knobs | None = None, depth: int = 1) -> float:
    """The time of a warp for an element that is computed; words along the depth need many rows."""
    if knobs is not None and knobs.get("words"):
        held = knobs["bn"] * knobs["bk"] / (32 * knobs["warps"])
        along, _ = run_of_tile(nest, nest.iterations // depth, depth, knobs["bn"], knobs["bk"])
        step = _OF_STEP_NS * (_ROWS_ALONG if along else 1.0)
        return _IN_WORDS_NS + step / held + _OF_GROUP_NS / knobs["words"]
    return _MADE_NS + _OP_NS * sum(each.op not in (INPUT, CONSTANT) for each in nest.terms)


def _bytes_of(shape: ProductShape, array: str) -> float:
    """The bytes of an operand, or of the arrays that it is computed of."""
    nest = shape.computed.get(array)
    if nest is None:
        return _values(shape, array) * shape.bytes
    bits = {term.input: ElementType.named(term.element).bits for term in nest.terms if term.op == INPUT}
    return sum(
        bits[number]
        / 8
        * math.prod(size for size, step in zip(nest.sizes, each.strides, strict=True) if step)
        for number, each in enumerate(nest.accesses)
    )


def _values(shape: ProductShape, array: str) -> int:
    steps = shape.steps[array]
    return math.prod(
        size
        for role, sizes in shape.sizes.items()
        for size, step in zip(sizes, steps[role], strict=True)
        if step
    )


def constants_of(shape: ProductShape) -> dict[str, object]:
    """The loops and their strides, as constants of the sources."""
    roles = {LEFT: ("batch", "m", "k"), RIGHT: ("batch", "n", "k")}
    steps = {name: tuple(shape.steps[name][role] for role in own) for name, own in roles.items()}
    loops = tuple(shape.sizes[role] for role in ("batch", "m", "n", "k"))
    return {"LOOPS": loops, "SOURCES": shape.sources, **steps, RESULT: placed(shape, RESULT)}


def placed(shape: ProductShape, array: str, first: int = 0) -> tuple[int, ...]:
    """Where an array begins, whether it has rows, its strides of batch, rows, columns; for the sources."""
    steps = shape.steps[array]
    rows = array == RESULT or any(steps["m"])
    return first, int(rows), *steps["batch"], *steps["m"], *steps["n"]


_GROUP = 8

_MOST_EXTRAS = 3  # operands of an epilogue
_ALONG = ("", "image", "group")  # what an operand is read along, besides columns
_ACTIVATIONS = (
    "relu", "relu_ordered", "at_most_6", "gelu", "gelu_tanh", "quick_gelu", "silu", "sigmoid",
)  # fmt: skip
_STEPS = (*WHOLE, *_ACTIVATIONS, "scale", "truncf", HALVES, EXCHANGED, GATED, COMPUTED, "moved")
_MOST_ARRAYS = 8
_PARAMETERS = (*(f"x{number}" for number in range(_MOST_ARRAYS)), "c", "partial")


class TritonGemm(TritonKernel):
    """Uses tensor cores with asynchronous or bulk copies: f16, bf16 or f32, in any layout.

    Sums have f32; where the program's are narrow, they are rounded at the end, before the epilogue. A product
    of f32 is the sum of three of TF32, which is as exact; with one of them the other operand may be narrow.
    """

    name = "triton_gemm"
    summary = "f16, bf16 and f32 products with epilogues, any layout, for Hopper, by Triton"
    computes_operands = finishes = True

    def refuses(self, problem: Problem) -> str:
        shape = product_shape(problem)
        if shape is None:
            return "it is not a product whose operands are read in place"
        sums = str(problem.workload.types[2])
        kinds = operand_types(problem)
        if unknown := next(filter(None, map(unknown_value, shape.computed.values())), ""):
            return f"it computes {unknown} for an operand"
        if _repeats(shape) and len({*map(str, problem.workload.types[:2])}) == 1:
            return "its rows are so many that an operand is better computed before, once"
        if not {*kinds} <= {*ELEMENTS} or sums not in ("f32", *({*kinds} if len({*kinds}) == 1 else ())):
            return f"its types are {', '.join((*kinds, sums))}, not f16, bf16 or f32"
        unknown = [
            step for step in problem.epilogue
            if step not in _STEPS and not (operation_of(step) and step.rpartition("_")[0] in _ALONG)
        ]  # fmt: skip
        if unknown:
            return f"its epilogue has {unknown[0]}, which is not one of {', '.join(_STEPS)}"
        if sum(map(bool, map(operation_of, problem.epilogue))) > _MOST_EXTRAS:
            return f"its epilogue has more than {_MOST_EXTRAS} operands"
        if len(problem.inputs) > _MOST_ARRAYS:
            return f"it reads {len(problem.inputs)} arrays"
        if why := triton_finish.refused(problem) or unfit_arrays(problem, NARROW):
            return why
        fits = next(variants(shape, Limits(2)), None)
        return "" if fits else "no tile divides its innermost reduction loop"

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        shape = product_shape(problem)
        added = not {*WHOLE}.isdisjoint(problem.epilogue) or triton_finish.reads_tiles(problem.finish)
        limits = Limits(_result_bytes(problem), scratch_room(problem), added)
        return () if shape is None else ordered(shape, limits)

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        shape = product_shape(problem)
        if shape is None or self.refuses(problem) or target.backend != self.backend:
            raise KernelError(f"{self.name} does not compute {problem.name} for {target}")
        shape = _seen(shape, knobs)
        function, constants = source_of(problem, shape, knobs)
        workgroups = workgroups_of(shape, knobs), 1, 1
        partial = partial_bytes(shape, knobs)
        return made_code(problem, function, constants, knobs, _PARAMETERS, workgroups, partial)


def _result_bytes(problem: Problem) -> int:
    return 4 if problem.result.element_type == "f32" else 2


def source_of(problem: Problem, shape: ProductShape, knobs: Knobs) -> tuple[Any, dict[str, object]]:
    """The function of a variant in `triton_source`, and its constants.

    Raises KernelError if the variant needs the copy engine, which cannot read the operands.
    """
    from iree_tuner.kernels import triton_source

    extras, named = [each for each in problem.epilogue if operation_of(each)], triton_finish.steps_of(problem)
    first = triton_finish.end_of_named(problem) - len(extras)
    operands = tuple(first + extras.index(step) if step in extras else -1 for step in named)
    steps = tuple(operation_of(step) or step for step in named)
    groups = iter(problem.groups)
    firsts = [next(groups).first if step.startswith("group_") else 0 for step in extras]
    read = ((),) * first + tuple(placed(shape, f"{EXTRA}{at}", each) for at, each in enumerate(firsts))
    cut = next((at for at, step in enumerate(steps) if step in (HALVES, EXCHANGED)), len(steps))
    constants: dict[str, object] = {
        **constants_of(shape),
        "STEPS": steps[:cut], "OPERANDS": operands, "SCALE": problem.scale, "GATE": steps[cut:],
        "EXTRAS": read, "COLUMNS": shape.n, "DEPTH": shape.k, "BN": knobs["bn"], "BK": knobs["bk"],
    }  # fmt: skip
    full = shape.m % knobs.get("bm", 1) == 0, shape.n % knobs["bn"] == 0
    nest = shape.finishes[0] if shape.finishes else None
    constants["FINISH"] = triton_finish.function_of(nest, (shape.m, shape.n), full, _MOST_ARRAYS)
    constants |= {"ROWS": shape.m, "BM": knobs["bm"], "GROUP": _GROUP} if "bm" in knobs else {}
    if not knobs["persistent"]:
        sides = (LEFT, shape.m, knobs.get("bm", 1)), (RIGHT, shape.n, _width_of(shape, knobs))
        constants["COMPUTED"] = tuple(
            function_of_tile(*_tile_of(shape, array, (size, block), knobs))
            if array in shape.computed
            else None
            for array, size, block in sides
        )
        if "bm" not in knobs:
            return triton_source.one_row, {**constants, **_of_one_row(problem, shape, knobs)}
        whole = tiles_alone(shape, knobs) if knobs["split"] > 1 else 0
        return triton_source.plain, {**constants, "SPLIT": knobs["split"], "WHOLE": whole}
    engine = engine_of(shape, _result_bytes(problem))
    if engine is None:
        raise KernelError("the copy engine cannot read its operands")
    return triton_source.persistent, {
        **constants, "LEFT": _form(engine.left), "RIGHT": _form(engine.right),
        "OUT": None if engine.result is None else _form(engine.result),
        "TURNED": (engine.left.turned, engine.right.turned), "TILES": tiles_of(shape, knobs),
        "WORKGROUPS": workgroups_of(shape, knobs), "PARTS": knobs["parts"], "FLATTEN": bool(knobs["flatten"]),
    }  # fmt: skip


def _width_of(shape: ProductShape, knobs: Knobs) -> int:
    """The columns of a tile that follow each other: of a gated product, those of a half."""
    return knobs["bn"] // 2 if shape.gated else knobs["bn"]


def _of_one_row(problem: Problem, shape: ProductShape, knobs: Knobs) -> dict[str, object]:
    """The constants that only products of one row have."""
    in_parts: tuple[object, object] = (None, None)
    wide = _width_of(shape, knobs)
    words, block, tile = None, 0, (wide, knobs["bk"])
    packed = packed_product(shape) if knobs.get("words") else None
    if packed is not None:
        left = operand_types(problem)[shape.exchanged]
        words, block = functions_of_words(packed, *tile, 32 * knobs["warps"], knobs["words"], left)
    elif RIGHT in shape.computed and knobs["stages"] == 1:
        in_parts = functions_of_tile(*_tile_of(shape, RIGHT, (shape.n, wide), knobs))
    return {
        "SPLIT": knobs["split"], "STAGES": knobs["stages"], "IN_PARTS": in_parts, "WORDS": words,
        "BLOCK": block,
    }  # fmt: skip


def _tile_of(
    shape: ProductShape, array: str, side: tuple[int, int], knobs: Knobs
) -> tuple[Nest, int, int, int, int, range]:  # fmt: skip
    """The arguments of `function_of_tile` for an operand; `side` has its rows or columns, and a tile's."""
    nest = shape.computed[array]
    nest = nest if "bm" in knobs else in_f32(nest, "f32")
    return nest, side[0], shape.k, side[1], knobs["bk"], range(_MOST_ARRAYS)


def _form(matrices: Matrices) -> tuple[int, ...]:
    return matrices.count, matrices.rows, matrices.columns, matrices.distance, matrices.step
