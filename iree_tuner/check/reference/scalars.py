"""Values of the interpreter, and the ops that work on them element by element: `arith` and `math`.

Floats are not rounded to their type after each op: the reference must be better than the code that it judges.
They are where the rounding is the point: truncations, and comparisons, roundings and conversions to integers,
which may jump where a value differs by its last digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from iree.compiler import ir

from iree_tuner.device.numerics import in_blocks
from iree_tuner.ops.element_type import ElementType

Value = npt.NDArray[Any]
"""Floats are held in double precision, integers as int64 wrapped to their width, in [-2^(w-1), 2^(w-1))."""


@dataclass(frozen=True)
class Unsupported:
    """Why there is no reference."""

    reason: str


class UnsupportedError(Exception):
    """Raised on the way to `Unsupported`."""


def width(kind: ElementType) -> int:
    """Bits of an integer type; index has 64."""
    if not (kind.is_integer or kind.kind == "index"):
        raise UnsupportedError(f"a value of type {kind}")
    return kind.bits


def wrap(values: Value, bits: int) -> Value:
    """Integers as two's complement of so many bits, signed; of one bit, 0 and 1."""
    wide = np.asarray(values).astype(np.int64)
    if bits >= 64:
        return wide
    low = wide & np.int64((1 << bits) - 1)
    if bits == 1:
        return low
    return np.where(low >= 1 << (bits - 1), low - (1 << bits), low)


def unsigned(values: Value, bits: int) -> Value:
    """The same bits as an unsigned number."""
    if bits >= 64:
        return np.asarray(values).astype(np.int64).view(np.uint64)
    return np.asarray(values).astype(np.int64) & np.int64((1 << bits) - 1)


def rounded(values: Value, kind: ElementType) -> Value:
    """Floats rounded to a type, in double precision: overflow and lost digits are seen."""
    dtype = kind.dtype
    if dtype is None:
        raise UnsupportedError(f"a value of type {kind}")
    own = np.asarray(values)
    found = np.empty_like(own, np.float64)
    if found.strides != own.strides or not own.ndim:
        with np.errstate(all="ignore"):
            return own.astype(dtype).astype(np.float64)
    flat, target = own.ravel("K"), found.ravel("K")  # views, in the order in which they lie in memory

    def work(block: slice) -> None:
        with np.errstate(all="ignore"):
            target[block] = flat[block].astype(dtype)

    in_blocks(flat.size, work)
    return found


def from_memory(values: Value, kind: ElementType) -> Value:
    """A tensor's elements as the interpreter holds them."""
    if kind.is_float:
        return values.astype(np.float64)
    return wrap(values, width(kind))


def to_memory(values: Value, kind: ElementType) -> Value:
    """The interpreter's values in the tensor's type in memory."""
    dtype = kind.dtype
    if dtype is None:
        raise UnsupportedError(f"a value of type {kind}")
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def constant(attribute: ir.Attribute) -> Value:
    """The value of an `arith.constant`: a number, or a tensor of numbers."""
    if isinstance(attribute, ir.FloatAttr):
        return np.asarray(attribute.value, np.float64)
    if isinstance(attribute, ir.BoolAttr):
        return np.asarray(int(attribute.value))
    if isinstance(attribute, ir.IntegerAttr):
        return wrap(np.asarray(attribute.value), width(ElementType.of(attribute.type)))
    if isinstance(attribute, ir.DenseElementsAttr):
        return _dense(attribute)
    raise UnsupportedError(f"a constant {str(attribute)[:40]}")


def _dense(attribute: ir.DenseElementsAttr) -> Value:
    shaped = ir.ShapedType(attribute.type)
    shape = tuple(shaped.shape)
    if attribute.is_splat:
        return np.broadcast_to(constant(attribute.get_splat_value()), shape)
    try:
        values = np.array(attribute)
    except (TypeError, ValueError) as error:  # what the bindings have no NumPy type for
        raise UnsupportedError(f"a constant of type {attribute.type}: {error}") from None
    return from_memory(values.reshape(shape), ElementType.of(shaped))


Binary = Callable[[Value, Value], Value]

_FLOAT_BINARY: dict[str, Binary] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "math.powf": np.power,
    "math.atan2": np.arctan2,
    "math.copysign": np.copysign,
}

_CALLED_ALIKE = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "tanh", "sinh",
                 "cosh", "sin", "cos", "tan")  # fmt: skip

_FLOAT_UNARY: dict[str, Callable[[Value], Value]] = {
    **{f"math.{name}": getattr(np, name) for name in _CALLED_ALIKE},
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.rsqrt": lambda x: 1.0 / np.sqrt(x),
    "math.atan": np.arctan,
    "math.erf": np.vectorize(math.erf, otypes=[np.float64]),
}

_FLOAT_STEPS: dict[str, Callable[[Value], Value]] = {
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.trunc": np.trunc,
    "math.roundeven": np.rint,
    "math.round": lambda x: np.trunc(x + np.copysign(0.5, x)),
}

_INTEGER_BINARY: dict[str, Binary] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.shli": np.left_shift,
    "arith.shrsi": np.right_shift,
    "arith.divsi": lambda a, b: _truncating_division(a, b),
    "arith.remsi": lambda a, b: a - b * _truncating_division(a, b),
    "arith.floordivsi": lambda a, b: a // _nonzero(b),
    "arith.ceildivsi": lambda a, b: -(-a // _nonzero(b)),
}

_UNSIGNED_BINARY: dict[str, Binary] = {
    "arith.maxui": np.maximum,
    "arith.minui": np.minimum,
    "arith.shrui": np.right_shift,
    "arith.divui": lambda a, b: a // _nonzero(b),
    "arith.remui": lambda a, b: a % _nonzero(b),
    "arith.ceildivui": lambda a, b: (a + b - 1) // _nonzero(b),
}

