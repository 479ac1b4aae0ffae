"""Contractions through DoubleTilingExpert: distribution, then vector tiles within it."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints
from iree_tuner.space.llvm_cpu.attributes import pipeline
from iree_tuner.space.llvm_cpu.multi_tiling import Tiling
from iree_tuner.targets import CpuLimits


def contraction_constraints(workload: Workload, limits: CpuLimits, context: ir.Context) -> ir.Module:
    """The constraints op of a contraction."""

    def fill() -> Mapping[str, ir.Attribute]:
        tiling = Tiling(workload, limits)
        tiling.declare_tiles()
        tiling.limit_contract()
        tiling.declare_peeling()
        return tiling.knobs()

    with context:
        return build_constraints(pipeline("DoubleTilingExpert"), fill, context)
