"""Functions of one element, as IR: bodies of `linalg.generic`, at the current insertion point."""

from __future__ import annotations

import math as numbers
from collections.abc import Callable, Mapping, Sequence

from iree.compiler import ir
from iree.compiler.dialects import arith, math

from iree_tuner.errors import UsageError
from iree_tuner.ops.element_type import ElementType
from iree_tuner.suite.operation import did_you_mean
from iree_tuner.targets import Target, kind_named


def unary(kind: str, x: ir.Value) -> ir.Value:
    """One of `primitives.Unary`; of integers `relu`, `abs` and `negate` alone."""
    return (_OF_INTEGERS if _is_integer(x) else _UNARY)[kind](x)


def binary(kind: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """One of `primitives.Binary`, of two elements of one type; of integers all but `divide`."""
    integer, real = _BINARY[kind]
    return (integer if _is_integer(a) else real)(a, b)


def converted(x: ir.Value, element_type: ir.Type) -> ir.Value:
    """The element in another type: floats are rounded to nearest, integers become wider or floats."""
    if x.type == element_type:
        return x
    if _is_integer(x):
        wide = isinstance(element_type, ir.IntegerType)
        return arith.extsi(element_type, x) if wide else arith.sitofp(element_type, x)
    if ElementType.of(x.type).bits < ElementType.of(element_type).bits:
        return arith.extf(element_type, x)
    return arith.truncf(element_type, x)


def multiply_add(a: ir.Value, b: ir.Value, total: ir.Value) -> ir.Value:
    """A step of a sum of products, in the type of the sum: the body of contractions."""
    return add(binary("multiply", converted(a, total.type), converted(b, total.type)), total)


def add(value: ir.Value, total: ir.Value) -> ir.Value:
    """A step of a sum, in its type."""
    return binary("add", total, converted(value, total.type))


def constant(value: float, element_type: ir.Type) -> ir.Value:
    """A number of a type."""
    integer = isinstance(element_type, ir.IntegerType)
    return arith.constant(element_type, int(value) if integer else float(value))


def _is_integer(x: ir.Value) -> bool:
    return isinstance(x.type, ir.IntegerType)


def _number(value: float, x: ir.Value) -> ir.Value:
    return constant(value, x.type)


def _gelu(x: ir.Value) -> ir.Value:
    """x (1 + erf(x / sqrt 2)) / 2."""
    return _half_of_more(x, math.erf(arith.divf(x, _number(numbers.sqrt(2.0), x))))


def _gelu_tanh(x: ir.Value) -> ir.Value:
    """x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2."""
    cubed = arith.mulf(_number(0.044715, x), arith.mulf(arith.mulf(x, x), x))
    slope = _number(numbers.sqrt(2 / numbers.pi), x)
    return _half_of_more(x, math.tanh(arith.mulf(slope, arith.addf(x, cubed))))


def _half_of_more(x: ir.Value, weight: ir.Value) -> ir.Value:
    return arith.mulf(x, arith.mulf(arith.addf(weight, _number(1.0, x)), _number(0.5, x)))


def _sigmoid(x: ir.Value) -> ir.Value:
    return arith.divf(_number(1.0, x), _one_and_exp(x))


def _silu(x: ir.Value) -> ir.Value:
    return arith.divf(x, _one_and_exp(x))


def _one_and_exp(x: ir.Value) -> ir.Value:
    return arith.addf(_number(1.0, x), math.exp(arith.negf(x)))


_UNARY: Mapping[str, Callable[[ir.Value], ir.Value]] = {
    "relu": lambda x: arith.maximumf(x, _number(0.0, x)), "gelu": _gelu, "gelu_tanh": _gelu_tanh,
    "silu": _silu, "sigmoid": _sigmoid, "tanh": math.tanh, "exp": math.exp, "sqrt": math.sqrt,
    "rsqrt": math.rsqrt, "abs": math.absf, "negate": arith.negf,
}  # fmt: skip
_OF_INTEGERS: Mapping[str, Callable[[ir.Value], ir.Value]] = {
    "relu": lambda x: arith.maxsi(x, _number(0, x)),
    "abs": math.absi,
    "negate": lambda x: arith.subi(_number(0, x), x),
}
_Function = Callable[[ir.Value, ir.Value], ir.Value]
_BINARY: Mapping[str, tuple[_Function, _Function]] = {
    "add": (arith.addi, arith.addf), "subtract": (arith.subi, arith.subf),
    "multiply": (arith.muli, arith.mulf), "divide": (arith.divsi, arith.divf),
    "maximum": (arith.maxsi, arith.maximumf), "minimum": (arith.minsi, arith.minimumf),
}  # fmt: skip


# Element types of operations, the types of their sums, and their spelling in names.


WIDE = ("f32", "f16", "bf16")
"""Floats of computations; without f64, of which the compiler makes f32."""

NARROW = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")
"""Floats that are only multiplied."""

FLOATS = WIDE + NARROW
INTEGERS = ("i8", "i32")
OWN_F8 = "f8"
"""Stands for the target's own type in sweeps; `sweep` resolves it."""


def sums_of(*element_types: str) -> str:
    """The type of sums, and of functions of them: f32, and i32 of integers alone."""
    return "i32" if all(each in INTEGERS for each in element_types) else "f32"


def result_of(element_type: str) -> str:
    """The usual result type of products of a type: the type itself; for 8 bits the type of the sums."""
    return element_type if element_type in WIDE else sums_of(element_type)


def widest(*element_types: str) -> str:
    """The type, of two factors', that both are multiplied in."""
    return min(element_types, key=[*WIDE, *NARROW, *INTEGERS].index)


def own_f8(target: Target) -> str:
    """The type that `f8` stands for on a target: CDNA 3 lacks negative zero, all others have the OCP type."""
    return kind_named(target.backend).float8(target.chip.partition("+")[0])


def in_name(element_type: str) -> str:
    """As names of operations have it: lower case."""
    return element_type.lower()


def check_type(what: str, element_type: str, known: Sequence[str]) -> None:
    """Raise UsageError, with similar names, unless a type is one of these."""
    if element_type not in known:
        raise UsageError(
            f"{what}: unknown element type '{element_type}'", hint=did_you_mean(element_type, known)
        )
