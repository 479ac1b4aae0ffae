"""How long a dynamic dimension is: the value that says it, and what the program says about that value.

The compiler answers the same question for `transform.iree.match.dim_bounds`, by ValueBoundsOpInterface;
it has no Python binding. This finds fewer facts than the compiler knows, never more: bounds that are too wide
still match.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from iree.compiler import ir

from iree_tuner.compiler.unbound import parameters_of

_ASSUME = "util.assume.int"
_SAME = "iree_tensor_ext.dispatch.workload.ordinal"
_LOAD = "iree_tensor_ext.dispatch.tensor.load"
_SAYS_NOTHING = 2**53 - 1
"""The compiler's assumptions about every size: IREE's bound on dimensions of tensors."""


class Bounds(NamedTuple):
    """The facts about a size; the fields are those of `DynamicLoop`."""

    lower: int = 0
    upper: int | None = None
    multiple: int = 1


def extent(tensor: ir.Value, position: int) -> ir.Value | None:
    """The value that is the size of a tensor's dynamic dimension; None where it is not seen."""
    owner = tensor.owner
    if isinstance(owner, ir.Block):
        return None
    op = owner.operation
    dynamic = ir.ShapedType.get_dynamic_size()
    if op.name == "tensor.empty":
        return op.operands[list(ir.RankedTensorType(tensor.type).shape[:position]).count(dynamic)]
    if op.name == _LOAD:
        static = list(ir.DenseI64ArrayAttr(op.attributes["static_sizes"]))
        if len(static) != ir.RankedTensorType(tensor.type).rank or static[position] != dynamic:
            return None
        segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
        return op.operands[sum(segments[:3]) + static[:position].count(dynamic)]
    if op.name.startswith("linalg."):
        inits = len(op.operands) - len(op.results)
        return extent(op.operands[inits + ir.OpResult(tensor).result_number], position)
    return None


def bounds(size: ir.Value | None) -> Bounds:
    """The program's assumptions about a size."""
    if size is None or isinstance(size.owner, ir.Block):
        return Bounds()
    op = size.owner.operation
    if op.name == "arith.constant":
        value = ir.IntegerAttr(op.attributes["value"]).value
        return Bounds(value, value, max(value, 1))
    if op.name == _SAME:
        return bounds(op.operands[0])
    if op.name == _ASSUME:
        return _assumed(ir.ArrayAttr(op.attributes["assumptions"])[ir.OpResult(size).result_number])
    divided = quotient(op)
    if divided is not None:
        whole, divisor = bounds(divided[0]), divided[1]
        upper = None if whole.upper is None else whole.upper // divisor
        multiple = 1 if whole.multiple % divisor else whole.multiple // divisor
        return Bounds(whole.lower // divisor, upper, multiple)
    return Bounds()


def quotient(op: ir.Operation) -> tuple[ir.Value, int] | None:
    """Dividend and divisor of an `affine.apply` that divides by a constant, and does nothing else.

    Blocks of a dynamic dimension are counted so (BlockDynamicDimensions, on GPUs).
    """
    if op.name != "affine.apply" or len(op.operands) != 1:
        return None
    (expression,) = ir.AffineMapAttr(op.attributes["map"]).value.results
    if not isinstance(expression, ir.AffineFloorDivExpr):
        return None
    dividend, divisor = expression.lhs, expression.rhs
    if isinstance(dividend, ir.AffineSymbolExpr | ir.AffineDimExpr) and isinstance(
        divisor, ir.AffineConstantExpr
    ):
        return op.operands[0], divisor.value
    return None


def _assumed(assumptions: ir.Attribute) -> Bounds:
    """The facts that hold under each of several assumptions."""
    found = [
        {name: ir.IntegerAttr(value).value for name, value in parameters_of(each).items()}
        for each in ir.ArrayAttr(assumptions)
    ]
    upper = max((each.get("umax", _SAYS_NOTHING) for each in found), default=_SAYS_NOTHING)
    return Bounds(
        lower=min((each.get("umin", 0) for each in found), default=0),
        upper=None if upper >= _SAYS_NOTHING else upper,
        multiple=math.gcd(*(each.get("udiv", 1) for each in found)) if found else 1,
    )
