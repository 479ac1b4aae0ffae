"""Dispatches whose sums a function limits or amplifies: the size of results does not bound their errors."""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.ops.scalar_body import ScalarBody
from iree_tuner.ops.structure import iterators

_SCALING = frozenset({"math.absf", "math.fma"})
_DIVIDE = "arith.divf"
_LIMITING = ("math.", "arith.min", "arith.fpto", "arith.cmpf")
_SOFTMAX = "linalg.softmax"
_ADD = "arith.addf"


def bounds_sums(function: ir.Operation) -> bool:
    """Whether a dispatch's function sums floats, and something that follows may limit or amplify them."""
    sums: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        body = ScalarBody.of(op) if op.name.startswith("linalg.") else None
        if body is not None and "reduction" in iterators(op) and body.products_and_sums and _ADD in body.ops:
            sums.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return any(_limits(each) for each in _after(sums))


def _after(ops: list[ir.Operation]) -> list[ir.Operation]:
    """The ops that use the results of some, directly or not."""
    found: dict[ir.Operation, None] = {}
    todo = list(ops)
    while todo:
        for result in todo.pop().results:
            for use in result.uses:
                user = use.owner.operation
                if user not in found:
                    found[user] = None
                    todo.append(user)
    return list(found)


def _limits(op: ir.Operation) -> bool:
    if op.name == _SOFTMAX:
        return True
    body = ScalarBody.of(op) if op.name.startswith("linalg.") else None
    if body is None:
        return False
    return any(name.startswith(_LIMITING) for name in {*body.ops} - _SCALING) or _divides(op)


def _divides(op: ir.Operation) -> bool:
    """Whether a body divides by something that is no constant."""
    divisors = [each.operands[1].owner for each in op.regions[0].blocks[0] if each.operation.name == _DIVIDE]
    return any(isinstance(each, ir.Block) or each.name != "arith.constant" for each in divisors)
