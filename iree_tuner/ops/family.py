"""The contract of an op family, properties of its ops, and the registry of families in installed packages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol, runtime_checkable

from iree.compiler import ir

from iree_tuner.errors import TunerError
from iree_tuner.installed import members
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.structure import structure
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.ops.workload import Workload

_NO_ARITHMETIC = ("constant", "extf", "truncf", "index_cast", "sitofp", "uitofp", "fptosi", "extsi", "extui",
                  "trunci", "bitcast", "select")  # fmt: skip


@dataclass(frozen=True)
class MatchOp:
    """A match op of the compiler's, `transform.iree.match.<name>`, for ops of one family."""

    name: str
    yields: tuple[str, ...]  # the roles whose sizes it yields, in order, in the words of its documentation
    parameters: tuple[str, ...] = ()  # other lists that it yields after them: `strides`
    # its names of the operands; most have an attribute for their element type, `lhs_type`
    operands: tuple[str, ...] = ()
    op: str = ""  # the only op that it takes; empty for every op of linalg that has these roles
    operand_count: int = 0  # of this op without a mask


@dataclass(frozen=True)
class Chain:
    """Two products one after the other with exponentials between them, by loops.

    Both results have `rows`; the first sums over `inner` and has the columns `keys`, over which the second
    sums.
    """

    rows: tuple[int, ...]
    inner: tuple[int, ...]
    keys: tuple[int, ...]
    columns: tuple[int, ...]


def _operations(workload: Workload, label: str) -> int:
    body = facts_of(workload.dag).body(label)
    return 1 if body is None else sum(name not in _NO_ARITHMETIC for _, name in body.arithmetic)


GROUP = "iree_tuner.op_families"

ROOT = "root"
"""The label of the op that carries `compilation_info`; companions have labels of their own."""


@runtime_checkable
class OpFamily(Protocol):
    """How one kind of op is described and matched, and properties of all of its ops.

    Inherit from it: all members have defaults but `name` (its entry point's), `priority`, `describe` and
    `matcher`. `check_op_family` checks whether an implementation keeps the contract. Families are asked in
    ascending priority; the first that describes an op owns it. Specs with the compiler's `match_ops` are
    explained by the family. With `turns_operands`, vectors lie along the result's innermost loop, to which
    pipelines for CPUs turn the operands; else they lie as the first operand does.
    """

    name: str
    priority: int
    match_ops: tuple[MatchOp, ...] = ()
    turns_operands: bool = False

    def describe(self, op: ir.Operation) -> Workload | None:
        """Describe a root op as it is when tuning specs run, or None if it is not of this family.

        SSA names and discardable attributes are not used. Loops must be static, or dynamic ones that the
        matcher can check against their bounds; the latter's sizes are 0 until a size is chosen for them.
        """

    def locate(self, op: ir.Operation, workload: Workload) -> Mapping[str, ir.Operation]:
        """Operations of the dispatch by label: `root`, which is `op`, and the workload's companions."""
        return {ROOT: op}

    def matcher(self, workload: Workload, handle: ir.Value) -> Mapping[str, ir.Value]:
        """Build, at the current insertion point, match ops that succeed on exactly this workload.

        A dynamic loop with an upper bound stands for every size within its bounds, static ones too; one
        without is matched if the size is known only at run time. `handle` (`!transform.any_op`) is the op
        that `foreach_match` visits. Returns a handle for each label; if the visited op is not the root op,
        the root's handle is reached from it. Called with a context, a location and an insertion point in
        place.
        """
        ...

    def roles(self, op: ir.Operation) -> Mapping[str, tuple[int, ...]] | None:
        """The part that each loop plays, of the roles that `match_ops` yield; None for any other op."""
        del op

    def parameters(self, op: ir.Operation) -> Mapping[str, tuple[int, ...]]:
        """The parameters that `match_ops` yield of an op, in addition to sizes."""
        return {}

    def flops(self, workload: Workload) -> float:
        """Arithmetic operations of one run, a multiply-add as two; a function such as `exp` as one.

        By default the ops of the bodies for each iteration of their loops; one for a body that is not known.
        """
        flops = float(math.prod(workload.loops)) * _operations(workload, ROOT)
        for companion in workload.with_companions_sized().companions:
            flops += math.prod(companion.loops) * _operations(workload, companion.label)
        return flops

    def computed_in(self, workload: Workload) -> ElementType | None:
        """The type of the multiplied elements; of an op that does not multiply, of its result."""
        return workload.types[-1] if workload.types else None

    def sums(self, workload: Workload) -> Tolerance:
        """How much results may differ.

        By default the op reduces into its last operand, in that operand's type.
        """
        return Tolerance(str(workload.types[-1]) if workload.types else "f32", workload.reduction_length)

    def chain(self, workload: Workload) -> Chain | None:
        """The two products that the op consists of, with exponentials between them; None for any other op."""
        del workload


class ProductFamily(OpFamily):
    """Ops that multiply their first two operands and accumulate; only the root op is configured."""

    def flops(self, workload: Workload) -> float:
        """A multiply-add for each iteration."""
        return 2.0 * math.prod(workload.loops)

    def computed_in(self, workload: Workload) -> ElementType | None:
        """The wider type of both factors."""
        return max(workload.types[:2], key=lambda kind: kind.bits, default=None)


def families() -> tuple[OpFamily, ...]:
    """Every installed family, in the order in which they are asked."""
    return tuple(sorted(_registered().values(), key=lambda family: (family.priority, family.name)))


def family(name: str) -> OpFamily:
    """The family of that name. Raises TunerError if no installed package has it."""
    found = _registered().get(name)
    if found is None:
        raise TunerError(f"no installed package provides the op family '{name}'")
    return found


def family_of(workload: Workload) -> OpFamily:
    """The family that described a workload; if it is not installed, the last one, which describes any op."""
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


SUPPORTED = (
    "batch and m of contractions and attention, batch and output image of convolutions, "
    "and all loops of other linalg ops that index each dimension by one loop"
)
"""Loops that may be dynamic: the families' `MAY_VARY`, and what `generic` describes."""


def dynamic_parts(workload: Workload) -> str:
    """The parts that a workload's dynamic loops play: `batch and m`."""
    return _named(dict(workload.roles), (each.loop for each in workload.dynamic))


def why_refused(op: ir.Operation) -> str:
    """Why no family describes an op with dynamic sizes; empty if they are not the reason."""
    found = structure(op, dynamic=True)
    if found is None or not found.dynamic:
        return ""
    described = (each.roles(op) for each in families())
    roles: Mapping[str, tuple[int, ...]] = next((each for each in described if each), {})
    what = _named(roles, (each.loop for each in found.dynamic))
    return f"{are_dynamic(what)} in {op.name}; supported are {SUPPORTED}"


def are_dynamic(parts: str) -> str:
    """`dimension m is dynamic`, `dimensions batch and m are dynamic`, `loop 2 is dynamic`."""
    several = " and " in parts
    what = parts if parts.startswith("loop ") else f"dimension{'s' * several} {parts}"
    return f"{what} {'are' if several else 'is'} dynamic"


def _named(roles: Mapping[str, tuple[int, ...]], loops: Iterable[int]) -> str:
    of_loop = {loop: role.replace("_", " ") for role, loops_of in roles.items() for loop in loops_of}
    *more, last = dict.fromkeys(of_loop.get(loop, f"loop {loop}") for loop in loops)
    return f"{', '.join(more)} and {last}" if more else last
