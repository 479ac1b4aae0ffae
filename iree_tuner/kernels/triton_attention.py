"""Fused attention for NVIDIA GPUs, by Triton. Scores never leave the multiprocessor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from iree_tuner.kernels.kernel import Code, KernelError, Knobs, Problem, scratch_room
from iree_tuner.kernels.nest import Access, Nest, power_of_two
from iree_tuner.kernels.shapes import AttentionShape, attention_shape
from iree_tuner.kernels.triton_code import (
    ELEMENTS,
    MOST_VALUES,
    SHARED_BYTES,
    TritonKernel,
    code_of,
    compiled,
)
from iree_tuner.kernels.triton_scores import MOST_ADDED, refused, summand_of
from iree_tuner.kernels.triton_tiles import arrays_of, function_of_tile
from iree_tuner.targets import Target

_MULTIPROCESSORS = 132  # of an H100 SXM and an H200
_AT_ONCE = 2  # workgroups on one, so that one computes powers while the other multiplies
_LEAST_WIDTH, _WIDEST = 16, 256  # widths of heads; 16 is the least for tensor cores
_MOST_BATCH = 65_535  # workgroups in y: CUDA C++ Programming Guide, technical specifications
_READ = ("Q", "K", "V", "K_LATER", "V_LATER")
_ARRAYS = tuple(f"x{number}" for number in range(MOST_ADDED))
_WRITTEN = ("out", "parts")
_OF_BIAS = {**ELEMENTS, "i1": "*i8"}
_BYTES = {"i1": 1, "f16": 2, "bf16": 2, "f32": 4}
_CLUSTER = 8  # workgroups that any GPU of compute capability 9.0 takes in a cluster
_LEAST_PART = 128  # keys: for smaller parts, combining takes longer than reading
_COMBINED = 64  # keys that take as long as combining a part, by estimate
_LOG2_E = math.log2(math.e)
_MOST_HELD, _SPILLED = 160, 1.7  # f32 values of a thread; time beyond them, by estimate
_HOPPERS_ROWS, _OLDER = 64, 1.5  # rows of a `wgmma`; time of products without it, by estimate


class TritonAttention(TritonKernel):
    """Computes a tile of queries in one pass over the keys, with f32 sums, in any layout."""

    name = "triton_attention"
    summary = "f16, bf16 and f32 attention in one pass, any layout, for Hopper, by Triton"

    def refuses(self, problem: Problem) -> str:
        """Other ops, other types, and other widths of heads."""
        shape = attention_shape(problem)
        if shape is None:
            return "it is not attention"
        types = {name: problem.inputs[source].element_type for name, source in shape.sources.items()}
        bias, result = types.pop("BIAS", "f32"), problem.result.element_type
        if len({*types.values()}) > 1 or types["Q"] not in ELEMENTS or result not in ELEMENTS:
            return f"its types are {', '.join((*types.values(), result))}, not f16, bf16 or f32"
        if bias not in _OF_BIAS:
            return f"its bias is {bias}"
        if reason := refused(problem):
            return reason
        if not all(_LEAST_WIDTH <= each <= _WIDEST for each in (shape.k1, shape.n)):
            return f"its heads are {shape.k1} and {shape.n} wide, not {_LEAST_WIDTH} to {_WIDEST}"
        if max(math.prod(each.shape) for each in (*problem.inputs, problem.result)) > MOST_VALUES:
            return "an array has too many values for offsets of 32 bits"
        return "" if math.prod(shape.batch) <= _MOST_BATCH else "it has too many heads"

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        shape = _shape(problem)
        arrays = arrays_of(_summand(problem, shape))
        more = sum(_BYTES[problem.inputs[each].element_type] for each in arrays)
        own = _BYTES[problem.inputs[shape.sources["Q"]].element_type]
        found = _variants(shape, problem.masks, (own, more), scratch_room(problem))
        return tuple(sorted(found, key=lambda each: _misfit(shape, each)))

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        if self.refuses(problem) or target.backend != self.backend:
            raise KernelError(f"{self.name} does not compute {problem.name} for {target}")
        from iree_tuner.kernels import triton_attention_source

        shape, splits, cap = _shape(problem), knobs["splits"], problem.cap
        own, summand = ELEMENTS[problem.inputs[shape.sources["Q"]].element_type], _summand(problem, shape)
        arrays = arrays_of(summand)
        read = [_OF_BIAS[problem.inputs[each].element_type] for each in arrays]
        kinds = [*([own] * len(_READ)), *read, *([own] * (MOST_ADDED - len(read)))]
        kinds += [ELEMENTS[problem.result.element_type], ELEMENTS["f32"]]
        parameters = [*map(str.lower, _READ), *_ARRAYS, *_WRITTEN]
        pointers: dict[str, str] = dict(zip(parameters, kinds, strict=True))
        sources = [shape.sources.get(name, -1) for name in _READ]
        constants: dict[str, object] = {
            "BATCH": shape.batch, "M": shape.m, "N": shape.n, "K1": shape.k1, "K2": shape.k2,
            **{name: shape.batch_steps.get(name, (0,) * len(shape.batch)) for name in (*_READ, "OUT")},
            **{f"IN_{name}": shape.steps.get(name, (0, 0)) for name in (*_READ, "OUT")},
            "AFTER": problem.after, "BEFORE": problem.before,
            "SCALE": problem.scale * _LOG2_E * (1.0 if cap is None else 2.0),
            "CAP": None if cap is None else cap * _LOG2_E, "BM": knobs["bm"], "BK": knobs["bk"],
            "WIDTH": power_of_two(shape.k1), "WIDTH_V": power_of_two(shape.n), "SPLITS": splits,
            "CLUSTER": splits > 1, "EARLIER": shape.earlier,
            "SOURCES": tuple(map(sources.index, sources)),
            "STARTS": tuple(shape.starts.get(name, 0) for name in _READ),
            "ADDED": None if summand is None
            else function_of_tile(summand, shape.m, shape.k2, knobs["bm"], knobs["bk"]),
        }  # fmt: skip
        made = compiled(triton_attention_source.attention, pointers, constants, knobs)
        x, y = -(-shape.m // knobs["bm"]), math.prod(shape.batch)
        written = _WRITTEN if splits > 1 else _WRITTEN[:1]
        given = [*sources, *arrays]
        bound = [*map(given.index, range(len(problem.inputs))), *map(parameters.index, written)]
        partial = x * y * _part_bytes(shape, knobs) if splits > 1 else 0
        workgroups = splits * x, y, 1
        return code_of(
            problem, made, bound, len(parameters), workgroups, knobs, cluster=splits, partial_bytes=partial
        )  # fmt: skip


def _part_bytes(shape: AttentionShape, knobs: Knobs) -> int:
    """Bytes of scratch memory for the partial results of one tile of queries, in f32."""
    return knobs["splits"] * knobs["bm"] * (power_of_two(shape.n) + 2) * 4


def _shape(problem: Problem) -> AttentionShape:
    """The problem's shape. Heads with a single query that share keys and values become rows of queries."""
    shape = attention_shape(problem)
    assert shape is not None, "`refuses` has looked"
    alike = [
        at for at, steps in enumerate(zip(*shape.batch_steps.values(), strict=True)) if steps[1:3] == (0, 0)
    ]
    if shape.m > 1 or problem.masks or problem.added is not None or not alike:
        return shape
    most = max(alike, key=lambda at: shape.batch[at])
    rows = {name: (steps[most], shape.steps[name][1]) for name, steps in shape.batch_steps.items()}
    rows |= {name: shape.steps[name] for name in ("K", "V")}
    left = {name: (*steps[:most], *steps[most + 1 :]) for name, steps in shape.batch_steps.items()}
    batch = (*shape.batch[:most], *shape.batch[most + 1 :])
    return replace(shape, batch=batch, m=shape.batch[most], batch_steps=left, steps=rows)


