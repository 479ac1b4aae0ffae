"""A kernel whose code is IR: it writes a chain of ops as one op, which becomes one dispatch."""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.kernels.kernel import ANY, Code, Knobs, Launch
from iree_tuner.kernels.problem import Problem
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.generic import Generic
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.workload import Workload
from iree_tuner.targets import Target

_NONE: Knobs = {}


class FusedOps:
    """Slices, joins and elementwise ops that the compiler does not fuse (`chains`), for every target."""

    name = "fused_ops"
    summary = "chains of elementwise ops, slices and concatenations as one dispatch"
    backend = ANY
    replaces = "fused"
    """The name of the workloads' op."""

    def missing(self) -> str:
        """Always empty: the compiler makes the code."""
        return ""

    def refuses(self, problem: Problem) -> str:
        """Why the kernel does not compute a problem; empty if it does."""
        return "" if problem.workload.op == self.replaces else "it is a single op"

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:  # noqa: ARG002
        """One variant without knobs: the compiler chooses the configuration of the op's dispatch."""
        return ({},)

    def make(self, problem: Problem, target: Target | None = None, knobs: Knobs = _NONE) -> Code:  # noqa: ARG002
        """The program with the fused op, which is the same for every target."""
        return Code("ops", self.name, problem.fused, Launch((1, 1, 1)))


def workload_of(result: ir.Type, op: str = FusedOps.replaces) -> Workload:
    """A workload that states only the result's shape and type, for ops that a kernel rewrites."""
    shape = tuple(ir.RankedTensorType(result).shape)
    rank = len(shape)
    return Workload(
        Generic.name, op, shape, ("parallel",) * rank, (ElementType.of(result),),
        (IndexingMap.through(rank, range(rank)),), (),
    )  # fmt: skip
