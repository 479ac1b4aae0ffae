"""Online attention through LinalgExtTileAndVectorize."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints
from iree_tuner.space.expressions import require
from iree_tuner.space.llvm_cpu.attributes import pipeline
from iree_tuner.space.llvm_cpu.multi_tiling import Tiling
from iree_tuner.space.llvm_cpu.tiles import require_small_vector
from iree_tuner.targets import CpuLimits

# Scores and the running output are kept in f32, whatever the operands' types.
_ACCUMULATOR = ElementType.named("f32")


def attention_constraints(workload: Workload, limits: CpuLimits, context: ir.Context) -> ir.Module:
    """The constraints op of online attention, which becomes two contractions after tiling."""

    def fill() -> Mapping[str, ir.Attribute]:
        tiling = Tiling(workload, limits)
        tiling.declare_tiles()
        for loop in workload.role("k1"):
            _keep_whole(tiling, loop)
        for left_out, what in (
            ("n", "the contraction of query and key"),
            ("k1", "the contraction with value"),
        ):
            tiles = [t for loop, t in tiling.vector.items() if loop not in workload.role(left_out)]
            require_small_vector(tiles, _ACCUMULATOR, what, limits)
        return tiling.knobs()

    with context:
        return build_constraints(pipeline("LinalgExtTileAndVectorize"), fill, context)


def _keep_whole(tiling: Tiling, loop: int) -> None:
    """A tile of k1 makes a softmax of parts of the scores (docs/upstream/attention_k1_tile.md)."""
    tile, size = tiling.vector[loop], tiling.workload.loops[loop]
    if not isinstance(tile, int):
        require(tile.equals(size), f"vector_{loop} ({{}}) must be the whole of k1 ({size})", tile)
