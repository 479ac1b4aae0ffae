"""Which builder makes a workload's space."""

from __future__ import annotations

from collections.abc import Callable

from iree.compiler import ir

from iree_tuner.errors import TunerError
from iree_tuner.ops.workload import Workload
from iree_tuner.space.llvm_cpu.attention import attention_constraints
from iree_tuner.space.llvm_cpu.contraction import contraction_constraints
from iree_tuner.space.llvm_cpu.convolution import convolution_constraints
from iree_tuner.space.llvm_cpu.generic import generic_constraints
from iree_tuner.space.space import Space
from iree_tuner.targets import CpuLimits

Builder = Callable[[Workload, CpuLimits, ir.Context], ir.Module]

_BUILDERS: dict[str, Builder] = {
    "attention": attention_constraints,
    "contraction": contraction_constraints,
    "convolution": convolution_constraints,
    "generic": generic_constraints,
    "scaled_contraction": generic_constraints,
}


def build_space(workload: Workload, limits: CpuLimits, context: ir.Context) -> Space:
    """The space of a workload on llvm-cpu.

    Args:
        workload: the root op.
        limits: what the target can hold.
        context: one with all dialects loaded, as `compiler.context.new_context` makes it.

    Raises:
        TunerError: no space is known for the workload's family.
    """
    builder = _BUILDERS.get(workload.family)
    if builder is None:
        raise TunerError(f"there is no llvm-cpu search space for the family '{workload.family}'")
    return Space(workload, builder(workload, limits, context))
