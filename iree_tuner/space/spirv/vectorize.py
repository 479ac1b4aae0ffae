"""Tiles in registers, with vector loads: BaseVectorize.

Levels: the workgroup's tiles, a thread's, and the reduction's. (The fourth that the compiler writes for named
convolutions cuts the window; convolutions are generic ops when they get here, and it changes nothing.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints
from iree_tuner.space.spirv.attributes import pipeline
from iree_tuner.space.spirv.tiling import (
    SpirvTiling,
    power_divisors,
    reduction_tiles,
    thread_counts,
    thread_tiles,
)
from iree_tuner.targets import GpuLimits

_SHORT_VECTORS = ("bf16",)
"""Types with vectors of up to four: more fail with "failed to legalize operation 'vector.bitcast'"."""


@dataclass(frozen=True)
class Unrolled:
    """The most code for one thread: iterations, and steps of each reduction loop, at once.

    `single` is the role whose loop a workgroup has one iteration of, if it is one loop.
    """

    iterations: int = 256
    steps: int = 16
    single: str = ""


_USUAL = Unrolled()


def vectorize_constraints(
    workload: Workload, limits: GpuLimits, context: ir.Context, unrolled: Unrolled = _USUAL
) -> ir.Module | None:
    """The constraints op; None for ops that do not vectorize."""
    if not _vectorizable(workload):
        return None

    def fill() -> Mapping[str, ir.Attribute]:
        single = workload.role(unrolled.single)
        tiling = SpirvTiling(workload, limits, single=[loop for loop in single if len(single) == 1])
        for loop in tiling.tiled:
            _declare_tile(tiling, loop)
        for loop, kind in enumerate(workload.iterators):
            if kind == "reduction":
                tiling.declare_reduction(loop, _reduction(workload, loop, unrolled.steps))
        tiling.limit_threads()
        tiling.limit_unrolling(unrolled.iterations)
        tiling.declare_subgroup_size()
        tiling.declare_swap()
        levels = [tiling.workgroup_level(), tiling.thread_level()]
        if any(tiling.reduction_level()):
            levels.append(tiling.reduction_level())
        return tiling.knobs(levels)

    return build_constraints(pipeline("BaseVectorize", context), fill, context)


def _vectorizable(workload: Workload) -> bool:
    """`setDefaultOpConfig` in KernelConfig.cpp; sizes must divide, so that no loop has a remainder.

    Tensors of up to 32 bits (64-bit integers are emulated one by one, `SPIRVEmulateI64`). Ops that are
    matched by structure must have maps that only permute, and must not use the loops' positions. A
    convolution's maps add two loops; it is vectorized along the others.
    """
    kinds = all(8 <= kind.bits <= 32 for kind in workload.types)
    if workload.dag:
        dag = facts_of(workload.dag)
        kinds = (
            kinds
            and not dag.on_buffers
            and not dag.uses_indices
            and all(each.is_permutation for each in workload.maps)
        )
    long = [size for size, kind in zip(workload.loops, workload.iterators, strict=True) if kind == "parallel"]
    return kinds and any(size > 1 for size in long)


def _declare_tile(tiling: SpirvTiling, loop: int) -> None:
    """The innermost tile is a row of vectors: a power of two, of one vector where nothing is reused."""
    size = tiling.workload.loops[loop]
    counts = thread_counts(size, tiling.most_threads(loop))
    innermost = loop == tiling.tiled[0]
    if tiling.workload.dag:
        # A wider vector is left as it is where results are reduced, and then cannot become SPIR-V.
        elements = power_divisors(size, 4)
    else:
        most = 4 if _has_short_vectors(tiling.workload) else 16
        elements = power_divisors(size, most) if innermost else thread_tiles(size)
    tiling.declare_tile(loop, elements, counts)


def _reduction(workload: Workload, loop: int, most: int) -> list[int]:
    """Steps at once. A filter's loop is taken in single steps or whole; the rest in powers of two."""
    size = workload.loops[loop]
    if loop in workload.role("filter"):
        return sorted({1, size}) if size <= 5 else [1]
    if _has_short_vectors(workload):
        return power_divisors(size, 4)
    return reduction_tiles(size, most)


def _has_short_vectors(workload: Workload) -> bool:
    return any(kind.name in _SHORT_VECTORS for kind in workload.types)
