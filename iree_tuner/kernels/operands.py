"""Operands of a product that the program computes of smaller arrays: weights of few bits and their scales.

Programs widen integers of 8 or 4 bits, unpack several of them from one, subtract zero points and multiply by
scales of channels or of groups, in any order and with any reshapes in between. All of it is found as data
flow, and a kernel computes the operand's elements where it needs them (`Nest`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from iree.compiler import ir

from iree_tuner.kernels.fused_op import FusedPlan, build, plan_of
from iree_tuner.kernels.moved import NotIndexableError
from iree_tuner.kernels.moves import (
    HOISTED,
    graph_of,
    is_elementwise,
    is_followed,
    is_move,
    is_source,
)
from iree_tuner.kernels.nest import Nest
from iree_tuner.kernels.planned_nest import nest_of
from iree_tuner.ops.element_type import ElementType

_MOST_OPS, _MOST_ARRAYS = 48, 4
_EXACT = 8  # bits of integers that f16 and bf16 have without rounding


@dataclass(frozen=True)
class ComputedOperand:
    """An operand of a product, as the program computes it.

    Attributes:
        value: the operand.
        inputs: the arrays that it is computed of.
        ops: the ops that compute it, producers first.
        plan, nest: the computation of an element; loops of the nest are those of the operand's dimensions.
    """

    value: ir.Value
    inputs: tuple[ir.Value, ...]
    ops: tuple[ir.Operation, ...]
    plan: FusedPlan
    nest: Nest

    def built(self, arguments: Sequence[ir.Value]) -> ir.Value:
        """The operand as one op of these arguments, at the current insertion point."""
        if not self.ops:
            return arguments[0]
        return build(self.plan, dict(zip(self.inputs, arguments, strict=True)), self.value.type)


def computed_operands(root: ir.Operation) -> tuple[ComputedOperand | None, ComputedOperand | None]:
    """How both operands of a product are computed, see `computed_operand`."""
    kinds = [ir.RankedTensorType(each.type).element_type for each in root.operands[:2]]
    factor = next((each for each in kinds if isinstance(each, ir.FloatType)), None)
    if factor is None:
        return None, None
    return computed_operand(root, 0, factor), computed_operand(root, 1, factor)


def computed_operand(root: ir.Operation, at: int, factor: ir.FloatType) -> ComputedOperand | None:
    """How an operand of a product is computed; None unless that takes arrays of fewer bits.

    `factor` is the type of the elements that are multiplied. A product may widen integers itself.
    """
    most = math.prod(ir.RankedTensorType(root.operands[at].type).shape)
    every = partial(_is_followed, most=most)

    def moves(op: ir.Operation) -> bool:
        return every(op) and is_move(op)

    return _computed_by(root, at, factor, every) or _computed_by(root, at, factor, moves)


def _computed_by(
    root: ir.Operation, at: int, factor: ir.FloatType, follows: Callable[[ir.Operation], bool]
) -> ComputedOperand | None:
    """How ops that are followed compute an operand: all, or, if these read too much, moves before a cast."""
    value = root.operands[at]
    kind = ir.RankedTensorType(value.type)
    ops, inputs = graph_of(value, follows, _MOST_OPS)
    widens = _widens(root, at)
    computes = any(is_elementwise(each) and not is_move(each) and not is_source(each) for each in ops)
    most = math.prod(kind.shape) * factor.width
    if not (widens or computes) or len(inputs) > _MOST_ARRAYS or sum(map(_bits, inputs)) >= most:
        return None
    try:
        plan = plan_of(ops, value)
    except NotIndexableError:
        return None
    nest = nest_of(plan, inputs, places=True)
    if nest is not None and widens:
        nest = nest.then(widens, str(factor))
    return None if nest is None else ComputedOperand(value, inputs, ops, plan, nest)


def _widens(root: ir.Operation, at: int) -> str:
    """The op by which a product widens the integers of an operand that its factors can hold; or empty."""
    kind = ir.RankedTensorType(root.operands[at].type).element_type
    if not isinstance(kind, ir.IntegerType) or kind.width > _EXACT:
        return ""
    uses = [use.owner.operation.name for use in root.regions[0].blocks[0].arguments[at].uses]
    return uses[0] if uses in (["arith.sitofp"], ["arith.uitofp"]) else ""


def _is_followed(op: ir.Operation, most: int) -> bool:
    if op.name in HOISTED or not is_followed(op):
        return False
    return math.prod(ir.RankedTensorType(op.result.type).shape) <= most


def _bits(value: ir.Value) -> int:
    kind = ir.RankedTensorType(value.type)
    return math.prod(kind.shape) * ElementType.of(kind).bits
