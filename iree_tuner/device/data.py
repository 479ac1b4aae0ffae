"""The contents of a dispatch's buffer before it runs, and the results that are read from it afterwards."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

from iree_tuner.errors import TunerError
from iree_tuner.ops.element_type import ElementType
from iree_tuner.program.bindings import Binding, TensorSlice
from iree_tuner.program.valid.interval import Interval

_POISONS = ((0xFF, 0xFF), (0xF7, 0xFF), (0xFB, 0xFF))
"""Two bytes, repeated: NaN in every float type of 16 bits and more, odd numbers in the others."""

PERIOD = 262_147
"""Longer tensors repeat this many values, which saves seconds for each weight of a large model.

It is a prime, so that other rows and tiles have other values."""

LARGE, _BLOCK = 64 << 20, 4 << 20
"""Bytes of a harness whose contents are written and compared block by block; of a block."""
_AT_ONCE = 1 << 16

_LEAST_STEP = 2.0**-12
"""Relative: small enough for functions to be linear, even if sums of outliers are hundreds."""
_LARGEST_STEP = 0.25

_SMALL = 3
_INDICES = (0, (1 << 63) - 1)
_WIDE = 256  # one more than a byte holds
_UNSIGNED = "f8E8M0FNU"
_MOST_ORDERED = 1 << 24
_OUTLIERS = 1 / 256
_OUTLIER_FACTOR = (30.0, 60.0)

Kind = Literal["positive", "signed", "outliers"]
_KINDS: tuple[Kind, ...] = ("positive", "signed", "outliers")


def kind_of(seed: int) -> Kind:
    """The values of a seed: 0 positive, 1 signed, 2 with outliers, 3 positive again, and so on."""
    return _KINDS[seed % len(_KINDS)]


def magnitudes_of(seed: int) -> int:
    """The seed that gives the absolute values of another seed's floats."""
    return -1 - seed


_STEPPED = 3 << 20


def stepped_of(seed: int) -> int:
    """The seed that gives another seed's values, each moved by a step (`stepped`)."""
    return seed + _STEPPED


def dtype_of(element_type: str) -> np.dtype[np.generic] | None:
    """NumPy's type for an MLIR element type; None if its values cannot be made or compared here."""
    return ElementType.named(element_type).dtype


def random_values(
    shape: Sequence[int], element_type: str, seed: int, rng: np.random.Generator,
    allowed: Interval | None = None,
) -> npt.NDArray[np.generic]:  # fmt: skip
    """Values of the size that networks have; negative seeds are for `magnitudes_of`.

    Floats: positive ones are in [0.1, 1), so that roots and logarithms stay numbers; signed ones are normal
    with deviation 0.5, so that sums cancel; outliers are signed with one in 256 made 30 to 60 times larger,
    as activations of transformers have them. Integers are within `allowed`, which the program's uses allow.
    Without, 8 bits and less take their whole range, also negative; wider ones may be indices and are in [0,
    4). Long tensors repeat their first 262,147 values.
    """
    dtype = dtype_of(element_type)
    if dtype is None:
        raise ValueError(f"no values for element type {element_type}")
    if math.prod(shape) > PERIOD:
        return np.resize(random_values((PERIOD,), element_type, seed, rng, allowed), tuple(shape))
    if dtype.kind in "iu":
        return integers(shape, element_type, allowed, rng)
    if allowed is not None and allowed.low is not None and allowed.high is not None:
        return rng.uniform(allowed.low, allowed.high, shape).astype(dtype)
    kind = kind_of(seed if seed >= 0 else magnitudes_of(seed))
    values: npt.NDArray[Any] = _floats(shape, kind, rng)
    if dtype.kind == "c":
        values = values + 1j * _floats(shape, kind, rng)
    return (values if seed >= 0 and element_type != _UNSIGNED else np.abs(values)).astype(dtype)


