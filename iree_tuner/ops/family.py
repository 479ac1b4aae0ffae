"""The contract of an op family, and the registry that finds families in installed packages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Protocol, cast

from iree.compiler import ir

from iree_tuner.errors import TunerError
from iree_tuner.installed import brought, usable
from iree_tuner.ops.workload import Workload

GROUP = "iree_tuner.op_families"

ROOT = "root"
"""The label of the op that carries `compilation_info`; companions have labels of their own."""


class OpFamily(Protocol):
    """How one kind of op is described and matched. `check_op_family` says whether an implementation holds.

    Attributes:
        name: the family's name, equal to its entry point's.
        priority: families are asked in ascending order; the first that describes an op owns it.
    """

    name: str
    priority: int

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


def families() -> tuple[OpFamily, ...]:
    """Every installed family, in the order in which they are asked."""
    return tuple(sorted(_registered().values(), key=lambda family: (family.priority, family.name)))


def family(name: str) -> OpFamily:
    """The family of that name. Raises TunerError when no installed package has it."""
    found = _registered().get(name)
    if found is None:
        raise TunerError(f"no installed package provides the op family '{name}'")
    return found


def describe(op: ir.Operation) -> Workload | None:
    """Ask each family in order; None when nobody knows the op, or its loops are dynamic."""
    for candidate in families():
        workload = candidate.describe(op)
        if workload is not None:
            return workload
    return None


@cache
def _registered() -> dict[str, OpFamily]:
    what = "op family"
    return {name: cast(OpFamily, usable(entry, what)) for name, entry in brought(GROUP, what).items()}
