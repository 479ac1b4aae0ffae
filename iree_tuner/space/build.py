"""Which spaces a workload has on a target."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iree.compiler import ir

from iree_tuner.errors import TunerError
from iree_tuner.ops.workload import Workload
from iree_tuner.space.dynamic import undivided
from iree_tuner.space.gpu.spaces import gpu_constraints
from iree_tuner.space.llvm_cpu.attention import attention_constraints
from iree_tuner.space.llvm_cpu.contraction import contraction_constraints
from iree_tuner.space.llvm_cpu.convolution import convolution_constraints
from iree_tuner.space.llvm_cpu.generic import generic_constraints
from iree_tuner.space.space import Space
from iree_tuner.space.spirv.spaces import spirv_constraints
from iree_tuner.targets import CpuLimits, Limits

_CpuBuilder = Callable[[Workload, CpuLimits, ir.Context], ir.Module]

_CPU_BUILDERS: dict[str, _CpuBuilder] = {
    "attention": attention_constraints,
    "contraction": contraction_constraints,
    "convolution": convolution_constraints,
    "generic": generic_constraints,
    "scaled_contraction": generic_constraints,
}


def build_spaces(
    workload: Workload,
    limits: Limits,
    context: ir.Context,
    emitted: Sequence[bytes] = (),
    *,
    supplements: bool = True,
) -> tuple[Space, ...]:
    """The spaces of a workload, one for each pipeline that can lower it; never empty.

    Args:
        workload: the root op.
        limits: what the target can hold; they say which backend it is.
        context: one with all dialects loaded, as `compiler.context.new_context` makes it.
        emitted: the compiler's own constraints for the dispatch, from `space.emitted.emit`.
        supplements: whether the compiler's constraints are supplemented; without, they are used as they are.

    Raises:
        TunerError: no space is known for the workload on this target, or none has a member.
    """
    if isinstance(limits, CpuLimits):
        builder = _CPU_BUILDERS.get(workload.family)
        modules = [builder(workload, limits, context)] if builder else []
        backend = "llvm-cpu"
    elif limits.backend == "vulkan":
        modules, backend = spirv_constraints(undivided(workload), limits, context), "Vulkan"
    else:
        # The compiler's constraints on a dynamic op are about values that are computed outside of them.
        own = () if workload.dynamic else emitted
        modules = gpu_constraints(undivided(workload), limits, context, own, supplements=supplements)
        backend = f"{limits.backend}:{limits.arch}"
    if not modules:
        raise TunerError(f"there is no {backend} search space for the family '{workload.family}'")
    spaces = tuple(Space(workload, module) for module in modules)
    found = tuple(space for space in spaces if space.sample(1, seed=0))
    if not found:
        pipelines = ", ".join(space.label for space in spaces)
        raise TunerError(f"no configuration of {pipelines} fits {workload.name} on {backend}")
    return found


def build_space(workload: Workload, limits: Limits, context: ir.Context) -> Space:
    """The first of a workload's spaces, the only one on llvm-cpu. Raises TunerError like `build_spaces`."""
    return build_spaces(workload, limits, context)[0]
