"""Which keys a query sees: masks that exporters compute from positions, as sums of multiples of loops.

Exporters compute positions by counters, and cast, move and repeat these before they compare them. A mask is
followed back to the counters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.moved import LoopSum, NotIndexableError, SplitError, SplitLoop
from iree_tuner.kernels.moves import COLLAPSE, EXPAND, Indices, is_elementwise, operand_indices, source_index
from iree_tuner.kernels.shapes import CASTS, HIDDEN, rounded

_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")
# By predicate of cmpi: a sign of `left - right`, and a summand, for which the sum is at least 0
_AT_LEAST_ZERO = {2: (-1, -1), 3: (-1, 0), 4: (1, -1), 5: (1, 0)}  # slt, sle, sgt, sge
_MOST_STEPS, _LEAST_BITS = 64, 32

Conditions = tuple[LoopSum, ...]
"""Sums that are all at least 0 where a condition holds."""


@dataclass(frozen=True)
class Sum:
    """A constant plus multiples of loops."""

    constant: int
    times: Mapping[int, int]


@dataclass(frozen=True)
class _Hiding:
    """A summand of scores: 0 where all of these hold, and a low number elsewhere."""

    seen: Conditions


_Value = LoopSum | Conditions | _Hiding | float | None
"""What is known of an element; None if nothing is."""


def said_by(mask: ir.Value, loops: Sequence[int | None]) -> tuple[Sum, ...] | None:
    """The sums that are at least 0 where a query sees a key; None if nothing is compared.

    The mask has truth values, or is a summand of scores: 0, or so low a number that a key is hidden.
    `loops` are those of the mask's dimensions; None for size 1.
    """
    sizes = ir.RankedTensorType(mask.type).shape
    index = tuple(  # a loop of size 1 is compared, too: it is not left out
        LoopSum() if loop is None else LoopSum.of(0, {SplitLoop(loop, 0, max(2, size)): 1})
        for loop, size in zip(loops, sizes, strict=True)
    )
    try:
        found = _Reading().value(mask, index)
    except (SplitError, NotIndexableError):
        return None
    found = found.seen if isinstance(found, _Hiding) else found
    if not isinstance(found, tuple):
        return None
    times = [{loop.dimension: n for loop, n in each.terms if isinstance(loop, SplitLoop)} for each in found]
    return tuple(Sum(each.constant, own) for each, own in zip(found, times, strict=True))


class _Reading:
    """Evaluate elements of tensors, in a bounded number of steps."""

    def __init__(self) -> None:
        self._steps = 0

    def value(self, value: ir.Value, index: Indices) -> _Value:
        """The element of a value at an index; None if it is no sum and has no such conditions."""
        op = producer(value)
        self._steps += 1
        if op is None or self._steps > _MOST_STEPS:
            return None
        if op.name == "arith.constant":
            return _constant(op)
        if op.name in (EXPAND, COLLAPSE):
            return self.value(op.operands[0], source_index(op, index))
        if not is_elementwise(op):
            return None
        loops, places = operand_indices(op, index)
        block = op.regions[0].blocks[0]
        inputs = zip(block.arguments, op.operands, places[:-1], strict=False)
        known = {argument: self.value(operand, place) for argument, operand, place in inputs}
        *steps, end = [each.operation for each in block.operations]
        for step in steps:
            known[step.results[0]] = _computed(step, known, loops)
        return known.get(end.operands[0])


def _computed(op: ir.Operation, known: Mapping[ir.Value, _Value], loops: Indices) -> _Value:
    if op.name == "linalg.index":
        return loops[ir.IntegerAttr(op.attributes["dim"]).value]
    if op.name == "arith.constant":
        return _constant(op)
    operands = [_outside(each) if (own := known.get(each)) is None else own for each in op.operands]
    if op.name == "arith.select":
        return _chosen(*operands)
    first, second = (*operands, None, None)[:2]
    if first is not None and op.name in _CASTS:
        kind = op.result.type  # wide enough for all positions; narrower types may wrap around
        return first if isinstance(kind, ir.IndexType) or ir.IntegerType(kind).width >= _LEAST_BITS else None
    if isinstance(first, float) and op.name in CASTS:
        return rounded(first, op.result.type)
    if isinstance(first, tuple) and isinstance(second, tuple):
        return (*first, *second) if op.name == "arith.andi" else None
    if not isinstance(first, LoopSum) or not isinstance(second, LoopSum):
        return None
    if op.name in ("arith.addi", "arith.subi"):
        return first.plus(second.times(1 if op.name == "arith.addi" else -1))
    if op.name == "arith.cmpi":
        sides = _AT_LEAST_ZERO.get(ir.IntegerAttr(op.attributes["predicate"]).value)
        if sides is not None:
            sign, more = sides
            return (first.plus(second.times(-1)).times(sign).plus(more),)
    return None


def _chosen(conditions: _Value, inside: _Value, outside: _Value) -> _Value:
    """The summand of scores that is one number where conditions hold, and another one elsewhere."""
    if not isinstance(conditions, tuple) or not isinstance(inside, float) or not isinstance(outside, float):
        return None
    if inside == 0.0 and outside <= HIDDEN:
        return _Hiding(conditions)
    if outside == 0.0 and inside <= HIDDEN and len(conditions) == 1:  # seen where the sum is less than 0
        return _Hiding((conditions[0].times(-1).plus(-1),))
    return None


def _outside(value: ir.Value) -> LoopSum | float | None:
    """A constant from outside a body, which uses it."""
    op = producer(value)
    return _constant(op) if op is not None and op.name == "arith.constant" else None


def _constant(op: ir.Operation) -> LoopSum | float | None:
    value = op.attributes["value"]
    if isinstance(value, ir.DenseIntElementsAttr | ir.DenseFPElementsAttr) and value.is_splat:
        value = value.get_splat_value()
    if isinstance(value, ir.FloatAttr):
        return value.value
    if not isinstance(value, ir.IntegerAttr) or value.type == ir.IntegerType.get_signless(1):
        return None
    return LoopSum(value.value)