def _summand(problem: Problem, shape: AttentionShape) -> Nest | None:
    """What is added to scores; a bias or a mask, which is an operand of its own, as well."""
    if "BIAS" not in shape.sources:
        return problem.added
    kind = problem.inputs[shape.sources["BIAS"]].element_type
    strides = (*shape.batch_steps["BIAS"], *shape.steps["BIAS"])
    read = Access(shape.sources["BIAS"], shape.starts["BIAS"], strides)
    return summand_of(read, kind, (*shape.batch, shape.m, shape.k2))


def _variants(
    shape: AttentionShape, causal: bool, sizes: tuple[int, int], room: int
) -> Iterator[Knobs]:  # fmt: skip
    """Tiles that fit; `sizes` are bytes of an operand's element, and of what is added to a score."""
    own, added = sizes
    width, width_v = power_of_two(shape.k1), power_of_two(shape.n)
    for bm, bk, warps, stages in product((16, 32, 64, 128), (16, 32, 64, 128), (1, 2, 4, 8), (1, 2, 3, 4)):
        if bm > max(16, power_of_two(shape.m)) or bk > max(16, power_of_two(shape.k2)):
            continue
        values = bm * max(bk, width_v)
        if not 8 <= values / (warps * 32) <= 192 or (warps == 8 and bm < 128):
            continue
        if warps < 4 and values >= 8 * 4 * 32:  # only tiles that are too small for four warps
            continue
        loaded = own * (width + width_v) + added * bm  # for each key
        if own * bm * width + stages * bk * loaded > SHARED_BYTES:
            continue
        for splits in (1, 2, 4, _CLUSTER):
            knobs = {"bm": bm, "bk": bk, "warps": warps, "stages": stages, "splits": splits}
            if splits == 1 or (not causal and _splits(shape, knobs, room)):
                yield knobs


