"""Whether a condition holds for all integers of an interval."""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.program.valid.bodies import defining, followed
from iree_tuner.program.valid.interval import Interval
from iree_tuner.program.valid.known import Known

_EQ, _NE, _SLT, _SLE, _SGT, _SGE, _ULT, _ULE, _UGT, _UGE = range(10)
_SIGNED = {_ULT: _SLT, _ULE: _SLE, _UGT: _SGT, _UGE: _SGE}
_TURNED = {_SGT: _SLT, _SGE: _SLE}


def truth(condition: ir.Value, root: ir.Value, interval: Interval, known: Known) -> bool | None:
    """Whether a condition holds for all values of `root` in an interval; None where that is not certain."""
    op = defining(followed(condition)[0])
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


def _compared(op: ir.Operation, root: ir.Value, interval: Interval, known: Known) -> bool | None:
    """A comparison of integers."""
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
    """Whether a bound is certainly less than another one, or equal to it where that is enough."""
    if first is None or second is None:
        return False
    return first < second if strict else first <= second


def _range(value: ir.Value, root: ir.Value, interval: Interval, known: Known) -> Interval:
    own, offset = followed(value)
    if own == root:
        return interval.shifted(offset)
    return known.range(value) or Interval()