def integers(
    shape: Sequence[int], element_type: str, allowed: Interval | None, rng: np.random.Generator
) -> npt.NDArray[np.generic]:
    """Random integers of an interval that the type can hold; small ones if it has no upper bound."""
    kind, dtype = ElementType.named(element_type), dtype_of(element_type)
    least, most = kind.range if kind.is_integer else _INDICES
    if allowed is None or (allowed.low is None and allowed.high is None):
        low, high = (least, most) if most < _WIDE else (0, _SMALL)
    else:
        low = min(0, allowed.high or 0) if allowed.low is None else allowed.low
        high = max(low, 0) + _SMALL if allowed.high is None else allowed.high
        low = max(0, low) if high >= 0 else low  # negative ones may stand for places counted from the end
    low, high = (min(max(each, least), most) for each in (low, high))
    if allowed is not None and allowed.distinct:
        order = rng.permutation(min(high - low + 1, _MOST_ORDERED))
        return (low + np.resize(order, tuple(shape))).astype(dtype)
    return rng.integers(low, high, shape, endpoint=True).astype(dtype)


def _floats(shape: Sequence[int], kind: Kind, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    if kind == "positive":
        return rng.uniform(0.1, 1.0, shape)
    values = rng.standard_normal(shape) * 0.5
    if kind == "outliers":
        large = rng.random(shape) < _OUTLIERS
        values = np.where(large, values * rng.uniform(*_OUTLIER_FACTOR, shape), values)
    return values


def step_for(element_types: Iterable[str]) -> float:
    """The part of each value that `stepped` moves values of these types by: one that all of them can hold."""
    kinds = [ElementType.named(each) for each in element_types]
    dtypes = [each.dtype for each in kinds if each.is_float and each.dtype is not None]
    return min(max([_LEAST_STEP, *(float(ml_dtypes.finfo(each).eps) for each in dtypes)]), _LARGEST_STEP)


def step_of(bindings: Sequence[Binding]) -> float:
    """The step of the inputs in a harness's buffer."""
    every = (each for binding in bindings for each in binding.tensors if _is_given(each))
    return step_for(each.element_type for each in every)


def stepped(
    values: npt.NDArray[np.generic], noise: np.random.Generator, step: float
) -> npt.NDArray[np.generic]:
    """Floats that are a step larger or smaller each, at random; other values stay."""
    if values.dtype.kind in "iub":
        return values
    signs = np.resize(noise.integers(0, 2, min(values.size, PERIOD), np.int8) * 2.0 - 1.0, values.shape)
    wide = np.result_type(values.dtype, np.float64) if values.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        return np.asarray(values.astype(wide) * (1.0 + step * signs)).astype(values.dtype)


@functools.lru_cache(maxsize=3)
def fill(bindings: tuple[Binding, ...], buffer_bytes: int, seed: int) -> npt.NDArray[np.uint8]:
    """The buffer of a harness before a run, not to be written to: the last few are kept.

    Inputs are random by seed. Outputs, and all bytes between and behind tensors, are poisoned, with another
    pattern for the next seed. Bindings with unknown contents are zero.
    """
    buffer = np.empty(buffer_bytes, np.uint8)
    _paint(parts(bindings, buffer_bytes, seed), buffer, 0)
    buffer.flags.writeable = False
    return buffer


def _paint(found: Sequence[BufferPart], to: npt.NDArray[np.uint8], first: int) -> None:
    """Write the bytes from `first` on of a buffer with these parts."""
    for each in found:
        start, end = max(each.start, first), min(each.end, first + to.size)
        if start >= end:
            continue
        place, values = to[start - first : end - first], each.values
        if shift := (start - each.start) % values.size:  # as `np.resize` repeats them
            values = np.roll(values, -shift)
        if values.size < _AT_ONCE:
            values = np.tile(values, max(1, min(place.size, _AT_ONCE) // values.size))
        for at in range(0, place.size, values.size):
            place[at : at + values.size] = values[: place.size - at]


@dataclass(frozen=True)
class Image:
    """The buffer of a harness before a run, as `fill` has it.

    Of large harnesses it is not kept: memory of gigabytes takes seconds to be had, and values repeat.
    """

    bindings: tuple[Binding, ...]
    buffer_bytes: int
    seed: int

    def read(self, start: int, end: int) -> npt.NDArray[np.uint8]:
        """The bytes `start` to `end`, not to be written to."""
        if self.buffer_bytes <= LARGE:
            return fill(self.bindings, self.buffer_bytes, self.seed)[start:end]
        found = np.empty(end - start, np.uint8)
        _paint(parts(self.bindings, self.buffer_bytes, self.seed), found, start)
        return found

    def write(self, to: npt.NDArray[np.uint8]) -> None:
        """Write all of it, without the cost of an array in between if it is large."""
        if self.buffer_bytes <= LARGE:
            to[:] = fill(self.bindings, self.buffer_bytes, self.seed)
        else:
            _paint(parts(self.bindings, self.buffer_bytes, self.seed), to, 0)

    def blocks(self, start: int, end: int) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
        """Blocks of the bytes `start` to `end`, each with its own start."""
        step = end - start if self.buffer_bytes <= LARGE else _BLOCK
        return ((at, self.read(at, min(at + step, end))) for at in range(start, end, max(1, step)))


def forget_values() -> None:
    """Release the data that `fill` keeps."""
    fill.cache_clear()
    _drawn.cache_clear()


@dataclass(frozen=True)
class BufferPart:
    """The bytes `start` to `end` of a buffer, which repeat `values`; the last ones are cut off."""

    start: int
    end: int
    values: npt.NDArray[np.uint8]


def parts(bindings: Sequence[Binding], buffer_bytes: int, seed: int) -> list[BufferPart]:
    """The parts that `fill` writes, in this order: later parts overwrite earlier ones."""
    poison = np.array(_POISONS[seed % len(_POISONS)], np.uint8)
    even = buffer_bytes + buffer_bytes % 2
    between = _between_inputs(bindings, buffer_bytes)
    found = [BufferPart(start // 2 * 2, min(-(-end // 2) * 2, even), poison) for start, end in between]
    # In front of what opaque bindings use, others may lie.
    found += [
        BufferPart(each.offset, each.offset + each.length, np.zeros(1, np.uint8))
        for each in bindings
        if is_opaque(each)
    ]
    inputs = [(binding, each) for binding in bindings for each in binding.tensors if _is_given(each)]
    counts = (min(PERIOD, math.prod(stored_shape(tensor))) for _, tensor in inputs)
    kinds = ((count, each.element_type, each.values) for count, (_, each) in zip(counts, inputs, strict=True))
    drawn = _drawn(tuple(kinds), seed)
    for (binding, tensor), values in zip(inputs, drawn, strict=True):
        start, size = span(binding, tensor)
        found.append(BufferPart(start, start + size, values))
    return [each for each in found if each.end > each.start]


@functools.lru_cache(maxsize=16)
def _drawn(
    inputs: tuple[tuple[int, str, Interval | None], ...], seed: int
) -> tuple[npt.NDArray[np.uint8], ...]:
    """Values of inputs as bytes, which dispatches of large tensors share."""
    steps = seed >= _STEPPED
    seed -= _STEPPED if steps else 0
    rng = np.random.default_rng(seed if seed >= 0 else magnitudes_of(seed))
    packed = [ElementType.named(kind).per_byte > 1 for _, kind, _ in inputs]
    found = [
        random_values((count,), "i8" if bytes_ else kind, seed, rng, None if bytes_ else allowed)
        for (count, kind, allowed), bytes_ in zip(inputs, packed, strict=True)
    ]
    if steps:
        noise = np.random.default_rng(_STEPPED + seed)
        step = step_for(kind for _, kind, _ in inputs)
        found = [stepped(each, noise, step) for each in found]
    return tuple(each.view(np.uint8) for each in found)


def _is_given(tensor: TensorSlice) -> bool:
    """Whether a tensor has values before a run."""
    return tensor.access != "write" and dtype_of(tensor.element_type) is not None


def _between_inputs(bindings: Sequence[Binding], size: int) -> list[tuple[int, int]]:
    """Start and end of all ranges of a buffer that hold no input, in order."""
    given = sorted(span(binding, each) for binding in bindings for each in binding.tensors if _is_given(each))
    found: list[tuple[int, int]] = []
    place = 0
    for start, length in [*given, (size, 0)]:
        if start > place:
            found.append((place, start))
        place = max(place, start + length)
    return found


def is_opaque(binding: Binding) -> bool:
    """Whether the place, size or type of something in a binding is unknown."""
    return not binding.tensors or any(dtype_of(each.element_type) is None for each in binding.tensors)


def written(bindings: Sequence[Binding]) -> list[tuple[Binding, TensorSlice, int]]:
    """The tensors that a dispatch writes and that can be compared, each with its number among all tensors."""
    every = [(binding, tensor) for binding in bindings for tensor in binding.tensors]
    return [
        (binding, tensor, number)
        for number, (binding, tensor) in enumerate(every)
        if tensor.access != "read" and dtype_of(tensor.element_type) is not None
    ]


def values_in(
    buffer: npt.NDArray[np.uint8], binding: Binding, tensor: TensorSlice
) -> npt.NDArray[np.generic]:
    """A tensor's values, as a view of its buffer; packed types as the bytes that hold them."""
    dtype = dtype_of(tensor.element_type)
    if dtype is None:
        raise ValueError(f"no values for element type {tensor.element_type}")
    start, size = span(binding, tensor)
    return buffer[start : start + size].view(dtype).reshape(stored_shape(tensor))


def span(binding: Binding, tensor: TensorSlice) -> tuple[int, int]:
    """Start and size of a tensor in the harness's buffer, in bytes."""
    return binding.offset + tensor.offset, stored_size(tensor.shape, tensor.element_type)


def stored_shape(tensor: TensorSlice) -> tuple[int, ...]:
    """The shape of a tensor's values in memory: packed ones share bytes."""
    if ElementType.named(tensor.element_type).per_byte == 1:
        return tensor.shape
    return (stored_size(tensor.shape, tensor.element_type),)


def stored_size(shape: Sequence[int], element_type: str) -> int:
    """Bytes of a tensor in memory; 0 for a type without values."""
    dtype, per_byte = dtype_of(element_type), ElementType.named(element_type).per_byte
    return -(-math.prod(shape) // per_byte) * dtype.itemsize if dtype is not None else 0


def stored(values: npt.NDArray[np.generic], element_type: str) -> npt.NDArray[np.uint8]:
    """An array's bytes in memory: elements of less than a byte share one, the first in its lowest bits."""
    kind = ElementType.named(element_type)
    raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    if kind.per_byte == 1:
        return raw
    padded = np.zeros(-(-raw.size // kind.per_byte) * kind.per_byte, np.uint8)
    padded[: raw.size] = raw & ((1 << kind.bits) - 1)
    shifted = padded.reshape(-1, kind.per_byte) << np.arange(0, 8, kind.bits, dtype=np.uint8)
    return np.bitwise_or.reduce(shifted, axis=1)


def loaded(raw: npt.NDArray[np.uint8], element_type: str, shape: Sequence[int]) -> npt.NDArray[np.generic]:
    """The array with these bytes in memory. Raises TunerError for a type that NumPy cannot hold."""
    kind, dtype = ElementType.named(element_type), dtype_of(element_type)
    if dtype is None:
        raise TunerError(f"values of type {element_type} cannot be read")
    if kind.per_byte > 1:
        raw = (raw[:, None] >> np.arange(0, 8, kind.bits, dtype=np.uint8)).reshape(-1)[: math.prod(shape)]
    values = raw.view(np.bool_ if kind.bits == 1 else dtype).reshape(tuple(shape))
    if not kind.is_integer or kind.bits in (1, 8 * dtype.itemsize):
        return values
    unused = 8 * dtype.itemsize - kind.bits  # of any value
    return np.right_shift(np.left_shift(values, unused), unused)
