"""Fused attention for NVIDIA GPUs, by Triton: scores never leave the multiprocessor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from iree_tuner.kernels.attention_shape import AttentionShape, attention_shape
from iree_tuner.kernels.kernel import Code, Knobs
from iree_tuner.kernels.problem import KernelError, Problem
from iree_tuner.kernels.triton_code import ELEMENTS, SHARED_BYTES, TritonKernel, code_of, compiled
from iree_tuner.targets import Target

_MULTIPROCESSORS = 132  # of an H100 SXM and an H200
_LEAST_WIDTH, _WIDEST = 16, 256  # of heads; tensor cores take no less
_MOST_VALUES = (1 << 31) - 1
_MOST_BATCH = 65_535  # workgroups in y: CUDA C++ Programming Guide, technical specifications
_SCRATCH, _PARAMETERS = 4, ("q", "k", "v", "out")
_LOG2_E = math.log2(math.e)


class TritonAttention(TritonKernel):
    """f16 and bf16, any order of dimensions, with f32 sums: a pass over the keys for a tile of queries."""

    name = "triton_attention"
    summary = "f16 and bf16 attention in one pass, any layout, for Hopper, by Triton"

    def refuses(self, problem: Problem) -> str:
        """What is no attention, and other types and widths."""
        shape = attention_shape(problem)
        if shape is None:
            return "it is not attention"
        types = [each.element_type for each in (*problem.inputs, problem.result)]
        if len(set(types[:3])) > 1 or types[0] not in ("f16", "bf16") or types[3] not in ELEMENTS:
            return f"its types are {', '.join(types)}, not f16 or bf16"
        if not all(_LEAST_WIDTH <= each <= _WIDEST for each in (shape.k1, shape.n)):
            return f"its heads are {shape.k1} and {shape.n} wide, not {_LEAST_WIDTH} to {_WIDEST}"
        if max(math.prod(each.shape) for each in (*problem.inputs, problem.result)) > _MOST_VALUES:
            return "an array has too many values for offsets of 32 bits"
        return "" if math.prod(shape.batch) <= _MOST_BATCH else "it has too many heads"

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        """Tiles whose operands fit into shared memory, promising ones first."""
        del target
        shape = _shape(problem)
        return tuple(sorted(_variants(shape), key=lambda each: _misfit(shape, each)))

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        """Compile the source for a problem. Raises KernelError where Triton refuses it."""
        if self.refuses(problem) or target.backend != self.backend:
            raise KernelError(f"{self.name} does not compute {problem.name} for {target}")
        from iree_tuner.kernels import triton_source

        shape = _shape(problem)
        kinds = [ELEMENTS[each.element_type] for each in (*problem.inputs, problem.result)]
        constants: dict[str, object] = {
            "BATCH": shape.batch, "M": shape.m, "N": shape.n, "K1": shape.k1, "K2": shape.k2,
            **shape.batch_steps, **{f"IN_{name}": each for name, each in shape.steps.items()},
            "AFTER": problem.after, "SCALE": problem.scale * _LOG2_E, "BM": knobs["bm"], "BK": knobs["bk"],
            "WIDTH": _padded(shape.k1), "WIDTH_V": _padded(shape.n),
        }  # fmt: skip
        pointers = dict(zip(_PARAMETERS, kinds, strict=True))
        made = compiled(triton_source.attention, pointers, constants, knobs)
        workgroups = (-(-shape.m // knobs["bm"]), math.prod(shape.batch), 1)
        return code_of(made, range(_SCRATCH), _SCRATCH, workgroups, knobs)


def _shape(problem: Problem) -> AttentionShape:
    shape = attention_shape(problem)
    assert shape is not None, "`refuses` has looked"
    return shape


def _padded(width: int) -> int:
    """Tiles have sizes that are powers of two."""
    return 1 << (width - 1).bit_length()


def _variants(shape: AttentionShape) -> Iterator[Knobs]:
    width, width_v = _padded(shape.k1), _padded(shape.n)
    for bm, bk, warps, stages in product((16, 32, 64, 128), (16, 32, 64, 128), (4, 8), (1, 2, 3, 4)):
        if bm > max(16, _padded(shape.m)) or bk > max(16, _padded(shape.k2)):
            continue
        if not 8 <= bm * max(bk, width_v) / (warps * 32) <= 192 or (warps == 8 and bm < 128):
            continue
        if 2 * (bm * width + stages * bk * (width + width_v)) > SHARED_BYTES:
            continue
        yield {"bm": bm, "bk": bk, "warps": warps, "stages": stages}


def _misfit(shape: AttentionShape, knobs: Knobs) -> tuple[float, ...]:
    """Small for what is probably fast: full waves of workgroups, few masked keys, large tiles."""
    tiles = -(-shape.m // knobs["bm"]) * math.prod(shape.batch)
    waves = -(-tiles // _MULTIPROCESSORS) * _MULTIPROCESSORS / tiles
    keys = -(-shape.k2 // knobs["bk"]) * knobs["bk"] / shape.k2
    rows = -(-shape.m // knobs["bm"]) * knobs["bm"] / shape.m
    traffic = 1 + 32 / knobs["bm"] + 16 / knobs["bk"]
    return (waves * keys * rows * traffic, abs(knobs["stages"] - 3))
