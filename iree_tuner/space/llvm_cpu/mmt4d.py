"""Data-tiled contractions through Mmt4dTilingExpert: how many of their tiles go together.

`linalg.mmt4d` multiplies matrices of tiles: its outer loops m1, n1, k1 walk the tiles, its inner loops m0,
n0, k0 the elements of one. How large a tile is, the compiler decides when it chooses encodings, before there
are dispatches. Source: getMmt4dLoweringConfig in LLVMCPU/KernelDispatch.cpp, and
addMmt4dTilingExpertPassPipeline in LLVMCPU/Passes.cpp.

Where the target's microkernel takes the types, it is called on the tiles that `vector_common_parallel` puts
together, with the loop over k1 inside. Elsewhere the tiles are vectorized.

Attributes without a knob are refused by the compiler, or change no byte of code:

* the inner loops. With smaller vector tiles a workgroup's result is not unpacked tile by tile but in one
  vector as large as itself, which the compiler refuses from 32 KiB on.
* the batch's vector tile: unpacking 2 x 3 x 3 tiles of 16x16 compiles for more than a minute.
* `vector_reduction`, where the microkernel is called.
* cache tiles, `vector_inner_parallel` and peeling: the pipeline does not look at them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from iree.compiler import ir

from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints, level
from iree_tuner.space.expressions import Integer, product, require
from iree_tuner.space.llvm_cpu.attributes import LOWERING_CONFIG, pipeline
from iree_tuner.space.llvm_cpu.multi_tiling import coarseness_for, require_small_vector, tile_knob
from iree_tuner.targets import CpuLimits

_INNER = 3  # m0, n0, k0: the last loops
_MICROKERNEL_TYPES = {
    ("f32", "f32", "f32"), ("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32"),
    ("bf16", "bf16", "bf16"), ("i8", "i8", "i32"), ("i8", "i4", "i32"), ("i16", "i16", "i32"),
    ("i16", "i8", "i32"),
}  # fmt: skip
"""Source: matchDAGForUKernel of Mmt4DOp, Common/CPU/CPULowerToUKernels.cpp."""

_UNROLLED = 64
"""Vector multiplications that may be unrolled: 64 compile in up to 5 s, 256 in up to 28 s, 496 in
more than a minute (f32 tiles of 16x16)."""


def mmt4d_constraints(workload: Workload, limits: CpuLimits, context: ir.Context) -> ir.Module:
    """The constraints op of a contraction on packed operands."""
    count = len(workload.loops) - _INNER
    k1 = count - 1
    spread = range(k1)  # the distributed loops: a batch, m1, n1
    vectorized = not (limits.mmt4d_microkernel and tuple(map(str, workload.types)) in _MICROKERNEL_TYPES)
    grouped = [*workload.role("m")[:1], *workload.role("n")[:1], *([k1] if vectorized else [])]

    def fill() -> Mapping[str, ir.Attribute]:
        coarseness = _coarseness(workload, [*spread, *([k1] if vectorized else [])], limits)
        vector = _declare(workload, "vector", grouped, coarseness)
        distribution = _declare(workload, "distribution", spread, coarseness)
        for loop in distribution.keys() & vector.keys():
            message = f"vector_{loop} ({{}}) must not exceed distribution_{loop} ({{}})"
            require(vector[loop] <= distribution[loop], message, vector[loop], distribution[loop])
        # The tiles of the result that go together are unpacked as one vector.
        together: list[Integer | int] = [tile for loop, tile in vector.items() if loop != k1]
        together += workload.loops[-_INNER:-1]
        require_small_vector(together, workload.types[-1], "the accumulator", limits)
        if vectorized:
            _limit_unrolling(workload, list(vector.values()), limits)
        return {LOWERING_CONFIG: ir.DictAttr.get(_levels(workload, distribution, vector))}

    return build_constraints(pipeline("Mmt4dTilingExpert", context), fill, context)


def _coarseness(workload: Workload, loops: Sequence[int], limits: CpuLimits) -> int:
    outer = replace(
        workload,
        loops=tuple(workload.loops[loop] for loop in loops),
        iterators=tuple(workload.iterators[loop] for loop in loops),
    )
    m0, n0, _ = workload.loops[-_INNER:]
    tile_bytes = m0 * n0 * workload.types[-1].bytes
    return coarseness_for(outer, max(2, limits.max_stack_bytes // tile_bytes))


def _declare(workload: Workload, level: str, loops: Sequence[int], coarseness: int) -> dict[int, Integer]:
    """A knob for each of the loops that has more than one step."""
    sizes = {loop: workload.loops[loop] for loop in loops if workload.loops[loop] > 1}
    return {loop: tile_knob(f"{level}_{loop}", size, coarseness) for loop, size in sizes.items()}


def _levels(
    workload: Workload, distribution: Mapping[int, Integer], vector: Mapping[int, Integer]
) -> dict[str, ir.Attribute]:
    """The knobs, 1 on the other outer loops, and the inner loops whole."""
    count = len(workload.loops) - _INNER

    def of(
        name: str, knobs: Mapping[int, Integer], loops: Sequence[int], inner: Sequence[int]
    ) -> ir.Attribute:
        tiles = {loop: f"{name}_{loop}" if loop in knobs else 1 for loop in loops}
        return level(tiles | {loop: workload.loops[loop] for loop in inner}, len(workload.loops))

    spread = range(count - 1)
    return {
        "distribution": of("distribution", distribution, spread, ()),
        "vector_common_parallel": of("vector", vector, spread, (count, count + 1)),
        "vector_reduction": of("vector", vector, (count - 1,), (count + 2,)),
    }


def _limit_unrolling(workload: Workload, tiles: Sequence[Integer], limits: CpuLimits) -> None:
    """Without the microkernel every multiplication of the vector tile is unrolled."""
    inner = math.prod(workload.loops[-_INNER:])
    once = inner * workload.types[-1].bytes
    limit = max(once, min(_UNROLLED * limits.native_vector_bytes, limits.max_stack_bytes - 1))
    size = product([*tiles, once])
    require(size <= limit, f"{{}} bytes of products compile for too long: at most {limit} are unrolled", size)
