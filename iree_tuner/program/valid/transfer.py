"""Rules of ops: the integers that operands may be so that a result is a wanted one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from iree.compiler import ir

from iree_tuner.compiler.context import defining_op
from iree_tuner.ops.structure import iterators, loop_sizes
from iree_tuner.program.valid.bodies import (
    MOVES,
    NUMBERED,
    column_of,
    compared,
    followed,
    is_structured,
    terminator,
)
from iree_tuner.program.valid.interval import EVERYTHING, Interval, corners
from iree_tuner.program.valid.known import Ranges

# Whether a condition holds for all integers of an interval.


_EQ, _NE, _SLT, _SLE, _SGT, _SGE, _ULT, _ULE, _UGT, _UGE = range(10)
_SIGNED = {_ULT: _SLT, _ULE: _SLE, _UGT: _SGT, _UGE: _SGE}
_TURNED = {_SGT: _SLT, _SGE: _SLE}


def truth(condition: ir.Value, root: ir.Value, interval: Interval, known: Ranges) -> bool | None:
    """Whether a condition holds for all values of `root` in an interval; None if that is not certain."""
    op = defining_op(followed(condition)[0])
    if op is None:
        return None
    if op.name == "arith.constant":
        found = known.exact(op.results[0])
        return None if found is None else bool(found)
    if op.name not in ("arith.andi", "arith.ori", "arith.xori", "arith.cmpi"):
        return None
    kind = op.operands[0].type
    if not (isinstance(kind, ir.IntegerType) and kind.width == 1):
        return _compared(op, root, interval, known) if op.name == "arith.cmpi" else None
    left, right = (truth(each, root, interval, known) for each in op.operands)
    if op.name == "arith.andi":
        return False if False in (left, right) else (None if None in (left, right) else True)
    if op.name == "arith.ori":
        return True if True in (left, right) else (None if None in (left, right) else False)
    if left is None or right is None:
        return None
    if op.name == "arith.xori":
        return left != right
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    return {_EQ: left == right, _NE: left != right}.get(predicate)


def _compared(op: ir.Operation, root: ir.Value, interval: Interval, known: Ranges) -> bool | None:
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    first, second = (_range(each, root, interval, known) for each in op.operands)
    if predicate in _SIGNED:
        if any(each.low is None or each.low < 0 for each in (first, second)):
            return None
        predicate = _SIGNED[predicate]
    if predicate in _TURNED:
        first, second, predicate = second, first, _TURNED[predicate]
    below = _less(first.high, second.low, strict=True)
    above = _less(second.high, first.low, strict=True)
    if predicate in (_EQ, _NE):
        if below or above:
            return predicate == _NE
        same = first.low is not None and first.low == first.high == second.low == second.high
        return predicate == _EQ if same else None
    if _less(first.high, second.low, strict=predicate == _SLT):
        return True
    return False if _less(second.high, first.low, strict=predicate == _SLE) else None


def _less(first: int | None, second: int | None, *, strict: bool) -> bool:
    """Whether a bound is certainly less than another one, or equal to it if that is enough."""
    if first is None or second is None:
        return False
    return first < second if strict else first <= second


def _range(value: ir.Value, root: ir.Value, interval: Interval, known: Ranges) -> Interval:
    own, offset = followed(value)
    if own == root:
        return interval.shifted(offset)
    return known.range(value) or Interval()


Demands = list[tuple[ir.Value, Interval]]
_Rule = Callable[[ir.Operation, Interval, Ranges], Demands | None]

_ALL = ("tensor.from_elements", "tensor.concat", "tensor.insert", "tensor.insert_slice", "flow.tensor.update")
"""Ops whose results have values of all their tensors and elements."""

_CONVERTS = (
    "math.floor", "math.ceil", "math.round", "math.roundeven", "math.trunc", "arith.extf", "arith.truncf",
    "arith.fptosi", "arith.fptoui", "arith.sitofp", "arith.uitofp",
)  # fmt: skip
_LESS = {
    _SLT: ("x", -1), _SLE: ("x", 0), _ULT: ("x", -1), _ULE: ("x", 0),
    _SGT: ("y", 0), _SGE: ("y", -1), _UGT: ("y", 0), _UGE: ("y", -1),
}  # fmt: skip
"""By predicate of `arith.cmpi`: the branch of smaller values, and the largest one beyond the constant."""

_POSITIVE = Interval(0)


def demands_on_operands(op: ir.Operation, number: int, wanted: Interval, known: Ranges) -> Demands | None:
    """The integers that operands may be so that a result is `wanted`; None for an op without a rule.

    Demands on values that are known anyway have no effect.
    """
    name = op.name
    if name == "tensor.extract" and len(op.operands) > 1:
        place = known.exact(op.operands[len(op.operands) - 1])
        return [(op.operands[0] if place is None else column_of(op.operands[0], place), wanted)]
    if name in (*MOVES, *_CONVERTS):
        return [(op.operands[0], wanted)]
    if name in (*NUMBERED, "iree_linalg_ext.sort"):
        return [(op.operands[number], wanted)]
    if name in _ALL:
        return [(each, wanted) for each in op.operands if not _is_place(each, op)]
    if name == "tensor.pad":
        return [(op.operands[0], wanted), (terminator(op.regions[0]).operands[0], wanted)]
    if name == "tensor.generate":
        return [(terminator(op.regions[0]).operands[0], wanted)]
    if name == "iree_linalg_ext.scatter":
        return [(op.operands[0], wanted), (op.operands[len(op.operands) - 1], wanted)]
    if name == "iree_linalg_ext.scan" and number == 0:
        return _scan(op, wanted, known)
    if is_structured(op):
        return _structured(op, number, wanted)
    rule = _RULES.get(name)
    return None if rule is None else rule(op, wanted, known)


def _is_place(value: ir.Value, op: ir.Operation) -> bool:
    """Whether an operand is an index, an offset or a size, and not among the values of the result."""
    return isinstance(value.type, ir.IndexType) and not isinstance(_element(op.results[0].type), ir.IndexType)


def _element(kind: ir.Type) -> ir.Type:
    return kind.element_type if isinstance(kind, ir.ShapedType) else kind


def _structured(op: ir.Operation, number: int, wanted: Interval) -> Demands:
    """Through the body of a structured op. Each addend has its part of a sum."""
    given = terminator(op.regions[0]).operands[number]
    by = defining_op(given)
    if "reduction" not in iterators(op) or by is None or by.name != "arith.addi":
        return [(given, wanted)]
    arguments = op.regions[0].blocks[0].arguments
    sum_ = arguments[len(arguments) - len(op.results) + number]
    addends = [each for each in by.operands if each != sum_]
    sizes = loop_sizes(op) or ()
    count = math.prod(
        size or 1 for size, kind in zip(sizes, iterators(op), strict=False) if kind == "reduction"
    )
    return [(each, wanted.divided(max(1, count))) for each in addends]


def _scan(op: ir.Operation, wanted: Interval, known: Ranges) -> Demands:
    """Running sums: each addend has its part of the longest."""
    count = known.size(op.operands[0], ir.IntegerAttr(op.attributes["dimension"]).value)
    part = wanted.divided(max(1, count or 1))
    return [(op.operands[0], Interval(part.high, part.high) if part.is_empty else part)]


def _added(op: ir.Operation, wanted: Interval, known: Ranges) -> Demands:
    left, right = op.operands[0], op.operands[1]
    if left == right:
        return [(left, wanted.divided(2))]
    first, second = known.range(left), known.range(right)
    if first is None and second is None:
        return [(left, wanted.shared()), (right, wanted.shared())]
    other, fixed = (left, second) if first is None else (right, first)
    return [(other, _beyond(wanted, fixed or EVERYTHING))]


def _beyond(wanted: Interval, added: Interval) -> Interval:
    """The integers whose sums with all of `added` are wanted; the least one if there are none."""
    if added.low is None or added.high is None:
        return EVERYTHING
    found = wanted.shifted(-added.low, -added.high)
    return Interval(found.low, found.low, found.distinct) if found.is_empty else found


def _subtracted(op: ir.Operation, wanted: Interval, known: Ranges) -> Demands:
    left, right = op.operands[0], op.operands[1]
    first, second = known.range(left), known.range(right)
    if second is not None:
        return [(left, _beyond(wanted, second.negated()))]
    if first is not None:
        return [(right, _beyond(wanted.negated(), first.negated()))]
    if wanted.low is None or wanted.high is None:
        return [(left, wanted), (right, Interval(0, 0))]
    half = (wanted.high - wanted.low) // 2
    return [(left, Interval(wanted.low + half, wanted.high)), (right, Interval(0, half))]


def _multiplied(op: ir.Operation, wanted: Interval, known: Ranges) -> Demands:
    left, right = op.operands[0], op.operands[1]
    first, second = known.range(left), known.range(right)
    if first is None and second is None:
        if wanted.high is None or wanted.high < 0 or (wanted.low or 0) > 0:
            return []
        root = Interval(0, math.isqrt(wanted.high))
        return [(left, root), (right, root)]
    other, by = (left, second) if first is None else (right, first)
    if by is None or by.low is None or by.high is None:
        return []
    if by.low == by.high and by.low < 0:
        return [(other, wanted.negated().divided(-by.low))]
    if by.low < 0 or by.high == 0:
        return []
    if by.low != by.high and (wanted.low or 0) > 0:
        return []
    return [(other, wanted.divided(by.high))]


def _divided(op: ir.Operation, wanted: Interval, known: Ranges) -> Demands | None:
    """Divisions, and shifts to the right."""
    divisor = known.exact(op.operands[1])
    if op.name in ("arith.shrsi", "arith.shrui"):
        if divisor is None or divisor < 0:
            return None
        divisor = 1 << divisor
    if divisor is None or divisor <= 0:
        return [(op.operands[0], wanted)]
    low, high = wanted.low, wanted.high
    towards_zero = op.name == "arith.divsi"
    if low is not None:
        low = low * divisor - (divisor - 1 if towards_zero and low <= 0 else 0)
    if high is not None:
        high = high * divisor + (0 if towards_zero and high < 0 else divisor - 1)
    found = Interval(low, high, wanted.distinct)
    return [(op.operands[0], found.meet(_POSITIVE) if op.name.endswith("ui") else found)]


def _remainder(op: ir.Operation, wanted: Interval, known: Ranges) -> Demands:
    """Any number that is not negative will do if all remainders are wanted; else a wanted one."""
    divisor = known.range(op.operands[1])
    if divisor is None or divisor.high is None or divisor.high <= 0:
        return [(op.operands[0], wanted)]
    every = Interval(0, divisor.high - 1)
    if every.is_within(wanted):
        return [(op.operands[0], every)]
    found = wanted.meet(every)
    negative = found.is_empty and op.name == "arith.remsi"
    return [(op.operands[0], wanted.meet(Interval(-divisor.high + 1)) if negative else found)]


def _masked(op: ir.Operation, wanted: Interval, known: Ranges) -> Demands | None:
    """`andi` with a constant: numbers up to it are in the range, and their parts are no larger."""
    for value, mask in ((op.operands[0], op.operands[1]), (op.operands[1], op.operands[0])):
        limit = known.exact(mask)
        if limit is not None and limit >= 0:
            return None if (wanted.low or 0) > 0 else [(value, wanted.meet(Interval(0, limit)))]
    return None


def _shifted_left(op: ir.Operation, wanted: Interval, known: Ranges) -> Demands | None:
    by = known.exact(op.operands[1])
    return None if by is None or by < 0 else [(op.operands[0], wanted.divided(1 << by))]


def _clamped(op: ir.Operation, wanted: Interval, known: Ranges) -> Demands:
    """A clamp makes any number legal. Numbers that it does not change are wanted."""
    lower = op.name in ("arith.maxsi", "arith.maxui")
    found: Demands = []
    for value, other in ((op.operands[0], op.operands[1]), (op.operands[1], op.operands[0])):
        limit, kept = known.range(other), wanted
        if limit is not None:
            kept = wanted.meet(Interval(limit.low) if lower else Interval(None, limit.high))
        found.append((value, kept))
    return found


def _selected(op: ir.Operation, wanted: Interval, known: Ranges) -> Demands:
    """Both values may be selected. `select(i < 0, i + n, i)` wraps negative indices: others are wanted."""
    wrapped = _wrapped(op, wanted, known) or _decided(op, wanted, known)
    if wrapped is not None:
        return [wrapped]
    return [(each, wanted) for each in list(op.operands)[1:]]


def _wrapped(op: ir.Operation, wanted: Interval, known: Ranges) -> tuple[ir.Value, Interval] | None:
    """The value that a comparison with a constant is of, and that both branches are with something added."""
    comparison = compared(op.operands[0])
    if comparison is None:
        return None
    (root, own), limit = followed(comparison.operands[0]), known.exact(comparison.operands[1])
    predicate = ir.IntegerAttr(comparison.attributes["predicate"]).value
    if limit is None or predicate not in _LESS:
        return None
    branches = [followed(each) for each in list(op.operands)[1:]]
    if any(value != root for value, _ in branches):
        return None
    smaller, by = _LESS[predicate]
    limit += by - own
    if smaller == "y":
        branches.reverse()
    below = wanted.shifted(-branches[0][1]).meet(Interval(None, limit))
    above = wanted.shifted(-branches[1][1]).meet(Interval(limit + 1))
    chosen = below if above.is_empty or (above.low or 0) < 0 <= (below.low or -1) else above
    return None if chosen.is_empty else (root, chosen)


def _decided(op: ir.Operation, wanted: Interval, known: Ranges) -> tuple[ir.Value, Interval] | None:
    """The value that both branches are with something added, if one of them is certain to be selected."""
    branches = [followed(each) for each in list(op.operands)[1:]]
    root = branches[1][0]
    if branches[0][0] != root:
        return None
    for least in (Interval(0), EVERYTHING):
        for branch, (_, offset) in ((False, branches[1]), (True, branches[0])):
            chosen = wanted.shifted(-offset).meet(least)
            if not chosen.is_empty and truth(op.operands[0], root, chosen, known) == branch:
                return root, chosen
    return None


def _apply(op: ir.Operation, wanted: Interval, known: Ranges) -> Demands | None:
    """`affine.apply`: from the whole expression to its dimensions and symbols."""
    mapped = ir.AffineMapAttr(op.attributes["map"]).value
    return _expression(mapped.results[0], list(op.operands), mapped.n_dims, wanted, known)


def _expression(
    found: ir.AffineExpr, operands: Sequence[ir.Value], dims: int, wanted: Interval, known: Ranges
) -> Demands | None:
    if isinstance(found, ir.AffineConstantExpr):
        return []
    if isinstance(found, ir.AffineDimExpr | ir.AffineSymbolExpr):
        place = found.position + (dims if isinstance(found, ir.AffineSymbolExpr) else 0)
        return [(operands[place], wanted)]
    if not isinstance(found, ir.AffineBinaryExpr):
        return None
    left, right = found.lhs, found.rhs
    if isinstance(found, ir.AffineAddExpr):
        ranges = [_range_of(each, operands, dims, known) for each in (left, right)]
        demands: Demands = []
        for each, other, own in ((left, ranges[1], ranges[0]), (right, ranges[0], ranges[1])):
            if own is None:
                part = wanted.shared() if other is None else _beyond(wanted, other)
                demands += _expression(each, operands, dims, part, known) or []
        return demands
    if not isinstance(right, ir.AffineConstantExpr) or not right.value:
        return None
    if right.value < 0:
        return _expression(left, operands, dims, wanted.negated().divided(-right.value), known)
    if isinstance(found, ir.AffineMulExpr):
        return _expression(left, operands, dims, wanted.divided(right.value), known)
    if isinstance(found, ir.AffineModExpr):
        every = Interval(0, right.value - 1)
        part = every if every.is_within(wanted) else wanted.meet(every)
        return _expression(left, operands, dims, part, known)
    low = None if wanted.low is None else wanted.low * right.value
    high = None if wanted.high is None else wanted.high * right.value
    if isinstance(found, ir.AffineFloorDivExpr):
        high = None if high is None else high + right.value - 1
    elif low is not None:
        low -= right.value - 1
    return _expression(left, operands, dims, Interval(low, high, wanted.distinct), known)


def _range_of(
    found: ir.AffineExpr, operands: Sequence[ir.Value], dims: int, known: Ranges
) -> Interval | None:
    if isinstance(found, ir.AffineConstantExpr):
        return Interval(found.value, found.value)
    if isinstance(found, ir.AffineDimExpr | ir.AffineSymbolExpr):
        return known.range(operands[found.position + (dims if isinstance(found, ir.AffineSymbolExpr) else 0)])
    if not isinstance(found, ir.AffineAddExpr | ir.AffineMulExpr):
        return None
    left, right = (_range_of(each, operands, dims, known) for each in (found.lhs, found.rhs))
    if left is None or right is None or right.low is None or right.high is None:
        return None
    if isinstance(found, ir.AffineAddExpr):
        return left.shifted(right.low, right.high)
    if left.low is None or left.high is None or right.low != right.high:
        return None
    return corners(left, right)


_RULES: dict[str, _Rule] = {
    "arith.addi": _added, "arith.subi": _subtracted, "arith.muli": _multiplied, "arith.divsi": _divided,
    "arith.divui": _divided, "arith.floordivsi": _divided, "arith.remsi": _remainder,
    "arith.remui": _remainder, "arith.andi": _masked, "arith.shrsi": _divided,
    "arith.shrui": _divided, "arith.shli": _shifted_left, "arith.maxsi": _clamped,
    "arith.maxui": _clamped, "arith.minsi": _clamped, "arith.minui": _clamped, "arith.select": _selected,
    "affine.apply": _apply,
}  # fmt: skip
