"""Which keys a query sees: masks that exporters compute from positions, as sums of multiples of loops.

Exporters compute positions by counters, and cast, move and repeat these before they compare them. A mask is
followed back to the counters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from iree.compiler import ir

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.shapes import groups_of, moved_by
from iree_tuner.ops.structure import indexing_maps

_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")
# By predicate of cmpi: a sign of `left - right`, and a summand, for which the sum is at least 0
_AT_LEAST_ZERO = {2: (-1, -1), 3: (-1, 0), 4: (1, -1), 5: (1, 0)}  # slt, sle, sgt, sge
_MOST_STEPS, _LEAST_BITS = 64, 32


@dataclass(frozen=True)
class Sum:
    """A constant plus multiples of loops; with `condition`, whether that and all `others` are at least 0."""

    constant: int = 0
    times: Mapping[int, int] = field(default_factory=dict[int, int])
    condition: bool = False
    others: tuple[Sum, ...] = ()

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        loops = dict.fromkeys((*self.times, *other.times))
        times = {each: self.times.get(each, 0) + factor * other.times.get(each, 0) for each in loops}
        kept = {loop: count for loop, count in times.items() if count}
        return Sum(self.constant + factor * other.constant, kept)


def said_by(mask: ir.Value, loops: Sequence[int | None]) -> Sum | None:
    """The sum that is at least 0 where a query sees a key, like its `others`; None if nothing is compared.

    `loops` are those of the mask's dimensions; None for size 1.
    """
    found = _Reading().value(mask, [Sum() if loop is None else Sum(times={loop: 1}) for loop in loops])
    return found if found is not None and found.condition else None


class _Reading:
    """Evaluate elements of tensors as sums, in a bounded number of steps."""

    def __init__(self) -> None:
        self._steps = 0

    def value(self, value: ir.Value, place: Sequence[Sum]) -> Sum | None:
        """The element of a value at these indices; None if it is no such sum."""
        op = producer(value)
        self._steps += 1
        if op is None or self._steps > _MOST_STEPS:
            return None
        if op.name == "arith.constant":
            return _constant(op)
        if op.name == "tensor.expand_shape":
            return self.value(op.operands[0], _joined(op, place))
        if op.name == "tensor.collapse_shape":
            apart = _apart(op, place)
            return None if apart is None else self.value(op.operands[0], apart)
        if op.name == "linalg.fill":
            return self.value(op.operands[0], ())
        if (moved := moved_by(op)) is not None:
            return self.value(op.operands[0], [Sum() if each is None else place[each] for each in moved])
        return self._generic(op, place) if op.name == "linalg.generic" else None

    def _generic(self, op: ir.Operation, place: Sequence[Sum]) -> Sum | None:
        *reads, written = indexing_maps(op)
        if not written.is_permutation or len(op.results) != 1:
            return None
        loops = {ir.AffineDimExpr(each).position: at for each, at in zip(written.results, place, strict=True)}
        block = op.regions[0].blocks[0]
        known: dict[ir.Value, Sum | None] = {}
        for argument, operand, own in zip(block.arguments, op.operands, reads, strict=False):
            at = [_at(each, loops) for each in own.results]
            inside = [each for each in at if each is not None]
            known[argument] = self.value(operand, inside) if len(inside) == len(at) else None
        *steps, end = [each.operation for each in block.operations]
        for step in steps:
            known[step.results[0]] = _computed(step, known, loops)
        return known.get(end.operands[0])


def _computed(op: ir.Operation, known: Mapping[ir.Value, Sum | None], loops: Mapping[int, Sum]) -> Sum | None:
    if op.name == "linalg.index":
        return loops[ir.IntegerAttr(op.attributes["dim"]).value]
    if op.name == "arith.constant":
        return _constant(op)
    given: list[Sum | None] = [known.get(each) or _outside(each) for each in op.operands]
    first, second = (*given, None, None)[:2]
    if first is not None and op.name in _CASTS:
        kind = op.result.type  # wide enough for all positions; narrower types may wrap around
        return first if isinstance(kind, ir.IndexType) or ir.IntegerType(kind).width >= _LEAST_BITS else None
    if first is not None and second is not None and first.condition and second.condition:
        others = (*first.others, replace(second, others=()), *second.others)
        return replace(first, others=others) if op.name == "arith.andi" else None
    if first is None or second is None or first.condition or second.condition:
        return None
    if op.name in ("arith.addi", "arith.subi"):
        return first.plus(second, 1 if op.name == "arith.addi" else -1)
    if op.name == "arith.cmpi":
        sides = _AT_LEAST_ZERO.get(ir.IntegerAttr(op.attributes["predicate"]).value)
        if sides is None:
            return None
        sign, more = sides
        apart = Sum(more).plus(first, sign).plus(second, -sign)
        return Sum(apart.constant, apart.times, condition=True)
    return None


def _outside(value: ir.Value) -> Sum | None:
    """A constant from outside a body, which uses it."""
    op = producer(value)
    return _constant(op) if op is not None and op.name == "arith.constant" else None


def _constant(op: ir.Operation) -> Sum | None:
    value = op.attributes["value"]
    if isinstance(value, ir.DenseIntElementsAttr) and value.is_splat:
        value = value.get_splat_value()
    if not isinstance(value, ir.IntegerAttr) or value.type == ir.IntegerType.get_signless(1):
        return None
    return Sum(value.value)


def _at(result: ir.AffineExpr, loops: Mapping[int, Sum]) -> Sum | None:
    if isinstance(result, ir.AffineConstantExpr):
        return Sum(result.value)
    return loops.get(result.position) if isinstance(result, ir.AffineDimExpr) else None


def _joined(op: ir.Operation, place: Sequence[Sum]) -> list[Sum]:
    """The indices into the operand of a reshape that splits dimensions."""
    shape = ir.RankedTensorType(op.result.type).shape
    found: list[Sum] = []
    for group in groups_of(op):
        at = Sum()
        for number, each in enumerate(group):
            at = at.plus(place[each], prod(shape[more] for more in group[number + 1 :]))
        found.append(at)
    return found


def _apart(op: ir.Operation, place: Sequence[Sum]) -> list[Sum] | None:
    """The indices into the operand of a reshape that joins dimensions; None if two of them exceed size 1."""
    shape = ir.RankedTensorType(op.operands[0].type).shape
    found: list[Sum] = []
    for group, at in zip(groups_of(op), place, strict=True):
        long = [each for each in group if shape[each] > 1]
        if len(long) > 1:
            return None
        found += [at if each in long else Sum() for each in group]
    return found
