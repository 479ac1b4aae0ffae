"""Scalar expressions as polynomials, so that different forms of a function (gelu, silu) become equal.

`0.5 * x * (1 + erf(x / sqrt(2)))` and `x * ((erf(x * 0.7071) + 1) * 0.5)` have the same terms. An atom is a
name, or a function of a polynomial; the terms of a polynomial are products of atoms with a coefficient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import arith

Atom = tuple[str, "Polynomial | None"]
"""A name alone, or the name of a function with its argument."""

Monomial = tuple[Atom, ...]

X: Atom = ("x", None)
"""The value at the beginning of a step."""

_MOST_TERMS, _MOST_FACTORS = 8, 14  # the numerator of erf has as many
_ODD = frozenset({"erf", "tanh"})


@dataclass(frozen=True)
class Polynomial:
    """A sum of products of atoms, sorted and each once, with coefficients that are not 0."""

    terms: tuple[tuple[Monomial, float], ...]

    @property
    def constant(self) -> float | None:
        """The value of a constant expression; None for other expressions."""
        if not self.terms:
            return 0.0
        ((factors, coefficient), *rest) = self.terms
        return None if factors or rest else coefficient

    def coefficients(self) -> dict[Monomial, float]:
        """The coefficient of each product of atoms."""
        return dict(self.terms)


def polynomial(terms: Mapping[Monomial, float]) -> Polynomial | None:
    """Make a polynomial of these terms; None if it has more terms or factors than any known step."""
    kept = {factors: coefficient for factors, coefficient in terms.items() if coefficient != 0.0}
    if len(kept) > _MOST_TERMS or any(len(factors) > _MOST_FACTORS for factors in kept):
        return None
    return Polynomial(tuple(sorted(kept.items(), key=repr)))


def number(value: float) -> Polynomial:
    """The expression of a constant."""
    return Polynomial((((), value),) if value != 0.0 else ())


def atom(one: Atom) -> Polynomial:
    """The expression of a single name or function."""
    return Polynomial((((one,), 1.0),))


def add(one: Polynomial, two: Polynomial) -> Polynomial | None:
    """The sum of two polynomials; None if it is too long."""
    terms = one.coefficients()
    for factors, coefficient in two.terms:
        terms[factors] = terms.get(factors, 0.0) + coefficient
    return polynomial(terms)


def multiply(one: Polynomial, two: Polynomial) -> Polynomial | None:
    """The product of two polynomials; None if it is too long."""
    terms: dict[Monomial, float] = {}
    for factors, coefficient in one.terms:
        for others, other in two.terms:
            product = tuple(sorted((*factors, *others), key=repr))
            terms[product] = terms.get(product, 0.0) + coefficient * other
    return polynomial(terms)


def scale(one: Polynomial, factor: float) -> Polynomial:
    """The polynomial times a factor."""
    return Polynomial(tuple((factors, coefficient * factor) for factors, coefficient in one.terms))


def apply(name: str, argument: Polynomial) -> Polynomial:
    """A function of an expression. For odd functions, f(-a) becomes -f(a) if the first term is negative."""
    if name in _ODD and argument.terms and argument.terms[0][1] < 0:
        return scale(atom((name, scale(argument, -1.0))), -1.0)
    return atom((name, argument))


def varies(found: Polynomial) -> bool:
    """Whether an expression depends on `X`."""
    factors = [each for product, _ in found.terms for each in product]
    return any(each == X or (each[1] is not None and varies(each[1])) for each in factors)


def gelu_of_x(found: Polynomial, epsilon: float) -> str:
    """`gelu` or `gelu_tanh` if the expression is that function of `X`; otherwise empty.

    `epsilon` is of the type of the computation, to which its constants are rounded.
    """
    terms = found.coefficients()
    linear = terms.pop((X,), 0.0)
    if len(terms) != 1 or linear != 0.5:
        return ""
    ((factors, half),) = terms.items()
    if half != 0.5 or len(factors) != 2 or X not in factors:
        return ""
    name, argument = next(each for each in factors if each != X)
    if argument is None or name not in _ARGUMENTS:
        return ""
    wanted, inside = _ARGUMENTS[name], argument.coefficients()
    if wanted.keys() != inside.keys():
        return ""
    near = all(math.isclose(inside[key], wanted[key], rel_tol=1.01 * epsilon) for key in wanted)
    return _GELUS[name] if near else ""


def bounded(side: str, argument: Polynomial, bound: float) -> Polynomial:
    """An expression limited by a bound; `side` is `at_least` or `at_most`."""
    return atom((f"{side} {bound!r}", argument))


def limited(found: Polynomial) -> tuple[Polynomial, float] | None:
    """The expression inside a limit to `-bound .. bound`, in either order, and the bound; None for others."""
    bounds: dict[str, float] = {}
    for side in ("at_least", "at_most") * 2:
        name, inner = _single(found)
        if inner is not None and name.startswith(f"{side} ") and side not in bounds:
            found, bounds[side] = inner, float(name.removeprefix(f"{side} "))
    if len(bounds) < 2 or bounds["at_least"] != -bounds["at_most"]:
        return None
    return found, bounds["at_most"]


def erf_of(found: Polynomial) -> Polynomial | None:
    """The argument of a rational function that is erf within f32's precision; None for other expressions.

    StableHLO has no erf. CHLO's erf becomes the quotient of two polynomials, limited to -1 and 1, of an
    argument limited to -4 and 4. Coefficients differ between versions, so values are compared.
    """
    outer = limited(found)
    if outer is None or outer[1] != 1.0:
        return None
    ratio = outer[0]
    arguments = {each for product, _ in ratio.terms for each in product if each[0].startswith("at_")}
    inner = limited(atom(arguments.pop())) if len(arguments) == 1 else None
    if inner is None or inner[1] < _ERF_IS_ONE:
        return None
    steps = [inner[1] * each / 32 for each in range(-32, 33)]
    values = [_value(ratio, each) for each in steps]
    near = all(
        value is not None and abs(value - math.erf(each)) < _NEAR
        for value, each in zip(values, steps, strict=True)
    )
    return inner[0] if near else None


def _single(found: Polynomial) -> Atom:
    """The atom of an expression that is a single atom; an atom without a name for other expressions."""
    first = found.terms[0] if len(found.terms) == 1 else ((), 0.0)
    return first[0][0] if len(first[0]) == 1 and first[1] == 1.0 else ("", None)


def _value(found: Polynomial, argument: float) -> float | None:
    """The value of an expression, with `argument` for its limited atom; None if it has other atoms."""
    total = 0.0
    for factors, coefficient in found.terms:
        for name, inside in factors:
            below = _value(inside, argument) if name == "inverse" and inside is not None else None
            if not below and not name.startswith("at_"):
                return None
            coefficient *= 1 / below if below else argument
        total += coefficient
    return total


def logistic_of_x(found: Polynomial, epsilon: float) -> str:
    """`silu` if an expression is `x / (1 + exp(-x))`, `sigmoid` without the factor; otherwise empty.

    `quick_gelu` if it is `x / (1 + exp(-1.702 x))`. `epsilon` is as in `gelu_of_x`.
    """
    factors, times = found.terms[0] if len(found.terms) == 1 else ((), 0.0)
    inside = [argument for name, argument in factors if name == "inverse" and argument is not None]
    others = [each for each in factors if each[0] != "inverse"]
    if len(inside) != 1 or times != 1.0 or others not in ([], [X]):
        return ""
    slope = _slope(inside[0])
    if slope == 1.0:
        return "silu" if others else "sigmoid"
    quick = slope is not None and math.isclose(slope, 1.702, rel_tol=1.01 * epsilon)
    return "quick_gelu" if others and quick else ""


def _slope(below: Polynomial) -> float | None:
    """The factor `a` of an expression `1 + exp(-a x)`; None for others."""
    terms = below.coefficients()
    if terms.pop((), 0.0) != 1.0 or len(terms) != 1:
        return None
    ((product, times),) = terms.items()
    name, argument = product[0]
    if len(product) != 1 or times != 1.0 or name != "exp" or argument is None:
        return None
    inside = argument.coefficients()
    return -inside[X,] if set(inside) == {(X,)} else None


_ERF_IS_ONE, _NEAR = 3.8, 1e-6  # erfc(3.8) is less than an epsilon of f32
_GELUS = {"erf": "gelu", "tanh": "gelu_tanh"}
_ARGUMENTS: Mapping[str, Mapping[Monomial, float]] = {
    "erf": {(X,): math.sqrt(0.5)},
    # Hendrycks and Gimpel, Gaussian Error Linear Units, arXiv:1606.08415. The second coefficient is a product
    # of two constants, each rounded by at most half an epsilon.
    "tanh": {(X,): math.sqrt(2 / math.pi), (X, X, X): math.sqrt(2 / math.pi) * 0.044715},
}


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
    if isinstance(value, ir.DenseFPElementsAttr) and value.is_splat:
        value = value if ir.RankedTensorType(value.type).rank else value.get_splat_value()
    return number(float(value.value)) if isinstance(value, ir.IntegerAttr | ir.FloatAttr) else None


def _subtract(operands: _Operands) -> Polynomial | None:
    return add(operands[0], scale(operands[1], -1.0))


def _divide(operands: _Operands) -> Polynomial | None:
    by = operands[1].constant
    if by is None:
        return multiply(operands[0], apply("inverse", operands[1]))
    return scale(operands[0], 1 / by) if by else None


def _limit(operands: _Operands, side: str, step: str, at: float) -> Polynomial | None:
    """A maximum (`side` is `at_least`) or a minimum with a constant; it is a step if that is `at`."""
    others = [each for each in operands if each.constant is None]
    bounds = [each.constant for each in operands if each.constant is not None]
    if len(others) != 1 or len(bounds) != 1:
        return None
    if bounds[0] == at:
        return apply(step, others[0])
    found = bounded(side, others[0], bounds[0])
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
    base, exponent = operands
    square = multiply(base, base)
    if exponent.constant not in (2, 3) or square is None:
        return None
    return square if exponent.constant == 2 else multiply(square, base)


def _root(operands: _Operands) -> Polynomial | None:
    value = operands[0].constant
    return number(math.sqrt(value)) if value is not None and value >= 0 else None


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
    "arith.maximumf": lambda operands: _limit(operands, "at_least", "relu", 0),
    "arith.minimumf": lambda operands: _limit(operands, "at_most", "at_most_6", 6),
    "arith.select": _select,
    # A widening is dropped for operands without `X`, and kept for the sums, see `_truncate`.
    "arith.extf": lambda operands: apply("extf", operands[0]) if varies(operands[0]) else operands[0],
    "arith.truncf": _truncate,
    "math.fpowi": _power,
    "math.powf": _power,
    "math.sqrt": _root,
    "math.exp": lambda operands: apply("exp", operands[0]),
    "math.erf": lambda operands: apply("erf", operands[0]),
    "math.erfc": lambda operands: add(number(1.0), scale(apply("erf", operands[0]), -1.0)),
    "math.tanh": lambda operands: apply("tanh", operands[0]),
}

_COMPARISONS = {2: "ogt", 3: "ogt", 4: "olt", 5: "olt", 9: "ugt", 10: "ugt", 11: "ult", 12: "ult"}
"""Names of cmpf's predicates. `>=` counts as `>`: for equal numbers, both choices give the same value."""
