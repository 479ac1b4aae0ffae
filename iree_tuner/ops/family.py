"""The contract of an op family, and the registry that finds families in installed packages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Protocol, runtime_checkable

from iree.compiler import ir

from iree_tuner.errors import TunerError
from iree_tuner.installed import members
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.traits import Chain, MatchOp, Sums, flops_by_bodies, result_type, sums_of
from iree_tuner.ops.workload import Workload

GROUP = "iree_tuner.op_families"

ROOT = "root"
"""The label of the op that carries `compilation_info`; companions have labels of their own."""


@runtime_checkable
class OpFamily(Protocol):
    """How one kind of op is described and matched, and what is true of all of its ops.

    Inherit from it: the members below `matcher`, and the last two attributes, have defaults.
    `check_op_family` says whether an implementation holds to the contract.

    Attributes:
        name: the family's name, equal to its entry point's.
        priority: families are asked in ascending order; the first that describes an op owns it.
        match_ops: the compiler's match ops for these ops; specs with them are explained by it.
        turns_operands: whether vectors lie along the result's innermost loop, to which pipelines for CPUs
            turn the operands; else they lie as the first operand does.
    """

    name: str
    priority: int
    match_ops: tuple[MatchOp, ...] = ()
    turns_operands: bool = False

    def describe(self, op: ir.Operation) -> Workload | None:
        """Describe a root op as it is when tuning specs run, or None when it is not of this family.

        SSA names and discardable attributes play no part. Loops must be static, or dynamic ones that the
        matcher can hold to their bounds; the latter's sizes are 0 until a size is chosen for them.
        """
        ...

    def locate(self, op: ir.Operation, workload: Workload) -> Mapping[str, ir.Operation]:
        """Operations of the dispatch by label: `root`, which is `op`, and the workload's companions."""
        ...

    def matcher(self, workload: Workload, handle: ir.Value) -> Mapping[str, ir.Value]:
        """Build, at the current insertion point, match ops that succeed on exactly this workload.

        A dynamic loop with an upper bound stands for every size within its bounds, static ones too; one
        without is matched where the size is known only at run time.
        `handle` (`!transform.any_op`) is the op that `foreach_match` visits. Returns a handle for each
        label; where the visited op is not the root op, the root's handle is navigated to.
        Called with a context, a location and an insertion point in place.
        """
        ...

    def roles(self, op: ir.Operation) -> Mapping[str, tuple[int, ...]] | None:
        """The part that each loop plays, of the roles that `match_ops` yield; None for any other op."""
        del op

    def parameters(self, op: ir.Operation) -> Mapping[str, tuple[int, ...]]:
        """The parameters that `match_ops` yield of an op, besides sizes."""
        del op
        return {}

    def flops(self, workload: Workload) -> float:
        """Arithmetic operations of one run, a multiply-add as two; a function such as `exp` as one."""
        return flops_by_bodies(workload)

    def computed_in(self, workload: Workload) -> ElementType | None:
        """The type of the multiplied elements; of an op that does not multiply, of its result."""
        return result_type(workload)

    def sums(self, workload: Workload) -> Sums:
        """How results come about: the tolerance of comparisons follows from it."""
        return sums_of(workload)

    def chain(self, workload: Workload) -> Chain | None:
        """The two products that the op is, with exponentials between them; None for any other op."""
        del workload


def families() -> tuple[OpFamily, ...]:
    """Every installed family, in the order in which they are asked."""
    return tuple(sorted(_registered().values(), key=lambda family: (family.priority, family.name)))


def family(name: str) -> OpFamily:
    """The family of that name. Raises TunerError when no installed package has it."""
    found = _registered().get(name)
    if found is None:
        raise TunerError(f"no installed package provides the op family '{name}'")
    return found


def family_of(workload: Workload) -> OpFamily:
    """The family that described a workload; the last, which describes any op, where it is not installed."""
    return _registered().get(workload.family) or families()[-1]


def match_ops() -> dict[str, tuple[OpFamily, MatchOp]]:
    """The compiler's match ops for single families, by name, each with the family."""
    return {match.name: (each, match) for each in families() for match in each.match_ops}


def describe(op: ir.Operation) -> Workload | None:
    """Ask each family in order; None if no family knows the op, or its loops are dynamic."""
    for candidate in families():
        workload = candidate.describe(op)
        if workload is not None:
            return workload
    return None


@cache
def _registered() -> dict[str, OpFamily]:
    return members(GROUP, "op family", OpFamily)
