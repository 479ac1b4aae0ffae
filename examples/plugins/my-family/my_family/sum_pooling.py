from iree_tuner.ops.generic import Generic
from iree_tuner.ops.scalar_body import ScalarBody
from iree_tuner.space.constraints import build_constraints
from iree_tuner.space.llvm_cpu.attributes import pipeline
from iree_tuner.space.llvm_cpu.multi_tiling import Tiling
from iree_tuner.space.providers import SpaceProvider
from iree_tuner.targets import CpuLimits

LOOPS = ("parallel",) * 4 + ("reduction",) * 2  # batch, rows, columns, channels; the window


class SumPooling(Generic):
    """Sums over windows. Matched and located as any generic op."""

    name = "sum_pooling"
    priority = 50  # before the family `generic`, which describes everything

    def describe(self, op):
        """The workload of an op of this family, or None."""
        found = super().describe(op)
        if found is None or found.iterators != LOOPS or len(found.types) != 3:
            return None
        body = ScalarBody.of(op)
        return found if body is not None and body.ops == ("arith.addf",) else None


class SumPoolingSpaces(SpaceProvider):
    """On CPUs: tiles of all loops, and vectors."""

    def constraints(self, request):
        """One space on llvm-cpu, none elsewhere."""
        if not isinstance(request.limits, CpuLimits):
            return []

        def fill():
            tiling = Tiling(request.workload, request.limits)
            tiling.declare_tiles()
            tiling.limit_vector()
            return tiling.knobs()

        return [build_constraints(pipeline("DoubleTilingExpert"), fill)]
