"""Generic ops on CUDA and ROCm: TileAndFuse, each thread with results of its own; shared reductions of rows.

Elementwise ops and transposes, softmaxes and norms, and products that no family recognises, such as a
convolution of size 1 with a stride, whose indexing map has factors. The compiler shares each sum of such a
product among the lanes of a subgroup, which is slow where there are many of them, and in 3.13 wrong on CUDA
(docs/upstream/cuda_strided_reduction.md): these are not shared here.
"""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.workload import Workload
from iree_tuner.space.gpu.matrix import fused_constraints
from iree_tuner.space.gpu.simt import simt_constraints
from iree_tuner.targets import GpuLimits

_FILL = "fill"


def generic_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> list[ir.Module]:
    """TileAndFuse, and VectorDistribute where subgroups share reductions or matrix instructions fit.

    None for floats of a byte or less, for products together with other reductions, and for copies between
    buffers, which these pipelines do not tile.
    """
    if facts_of(workload.dag).on_buffers:
        return []
    product = _is_product(workload)
    beside = [companion for companion in workload.companions if _FILL not in companion.op]
    if product and any("reduction" in companion.iterators for companion in beside):
        return []
    if any(kind.is_small_float for kind in workload.types):
        return []
    fused = fused_constraints(workload, limits, context)
    return [*fused, *simt_constraints(workload, limits, context, shared=not product)]


def _is_product(workload: Workload) -> bool:
    """Whether values are read for several results each, and summed."""
    open_loops = {each.loop for each in workload.dynamic}
    many = [size > 1 or loop in open_loops for loop, size in enumerate(workload.loops)]
    kinds = list(enumerate(workload.iterators))
    wide = {loop for loop, kind in kinds if kind == "parallel" and many[loop]}
    reduced = {loop for loop, kind in kinds if kind == "reduction" and many[loop]}
    inputs = [set(each.loops) for each in workload.maps[:-1]]
    factors = [loops for loops in inputs if loops & reduced]
    return len(factors) >= 2 and not any(wide <= loops for loops in factors)
