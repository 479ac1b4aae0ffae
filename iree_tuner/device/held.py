"""Values between a program's dispatches, as the host holds them, and how two of them differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from iree_tuner.device.data import stepped
from iree_tuner.device.numerics import in_blocks, real_parts, same_bytes

Array = npt.NDArray[np.generic]
Number = TypeVar("Number", bound=np.generic)

FILLINGS = (0xFF, 0x00, 0x7B)
"""Bytes: not a number in every float type of 16 bits and more; zero; large numbers (61,280 in f16, 1e36 in
f32)."""

_WORD = 8  # bytes
_BLOCK = 1 << 17  # values
_DRAWN = 1_000_003  # numbers; longer tensors repeat them


@dataclass(frozen=True)
class Held:
    """A value between dispatches.

    Attributes:
        value: an array, or a scalar that the function takes.
        holes: where the dispatch that made it wrote nothing, for another one to fill in; None where there
            are none.
    """

    value: Array | float | int
    holes: npt.NDArray[np.bool_] | None = None

    @property
    def array(self) -> Array:
        """The value, of a dispatch's results."""
        assert isinstance(self.value, np.ndarray)
        return self.value

    @property
    def magnitudes(self) -> Held:
        """Absolute values; of complex numbers in both parts, so that neither part of a product cancels."""
        if not is_float(self.value):
            return self
        own = np.asarray(np.abs(self.array))  # of an array without dimensions NumPy makes a number
        if self.array.dtype.kind == "c":
            own = own * self.array.dtype.type(1 + 1j)
        return Held(np.asarray(own, self.array.dtype), self.holes)

    @property
    def has_negative(self) -> bool:
        """Whether any of its floats is below 0; complex numbers count as that."""
        if not is_float(self.value):
            return False
        return self.array.dtype.kind == "c" or bool(np.less(self.array, 0).any())

    def stepped(self, noise: np.random.Generator, step: float) -> Held:
        """Values that are a step off, each (`data.stepped`)."""
        return Held(stepped(self.array, noise, step), self.holes) if is_float(self.value) else self

    def within(self, byte: int) -> Array | float | int:
        """The value in memory that was filled with a byte."""
        if self.holes is None:
            return self.value
        found = self.array.copy()
        found[self.holes] = _pattern(found.dtype, byte)
        return found


def is_float(value: object) -> bool:
    """Whether a value is an array of numbers that are rounded."""
    return isinstance(value, np.ndarray) and value.dtype.kind not in "iub"


def finite(values: Sequence[Held]) -> bool:
    """Whether all that was written is finite."""
    for each in values:
        if is_float(each.value):
            flat, holes = each.array.reshape(-1), None if each.holes is None else each.holes.reshape(-1)
            if not all(in_blocks(flat.size, partial(_numbers, flat, holes))):
                return False
    return True


def _numbers(values: Array, holes: npt.NDArray[np.bool_] | None, block: slice) -> bool:
    own = values[block]
    found = np.isfinite(own if own.dtype.kind == "c" else own.astype(np.float32, copy=False))
    return bool((found if holes is None else found | holes[block]).all())


def _pattern(dtype: np.dtype[np.generic], byte: int) -> np.generic:
    return np.full(dtype.itemsize, byte, np.uint8).view(dtype)[0]


def _bits(values: Array) -> npt.NDArray[np.generic]:
    """Values as integers of their size, where there are such, or as bytes: NaN is equal to itself.

    Any byte but zero is a true boolean.
    """
    own = np.ascontiguousarray(values).reshape(-1)
    if own.dtype.kind == "b":
        own = own.view(np.uint8) != 0
    return own.view(f"u{own.dtype.itemsize}") if own.dtype.itemsize <= _WORD else own.view(np.uint8)


def left_alone(own: Array, again: Sequence[Array]) -> npt.NDArray[np.bool_] | None:
    """The elements that a dispatch did not write: they keep the value that memory was filled with."""
    holes: npt.NDArray[np.bool_] | None = None
    for values, byte in zip((own, *again), FILLINGS, strict=False):  # two of them may be all that were tried
        if values.dtype.itemsize > _WORD:
            return None
        same = _bits(values) == _bits(np.full(1, _pattern(values.dtype, byte)))[0]
        holes = same if holes is None else np.logical_and(holes, same)
        if not np.any(holes):
            return None
    return None if holes is None else holes.reshape(own.shape)


def without(values: npt.NDArray[Number], holes: npt.NDArray[np.bool_] | None) -> npt.NDArray[Number]:
    """Values that were written."""
    return values if holes is None else values[~holes]


def equal(ours: Sequence[Array], theirs: Sequence[Array], holes: npt.NDArray[np.bool_] | None = None) -> bool:
    """To the bit, except for holes; one that is not a number is like another."""
    for a, b in zip(ours, theirs, strict=True):
        if a.dtype == b.dtype and same_bytes(a, b):
            continue
        x, y = a.reshape(-1), b.reshape(-1)
        unwritten = None if holes is None else holes.reshape(-1)
        for start in range(0, x.size, _BLOCK):  # no further than where they differ
            block = slice(start, start + _BLOCK)
            same = (x[block] == y[block]) | ((x[block] != x[block]) & (y[block] != y[block]))
            if not (same if unwritten is None else same | unwritten[block]).all():
                return False
    return True


def difference(a: Array, b: Array, holes: npt.NDArray[np.bool_] | None = None) -> str:
    """Where two results that should be equal are not."""
    same = (a == b) | ((a != a) & (b != b))
    wrong = np.argwhere(~same if holes is None else ~same & ~holes)
    place = tuple(int(each) for each in wrong[0])
    return f"at {list(place)}: {a[place]} and {b[place]}; {len(wrong)} of {a.size} differ"


def disturbed(values: Array, deviations: npt.NDArray[np.float64], noise: np.random.Generator) -> Array:
    """Values as if they had been rounded differently, each by its deviation."""
    if values.dtype.kind == "c":
        both = np.repeat(deviations.reshape(-1), 2).reshape(*values.shape, 2)
        moved = disturbed(real_parts(values), both, noise)
        return moved.reshape(-1).view(values.dtype).reshape(values.shape)
    drawn = np.resize(noise.standard_normal(min(values.size, _DRAWN)), values.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        # NumPy makes numbers of arrays without dimensions.
        return np.asarray(np.asarray(values.astype(np.float64) + drawn * deviations).astype(values.dtype))
