"""Loops over elements, with any sizes and maps: BaseDistribute, which takes what nothing else takes.

Levels: the workgroup's tiles and a thread's. A third would cut reductions into nested loops of the same
elements.
"""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints
from iree_tuner.space.spirv.attributes import pipeline
from iree_tuner.space.spirv.ladders import powers, writes_in_order
from iree_tuner.space.spirv.tiling import Tiling
from iree_tuner.targets import GpuLimits


def distribute_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> ir.Module | None:
    """The constraints op; None without a parallel loop, for elements of less than a byte, and for a race.

    Tiles need not divide the loops: what is beyond their end is left out by each thread.
    """
    if any(0 < kind.bits < 8 for kind in workload.types) or not in_step(workload):
        return None

    def fill() -> Mapping[str, ir.Attribute]:
        tiling = Tiling(workload, limits)
        for loop in tiling.tiled:
            size = workload.loops[loop]
            largest = 1 << (size - 1).bit_length()
            if loop == tiling.tiled[0]:  # a subgroup with idle threads is the least that runs
                largest = max(largest, limits.subgroup_size)
            counts = powers(min(largest, tiling.most_threads(loop)))
            tiling.declare_tile(loop, powers(min(4, largest)), counts, largest)
        tiling.limit_threads()
        tiling.declare_subgroup_size()
        tiling.declare_swap()
        return tiling.knobs([tiling.workgroup_level(), tiling.thread_level()])

    if not Tiling(workload, limits).tiled:
        return None
    with context:
        return build_constraints(pipeline("BaseDistribute"), fill, context)


def in_step(workload: Workload) -> bool:
    """Whether each thread computes what it needs of the ops around the root op.

    `SPIRVTileAndDistribute` cuts every op of the dispatch alone, each by the same tiles in the order of its
    own loops, and puts no barrier between them. So the root's results must lie in memory in the order of its
    loops (the op that writes their initial values follows memory), and other ops must have the same outer
    loops. Where they do not, results are wrong: a depthwise convolution of NCHW images is such a case.
    """
    parallel = [loop for loop, kind in enumerate(workload.iterators) if kind == "parallel"]
    reduces = len(parallel) < len(workload.iterators)
    order = list(range(len(parallel)))
    if reduces and (parallel != order or not writes_in_order(workload)):
        return False
    return all(
        list(companion.shared[: len(parallel)]) == parallel and parallel == order
        for companion in workload.companions
    )
