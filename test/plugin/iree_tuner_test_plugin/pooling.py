"""An op family from outside, with spaces of its own: max pooling of images with channels last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iree.compiler import ir

from iree_tuner.ops.generic import Generic
from iree_tuner.ops.scalar_body import ScalarBody
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints
from iree_tuner.space.llvm_cpu.attributes import pipeline
from iree_tuner.space.llvm_cpu.multi_tiling import Tiling
from iree_tuner.space.providers import SpaceProvider, SpaceRequest
from iree_tuner.targets import CpuLimits

_LOOPS = ("parallel",) * 4 + ("reduction",) * 2  # batch, rows, columns, channels; the window
_MAXIMUM = (("arith.maximumf",), ("arith.maxnumf",), ("arith.maxsi",))


class MaxPooling(Generic):
    """Asked before the generic family, which would describe it too; located and matched as that does it."""

    name = "max_pooling"
    priority = 50

    def describe(self, op: ir.Operation) -> Workload | None:
        """Describe a windowed maximum; None for anything else."""
        found = super().describe(op)
        if found is None or found.iterators != _LOOPS or len(found.types) != 3:
            return None
        body = ScalarBody.of(op)
        return found if body is not None and body.ops in _MAXIMUM else None


class MaxPoolingSpaces(SpaceProvider):
    """For processors: tiles of all loops, and vectors along channels."""

    def constraints(self, request: SpaceRequest) -> Sequence[ir.Module]:
        """One space on llvm-cpu, none elsewhere."""
        limits = request.limits
        if not isinstance(limits, CpuLimits):
            return []

        def fill() -> Mapping[str, ir.Attribute]:
            tiling = Tiling(request.workload, limits)
            tiling.declare_tiles()
            tiling.limit_vector()
            return tiling.knobs()

        return [build_constraints(pipeline("DoubleTilingExpert"), fill)]
