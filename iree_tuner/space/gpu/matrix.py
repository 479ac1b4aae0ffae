"""To be written."""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.ops.workload import Workload
from iree_tuner.targets import GpuLimits


def matrix_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> list[ir.Module]:
    """None yet."""
    del workload, limits, context
    return []