_COMPARE: tuple[Binary, ...] = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
_FLOAT_PREDICATES: tuple[Binary, ...] = (  # of arith.cmpf, 1 to 6: ordered, and in 8 to 13 also true for NaN
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    np.not_equal,
)


def knows(name: str) -> bool:
    """Whether `evaluate` has an op of that name."""
    return name.startswith(("arith.", "math."))


@dataclass(frozen=True)
class Scalar:
    """An op as it is evaluated: once for each step of a reduction, so that its IR is read before.

    Attributes:
        kind: the type of its result.
        source: that of its first operand.
        predicate: of a comparison.
        constant: the value of a constant.
    """

    name: str
    kind: ElementType
    source: ElementType
    predicate: int = 0
    constant: Value | None = None


def read(op: ir.Operation) -> Scalar:
    """An op that `knows` has. Raises UnsupportedError."""
    name, kind = op.name, ElementType.of(op.results[0].type)
    source = ElementType.of(op.operands[0].type) if len(op.operands) else kind
    compares = name in ("arith.cmpf", "arith.cmpi")
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value if compares else 0
    value = constant(op.attributes["value"]) if name == "arith.constant" else None
    return Scalar(name, kind, source, predicate, value)


def evaluate(op: Scalar, operands: Sequence[Value]) -> Value:
    """The value of an op. Raises UnsupportedError."""
    if op.constant is not None:
        return op.constant
    name, kind = op.name, op.kind
    with np.errstate(all="ignore"):
        if name in _FLOAT_BINARY:
            return _of_few_bits(_FLOAT_BINARY[name](operands[0], operands[1]), kind)
        if name in _FLOAT_UNARY:
            return _of_few_bits(_FLOAT_UNARY[name](operands[0]), kind)
        if name in _FLOAT_STEPS:
            return _FLOAT_STEPS[name](rounded(operands[0], kind))
        if name == "math.fma":
            return _of_few_bits(operands[0] * operands[1] + operands[2], kind)
        if name in _INTEGER_BINARY:
            a, b = (_signed(each, kind) for each in operands)
            return wrap(_INTEGER_BINARY[name](a, b), width(kind))
        if name in _UNSIGNED_BINARY:
            a, b = (unsigned(each, width(kind)) for each in operands)
            return wrap(_UNSIGNED_BINARY[name](a, b), width(kind))
        if name == "math.absi":
            return wrap(np.abs(operands[0]), width(kind))
        if name == "arith.select":
            return np.where(operands[0] != 0, operands[1], operands[2])
        if name in ("arith.cmpf", "arith.cmpi"):
            return _compare(op, operands)
        return _convert(op, operands[0])


def _convert(op: Scalar, value: Value) -> Value:
    kind, source = op.kind, op.source
    match op.name:
        case "arith.extf":
            return value
        case "arith.truncf":
            return rounded(value, kind)
        case "arith.extsi" | "arith.trunci" | "arith.index_cast":
            return wrap(_signed(value, source), width(kind))
        case "arith.extui" | "arith.index_castui":
            return wrap(unsigned(value, width(source)).astype(np.int64), width(kind))
        case "arith.sitofp":
            return rounded(np.asarray(_signed(value, source)).astype(np.float64), kind)
        case "arith.uitofp":
            return rounded(unsigned(value, width(source)).astype(np.float64), kind)
        case "arith.fptosi" | "arith.fptoui":
            return _to_integer(rounded(value, source), width(kind))
        case _:
            raise UnsupportedError(op.name)


_FEW_BITS = 8


def _of_few_bits(value: Value, kind: ElementType) -> Value:
    """Floats of up to eight bits are rounded by each op: no processor adds them."""
    return rounded(value, kind) if kind.is_float and kind.bits <= _FEW_BITS else value


def _signed(value: Value, kind: ElementType) -> Value:
    """An integer with its sign: a true boolean, which is held as 1, is -1."""
    return -value if width(kind) == 1 else value


def _to_integer(value: Value, bits: int) -> Value:
    """Towards zero. A value that does not fit is poison in MLIR, so that any result is right."""
    whole = np.nan_to_num(np.trunc(value), nan=0.0, posinf=2.0**62, neginf=-(2.0**62))
    return wrap(np.clip(whole, -(2.0**62), 2.0**62).astype(np.int64), bits)


def _compare(op: Scalar, operands: Sequence[Value]) -> Value:
    predicate, kind = op.predicate, op.source
    if not kind.is_float:
        if predicate < 6:
            found = _COMPARE[predicate](*(_signed(each, kind) for each in operands))
        else:
            a, b = (unsigned(each, width(kind)) for each in operands)
            found = _COMPARE[predicate - 4](a, b)
        return np.asarray(found).astype(np.int64)
    a, b = (rounded(each, kind) for each in operands)
    nan = np.isnan(a) | np.isnan(b)
    if predicate in (0, 15):
        found = np.full(nan.shape, predicate == 15)
    elif predicate in (7, 14):
        found = nan if predicate == 14 else ~nan
    elif predicate < 7:
        found = _FLOAT_PREDICATES[predicate - 1](a, b) & ~nan
    else:
        found = _FLOAT_PREDICATES[predicate - 8](a, b) | nan
    return np.asarray(found).astype(np.int64)


def _nonzero(divisor: Value) -> Value:
    return np.where(divisor == 0, 1, divisor)


def _truncating_division(a: Value, b: Value) -> Value:
    quotient = np.abs(a) // np.abs(_nonzero(b))
    return np.where((a < 0) != (b < 0), -quotient, quotient)
