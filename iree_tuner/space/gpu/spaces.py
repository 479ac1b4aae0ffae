"""The spaces of a workload on CUDA and ROCm."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.ops.workload import Workload
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.supplement import Supplement, apply
from iree_tuner.targets import GpuLimits

SUPPLEMENTS: tuple[Supplement, ...] = ()
"""In the order in which they are applied: those that replace the compiler's asserts come first."""


def gpu_constraints(
    workload: Workload,
    limits: GpuLimits,
    context: ir.Context,
    emitted: Sequence[bytes],
    *,
    supplements: bool = True,
) -> list[ir.Module]:
    """Modules with one constraints op each: the compiler's with supplements, or ops built here."""
    with context, ir.Location.unknown(context):
        modules = [ir.Module.parse(source) for source in emitted]
        if supplements:
            for module in modules:
                supplement(module, workload, limits)
        return modules


def supplement(module: ir.Module, workload: Workload, limits: GpuLimits) -> None:
    """Add what the compiler's constraints leave out, in place."""
    (op,) = ir.get_ops_of_type(module, iree_codegen.ConstraintsOp)
    apply(SUPPLEMENTS, Draft(op, workload, limits))
    module.operation.verify()
