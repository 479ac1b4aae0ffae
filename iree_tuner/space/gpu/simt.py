"""Contractions, convolutions and generic ops without matrix instructions, on CUDA and ROCm."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints
from iree_tuner.space.gpu.simt_reduction import Reduction, shared_loop
from iree_tuner.space.gpu.simt_tiles import SimtTiles
from iree_tuner.targets import GpuLimits


def simt_constraints(
    workload: Workload, limits: GpuLimits, context: ir.Context, *, shared: bool = True
) -> list[ir.Module]:
    """TileAndFuse with a tile of the result for each thread, and VectorDistribute for shared reductions.

    Empty for a result of one element. `shared` says whether reductions may be shared.
    """
    kinds = zip(workload.loops, workload.iterators, strict=True)
    if not any(size > 1 for size, kind in kinds if kind == "parallel"):
        return []

    def fill_tiles() -> Mapping[str, ir.Attribute]:
        tiles = SimtTiles(workload, limits)
        tiles.declare_tiles()
        tiles.declare_workgroup()
        tiles.declare_promotion()
        tiles.limit_unrolling()
        return tiles.knobs()

    inner = shared_loop(workload, limits) if shared else None

    def fill_reduction() -> Mapping[str, ir.Attribute]:
        assert inner is not None, "it is asked for where there is one"
        reduction = Reduction(workload, limits, inner)
        reduction.declare()
        return reduction.knobs()

    with context, ir.Location.unknown(context):
        tile_and_fuse = iree_gpu.PipelineAttr.get(iree_gpu.LoweringPipeline.TileAndFuse)
        found = [build_constraints(tile_and_fuse, fill_tiles, context)]
        if inner is not None:
            distribute = iree_gpu.PipelineAttr.get(iree_gpu.LoweringPipeline.VectorDistribute)
            found.append(build_constraints(distribute, fill_reduction, context))
        return found
