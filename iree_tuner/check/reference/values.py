"""Values of the interpreter: types, and what it cannot do."""

from __future__ import annotations

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