def _splits(shape: AttentionShape, knobs: Knobs, room: int) -> bool:
    """Whether splitting the keys may pay, because too few workgroups would be busy without it."""
    tiles = -(-shape.m // knobs["bm"]) * math.prod(shape.batch)
    scratch = tiles * _part_bytes(shape, knobs)
    few = tiles * knobs["splits"] <= _MULTIPROCESSORS * _AT_ONCE
    long = shape.k2 >= knobs["splits"] * max(2 * knobs["bk"], _LEAST_PART)
    return few and long and scratch <= room


def _misfit(shape: AttentionShape, knobs: Knobs) -> tuple[float, ...]:
    """A sort key, small for promising variants: full waves of workgroups, few masked keys, large tiles.

    Hopper's instructions for products take 64 rows. With fewer, those of older processors are used. Scores
    and results that registers do not hold go through memory (H200: 352 us with 4 warps and 155 with 8 for
    tiles of 128 x 128 and heads of 128).
    """
    tiles = -(-shape.m // knobs["bm"]) * math.prod(shape.batch) * knobs["splits"]
    waves = -(-tiles // _MULTIPROCESSORS) * _MULTIPROCESSORS / tiles
    combined = knobs["splits"] * _COMBINED if knobs["splits"] > 1 else 0
    keys = (-(-shape.k2 // knobs["bk"]) * knobs["bk"] + combined) / shape.k2
    rows = -(-shape.m // knobs["bm"]) * knobs["bm"] / shape.m
    traffic = 1 + 32 / knobs["bm"] + 16 / knobs["bk"]
    held = knobs["bm"] * (knobs["bk"] + power_of_two(shape.n)) / (knobs["warps"] * 32)
    spilled = _SPILLED if held > _MOST_HELD else 1.0
    older = _OLDER if knobs["bm"] < _HOPPERS_ROWS else 1.0
    return (waves * keys * rows * traffic * older * spilled, abs(knobs["stages"] - 3))
