"""Reductions, softmax and elementwise ops, with the other compute ops of their dispatch."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.family import ROOT
from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints
from iree_tuner.space.expressions import require
from iree_tuner.space.llvm_cpu.attributes import pipeline
from iree_tuner.space.llvm_cpu.ladders import require_small_vector
from iree_tuner.space.llvm_cpu.multi_tiling import Tiling
from iree_tuner.targets import CpuLimits


def generic_constraints(workload: Workload, limits: CpuLimits, context: ir.Context) -> ir.Module:
    """The constraints op of a generic op and its companions.

    A dispatch that only copies is bufferized before specs run (BufferizeCopyOnlyDispatches), and is
    lowered by BufferOpsTileAndVectorize.
    """
    buffers = facts_of(workload.dag).on_buffers

    def fill() -> Mapping[str, ir.Attribute]:
        tiling = Tiling(workload, limits, cached=not buffers)
        tiling.declare_tiles()
        tiling.limit_vector()
        if not buffers:
            tiling.declare_peeling()
            labels = facts_of(workload.dag).labels
            before = labels[: labels.index(ROOT)] if ROOT in labels else ()  # in the dispatch
            for companion in workload.companions:
                # Fills are fused into the ops whose initial values they write, and get no tiles.
                if "fill" not in companion.op:
                    tiling.declare_companion(companion, companion.label in before)
        return tiling.knobs()

    name = "BufferOpsTileAndVectorize" if buffers else "DoubleTilingExpert"
    return build_constraints(pipeline(name, context), fill, context)


# Online attention through LinalgExtTileAndVectorize.


# Scores and the running output are kept in f32, whatever the operands' types.
_ACCUMULATOR = ElementType.named("f32")


def attention_constraints(workload: Workload, limits: CpuLimits, context: ir.Context) -> ir.Module:
    """The constraints op of online attention, which becomes two contractions after tiling."""

    def fill() -> Mapping[str, ir.Attribute]:
        tiling = Tiling(workload, limits)
        tiling.declare_tiles()
        for loop in workload.role("k1"):
            # A smaller tile makes a softmax of parts of the scores (docs/upstream/attention_k1_tile.md).
            tile, size = tiling.vector[loop], tiling.workload.loops[loop]
            if not isinstance(tile, int):
                require(tile.equals(size), f"vector_{loop} ({{}}) must be the whole of k1 ({size})", tile)
        for left_out, what in (
            ("n", "the contraction of query and key"),
            ("k1", "the contraction with value"),
        ):
            tiles = [t for loop, t in tiling.vector.items() if loop not in workload.role(left_out)]
            require_small_vector(tiles, _ACCUMULATOR, what, limits)
        return tiling.knobs()

    return build_constraints(pipeline("LinalgExtTileAndVectorize", context), fill, context)
