"""Fold the integer arithmetic by which a dispatch finds its tensors in its bindings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iree.compiler import ir

from iree_tuner.ops.structure import quotient

_SAME = (
    "arith.index_cast", "arith.index_castui", "arith.extui", "arith.extsi", "arith.trunci",
    "iree_tensor_ext.dispatch.workload.ordinal",
)  # fmt: skip
_BINARY: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.minsi": min,
    "arith.minui": min,
    "arith.maxsi": max,
    "arith.maxui": max,
    "arith.muli": lambda a, b: a * b,
    "arith.shli": lambda a, b: a << b,
    "arith.ori": lambda a, b: a | b,
}


def fold(value: ir.Value, constants: Sequence[int] | None) -> int | None:
    """The value of an integer, given the dispatch's push constants, if known; None when it is not."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    op = owner.operation
    if op.name == "arith.constant":
        return ir.IntegerAttr(op.attributes["value"]).value
    if op.name == "hal.interface.constant.load":
        return None if constants is None else constants[ir.IntegerAttr(op.attributes["ordinal"]).value]
    if op.name in _SAME:
        return fold(op.operands[0], constants)
    if op.name == "util.assume.int":
        return fold(op.operands[ir.OpResult(value).result_number], constants)
    divided = quotient(op)
    if divided is not None:
        dividend = fold(divided[0], constants)
        return None if dividend is None else dividend // divided[1]
    if op.name in _BINARY:
        left, right = (fold(operand, constants) for operand in op.operands)
        return None if left is None or right is None else _BINARY[op.name](left, right)
    return None
