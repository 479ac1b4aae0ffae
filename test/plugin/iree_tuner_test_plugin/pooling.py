"""An op family from outside, with spaces of its own: max pooling of images with channels last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from iree.compiler import ir

from iree_tuner.ops.generic import Generic
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints
from iree_tuner.space.llvm_cpu.attributes import pipeline
from iree_tuner.space.llvm_cpu.multi_tiling import Tiling
from iree_tuner.space.providers import SpaceRequest
from iree_tuner.targets import CpuLimits

_LOOPS = ("parallel",) * 4 + ("reduction",) * 2  # batch, rows, columns, channels; the window
_MAXIMUM = ("arith.maximumf", "arith.maxnumf", "arith.maxsi")


class MaxPooling:
    """Asked before the generic family, which would describe it too; matched as that matches it."""

    name = "max_pooling"
    priority = 50

    def describe(self, op: ir.Operation) -> Workload | None:
        """Describe a windowed maximum; None for anything else."""
        found = Generic().describe(op)
        if found is None or found.iterators != _LOOPS or len(found.types) != 3:
            return None
        body = [each.operation.name for each in op.regions[0].blocks[0].operations]
        return replace(found, family=self.name) if len(body) == 2 and body[0] in _MAXIMUM else None

    def locate(self, op: ir.Operation, workload: Workload) -> Mapping[str, ir.Operation]:
        """The op, and those that are with it in its dispatch."""
        return Generic().locate(op, workload)

    def matcher(self, workload: Workload, handle: ir.Value) -> Mapping[str, ir.Value]:
        """Match the whole dispatch."""
        return Generic().matcher(workload, handle)


class MaxPoolingSpaces:
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

        with request.context:
            return [build_constraints(pipeline("DoubleTilingExpert"), fill, request.context)]
