"""Contractions through DoubleTilingExpert: distribution, then vector tiles within it; packed ones: mmt4d."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from iree_tuner.ops.contraction import packed_name
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints
from iree_tuner.space.expressions import integer, product, require
from iree_tuner.space.llvm_cpu.attributes import pipeline
from iree_tuner.space.llvm_cpu.mmt4d import mmt4d_constraints
from iree_tuner.space.llvm_cpu.multi_tiling import Tiling
from iree_tuner.targets import CpuLimits

_LONGEST_SCALAR_REDUCTION = 512
_MOST_VECTORS = 512


def contraction_constraints(workload: Workload, limits: CpuLimits, context: ir.Context) -> ir.Module:
    """The constraints op of a contraction."""
    if packed_name(workload.maps):
        return mmt4d_constraints(workload, limits, context)

    def fill() -> Mapping[str, ir.Attribute]:
        tiling = Tiling(workload, limits, cached=True)
        tiling.declare_tiles()
        tiling.limit_contract()
        _limit_unrolling(tiling)
        _limit_vectors(tiling)
        tiling.declare_peeling()
        return tiling.knobs()

    return build_constraints(pipeline("DoubleTilingExpert", context), fill, context)


def _limit_vectors(tiling: Tiling) -> None:
    """A tile becomes a multiply-add of vectors along the result's rows for each of its other elements.

    Each takes five to twelve operations before LLVM. Of 100 sampled tiles of a 512x768x1024 f32 matmul, the
    10 of more than 1024 vectors had 8,000 to 29,000 of these, 8 times what the default has, or were not
    unrolled within a minute. In 11 recorded contractions (recordings/llvm-cpu, taken with that limit) half
    of the 237 with more than 512 were given up, and the others reach 7 to 49 % of the best one's speed.
    """
    workload, limits = tiling.workload, tiling.limits
    if not workload.role("n") or not workload.role("m"):
        return
    row = workload.role("n")[-1]
    if workload.maps[-1].dimensions[-1] != row:
        return
    lanes = max(1, limits.native_vector_bytes // workload.types[-1].bytes)
    along = (integer(tiling.vector[row]) + (lanes - 1)) // lanes
    count = product([along, *(integer(tile) for loop, tile in tiling.vector.items() if loop != row)])
    message = (
        f"a tile of {{}} vector multiplications compiles for too long: at most {_MOST_VECTORS} are unrolled"
    )
    require(count <= _MOST_VECTORS, message, count)


def _limit_unrolling(tiling: Tiling) -> None:
    """A long reduction to one element, along an operand that is not contiguous there, compiles for minutes.

    It is unrolled into scalar loads, which LLVM takes more than linear time for: 3 s for 512 elements,
    12 s for 1024, over a minute for 4096 (1x1024x4096 f32; with two results instead of one, 6 s for 2048).
    """
    workload = tiling.workload
    reduced = [loop for loop, kind in enumerate(workload.iterators) if kind == "reduction"]
    # Operands that are read along a reduction loop, which may be their innermost dimension.
    walked = [each.dimensions for each in workload.maps[:-1] if {*each.dimensions} & {*reduced}]
    if all(dimensions[-1] in reduced for dimensions in walked):
        return
    results = product([integer(tile) for loop, tile in tiling.vector.items() if loop not in reduced])
    length = product([integer(tiling.vector[loop]) for loop in reduced])
    message = "a reduction of {} elements to one is unrolled into scalars, and compiles for too long"
    require((results > 1) | (length <= _LONGEST_SCALAR_REDUCTION), message, length)
