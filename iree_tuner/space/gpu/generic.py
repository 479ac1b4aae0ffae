"""Generic ops that are products and sums, on CUDA and ROCm: TileAndFuse, each thread with sums of its own.

What no family recognises and is a product all the same: a convolution of size 1 with a stride, for one,
whose indexing map has factors. The compiler shares each sum among the lanes of a subgroup, which is slow
where there are many of them, and in 3.13 wrong on CUDA (docs/upstream/cuda_strided_reduction.md).
"""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.ops.workload import Workload
from iree_tuner.space.gpu.operands import bits_of, operand_loops
from iree_tuner.space.gpu.simt import simt_constraints
from iree_tuner.targets import GpuLimits

_FILL = "fill"
_LEAST_BITS = 16
"""Floats with fewer are not converted without a matrix instruction (`space.gpu.spaces`)."""


def generic_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> list[ir.Module]:
    """One op, TileAndFuse, for products; none for anything else."""
    return simt_constraints(workload, limits, context) if _is_product(workload) else []


def _is_product(workload: Workload) -> bool:
    """Whether values are read for several results each and summed, with nothing but elementwise ops around.

    Sums whose values are read once are better shared by threads than taken by one of them.
    """
    kinds = list(enumerate(workload.iterators))
    wide = {loop for loop, kind in kinds if kind == "parallel" and workload.loops[loop] > 1}
    reduced = {loop for loop, kind in kinds if kind == "reduction" and workload.loops[loop] > 1}
    inputs = [set(operand_loops(workload, operand)) for operand in range(len(workload.types) - 1)]
    factors = [loops for loops in inputs if loops & reduced]
    if len(factors) < 2 or any(wide <= loops for loops in factors):
        return False
    if any(kind.startswith("f") and bits_of(kind) < _LEAST_BITS for kind in workload.types):
        return False
    return all(
        _FILL in companion.op or "reduction" not in companion.iterators for companion in workload.companions
    )
