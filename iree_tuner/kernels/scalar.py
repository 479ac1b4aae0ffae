"""Evaluate scalar ops, or the same ops on whole tensors, as expressions of their operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from iree.compiler import ir
from iree.compiler.dialects import arith

from iree_tuner.kernels.expression import (
    Polynomial,
    add,
    apply,
    bounded,
    erf_of,
    multiply,
    number,
    scale,
    varies,
)

_Operands = Sequence[Polynomial]


def evaluate(op: ir.Operation, operands: _Operands) -> Polynomial | None:
    """The expression of an op's result; None for ops that no epilogue has, and for too long expressions."""
    if op.name == "arith.constant":
        return constant_of(op)
    if op.name == "arith.cmpf":
        predicate = _COMPARISONS.get(ir.IntegerAttr(op.attributes["predicate"]).value)
        difference = _subtract(operands)
        return None if predicate is None or difference is None else apply(predicate, difference)
    found = _OPS.get(op.name)
    return found(operands) if found is not None else None


def constant_of(op: ir.Operation) -> Polynomial | None:
    """The value of a constant; None for other ops."""
    constant = op.opview
    if not isinstance(constant, arith.ConstantOp):
        return None
    value = constant.value
    if (
        isinstance(value, ir.DenseFPElementsAttr)
        and value.is_splat
        and not ir.RankedTensorType(value.type).rank
    ):
        value = value.get_splat_value()
    return number(float(value.value)) if isinstance(value, ir.IntegerAttr | ir.FloatAttr) else None


def _subtract(operands: _Operands) -> Polynomial | None:
    return add(operands[0], scale(operands[1], -1.0))


def _divide(operands: _Operands) -> Polynomial | None:
    by = operands[1].constant
    if by is None:
        return multiply(operands[0], apply("inverse", operands[1]))
    return scale(operands[0], 1 / by) if by else None


def _maximum(operands: _Operands) -> Polynomial | None:
    """A maximum with a constant."""
    others = [each for each in operands if each.constant is None]
    bounds = [each.constant for each in operands if each.constant is not None]
    if len(others) != 1 or len(bounds) != 1:
        return None
    return apply("relu", others[0]) if bounds[0] == 0 else _erf(bounded("at_least", others[0], bounds[0]))


def _minimum(operands: _Operands) -> Polynomial | None:
    """A minimum with a constant."""
    others = [each for each in operands if each.constant is None]
    bounds = [each.constant for each in operands if each.constant is not None]
    if len(others) != 1 or len(bounds) != 1:
        return None
    return apply("at_most_6", others[0]) if bounds[0] == 6 else _erf(bounded("at_most", others[0], bounds[0]))


def _erf(found: Polynomial) -> Polynomial:
    """The expression; if it approximates erf, erf of its argument."""
    inner = erf_of(found)
    return found if inner is None else apply("erf", inner)


def _select(operands: _Operands) -> Polynomial | None:
    """A maximum with 0 or a minimum with 6, written as a choice by a comparison of both values.

    With a NaN, unordered comparisons are true, and ordered ones are false.
    """
    condition, one, other = operands
    ((factors, _), *rest) = condition.terms or (((), 0.0),)
    if rest or len(factors) != 1 or factors[0][1] is None:
        return None
    name, difference = factors[0]
    forward, backward = _subtract((one, other)), _subtract((other, one))
    if name[1:] not in ("gt", "lt") or difference not in (forward, backward):
        return None
    larger = (name[1:] == "gt") == (difference == forward)
    value, by = (one, other) if other.constant is not None else (other, one)
    stays = (value is one) == (name[0] == "u")
    if larger and by.constant == 0:
        return apply("relu" if stays else "relu_ordered", value)
    return apply("at_most_6", value) if by.constant == 6 and not larger and stays else None


def _power(operands: _Operands) -> Polynomial | None:
    """A square or a cube."""
    base, exponent = operands
    square = multiply(base, base)
    if exponent.constant not in (2, 3) or square is None:
        return None
    return square if exponent.constant == 2 else multiply(square, base)


def _root(operands: _Operands) -> Polynomial | None:
    value = operands[0].constant
    return number(math.sqrt(value)) if value is not None and value >= 0 else None


def _erfc(operands: _Operands) -> Polynomial | None:
    return add(number(1.0), scale(apply("erf", operands[0]), -1.0))


def _extend(operands: _Operands) -> Polynomial | None:
    """A widening. It is dropped for operands without `X`, and kept for the sums, see `_truncate`."""
    return apply("extf", operands[0]) if varies(operands[0]) else operands[0]


def _truncate(operands: _Operands) -> Polynomial | None:
    """A truncation. After an erf of widened sums it is dropped: kernels compute erf in the wider type."""
    ((factors, times), *rest) = operands[0].terms or (((), 0.0),)
    if not rest and len(factors) == 1 and abs(times) == 1 and factors[0][0] == "erf":
        widened = factors[0][1].terms if factors[0][1] is not None else ()
        if len(widened) == 1 and len(widened[0][0]) == 1 and widened[0][0][0][0] == "extf":
            inside = widened[0][0][0][1]
            assert inside is not None
            return scale(apply("erf", scale(inside, widened[0][1])), times)
    return apply("truncf", operands[0])


_OPS: Mapping[str, Callable[[_Operands], Polynomial | None]] = {
    "arith.addf": lambda operands: add(*operands),
    "arith.subf": _subtract,
    "arith.mulf": lambda operands: multiply(*operands),
    "arith.divf": _divide,
    "arith.negf": lambda operands: scale(operands[0], -1.0),
    "arith.maximumf": _maximum,
    "arith.minimumf": _minimum,
    "arith.select": _select,
    "arith.extf": _extend,
    "arith.truncf": _truncate,
    "math.fpowi": _power,
    "math.powf": _power,
    "math.sqrt": _root,
    "math.exp": lambda operands: apply("exp", operands[0]),
    "math.erf": lambda operands: apply("erf", operands[0]),
    "math.erfc": _erfc,
    "math.tanh": lambda operands: apply("tanh", operands[0]),
}

_COMPARISONS: Mapping[int, str] = {
    2: "ogt",
    3: "ogt",
    4: "olt",
    5: "olt",
    9: "ugt",
    10: "ugt",
    11: "ult",
    12: "ult",
}
"""Names of cmpf's predicates. `>=` counts as `>`: for equal numbers, both choices give the same value."""
