"""Solves an equality for one of its variables: what makes a variable follow from others."""

from __future__ import annotations

from iree_tuner.space.bounds import Bounds, interval
from iree_tuner.space.interpreter import Node


def solve(part: Node, name: str, bounds: Bounds) -> Node | None:
    """An expression without `name` that equals it wherever `part` holds; None where there may be several.

    Where `part` does not hold for any value of `name`, the expression has some value: check `part` as well.
    """
    if part.kind != "smt.eq" or len(part.operands) != 2 or name not in part.support:
        return None
    for this, other in (part.operands, part.operands[::-1]):
        if name not in other.support:
            return _isolate(this, other, name, bounds)
    return None


def _isolate(node: Node, value: Node, name: str, bounds: Bounds) -> Node | None:
    """`name` such that `node == value`."""
    if node.kind == "variable":
        return value
    inside = [operand for operand in node.operands if name in operand.support]
    if len(inside) != 1:
        return None
    rest = tuple(operand for operand in node.operands if operand is not inside[0])
    match node.kind:
        case "smt.int.mul" if all(interval(factor, bounds)[0] >= 1 for factor in rest):
            for factor in rest:
                value = _operation("smt.int.div", value, factor)
        case "smt.int.add":
            for term in rest:
                value = _operation("smt.int.sub", value, term)
        case _:
            return None
    return _isolate(inside[0], value, name, bounds)


def _operation(kind: str, left: Node, right: Node) -> Node:
    return Node(kind, (left, right), None, left.support | right.support)
