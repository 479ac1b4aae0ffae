"""Which spaces a workload has on a Vulkan target."""

from __future__ import annotations

from collections.abc import Callable

from iree.compiler import ir

from iree_tuner.ops.workload import Workload
from iree_tuner.space.spirv.cooperative import cooperative_constraints
from iree_tuner.space.spirv.distribute import distribute_constraints
from iree_tuner.space.spirv.promote import promote_constraints
from iree_tuner.space.spirv.reduce import reduce_constraints
from iree_tuner.space.spirv.vectorize import vectorize_constraints
from iree_tuner.targets import GpuLimits

_Builder = Callable[[Workload, GpuLimits, ir.Context], ir.Module | None]

_MATMUL: tuple[_Builder, ...] = (cooperative_constraints, promote_constraints)
_ANY: tuple[_Builder, ...] = (reduce_constraints, vectorize_constraints, distribute_constraints)

# Attention is missing: in 3.13 no SPIR-V pipeline lowers it, the compiler's own choice included.
# BaseDistribute makes buffers of its tensors, which the op does not take; the others leave it as it is (no
# pass decomposes it).
_BUILDERS: dict[str, tuple[_Builder, ...]] = {
    "contraction": (*_MATMUL, *_ANY),
    "convolution": (vectorize_constraints, distribute_constraints),
    "generic": _ANY,
}


def spirv_constraints(workload: Workload, limits: GpuLimits, context: ir.Context) -> list[ir.Module]:
    """The constraints ops of a workload, one for each pipeline that can lower it, best first.

    Args:
        workload: the root op.
        limits: what the target can hold.
        context: one with all dialects loaded.
    """
    found = (build(workload, limits, context) for build in _BUILDERS.get(workload.family, ()))
    return [module for module in found if module is not None]
