"""Arguments of a program's functions: given ones from files, the others generated."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from iree_tuner.errors import TunerError
from iree_tuner.execute.data import PERIOD, Kind, dtype_of, integers, kind_of, random_values
from iree_tuner.execute.program_run import Filled, InputValue
from iree_tuner.program.dynamic import DimensionSize, size_for
from iree_tuner.program.entries import Entry, Taken
from iree_tuner.program.feeds import PLAIN, Feed

Array = npt.NDArray[np.generic]
_MOST_KEPT = 1 << 30  # bytes
_LEAST = 0.1  # of what must be positive
_SIZES = {"positive": 0.55, "signed": 0.5, "outliers": 1.5}
"""Of generated values: the mean, or the deviation (`execute.data`)."""

_READ = (OSError, ValueError, EOFError)


def why_not_called(entry: Entry, given: Sequence[InputValue], sizes: Sequence[DimensionSize]) -> str:
    """Why a function cannot be called if some of its inputs are given; empty when it can.

    Raises:
        TunerError: what is given is not what the function takes.
    """
    return entry.not_callable or why_no_values(entry.inputs, given, sizes)


def why_no_values(taken: Sequence[Taken], given: Sequence[InputValue], sizes: Sequence[DimensionSize]) -> str:
    """Why arguments cannot be made if some of the inputs are given; empty when they can.

    Raises:
        TunerError: what is given is not what the function takes.
    """
    for number, each in enumerate(taken):
        value = given[number] if number < len(given) else None
        if reason := why_no_value(number, each, value, sizes):
            return reason
    if len(given) > len(taken):
        raise TunerError(f"wrong number of inputs: {len(given)} instead of {len(taken)}")
    return ""


def why_no_value(number: int, taken: Taken, value: InputValue, sizes: Sequence[DimensionSize]) -> str:
    """The same for one input."""
    if taken.opaque or dtype_of(taken.element_type) is None:
        return f"input {number} has the type {taken}, of which no values can be generated"
    check_input(number, taken, value)
    shape = _shape(number, taken, value, sizes)
    if shape is not None and None in shape:
        return f"input {number} ({taken}) has dynamic sizes: set them with --dim 128"
    return ""


def check_input(number: int, taken: Taken, value: InputValue) -> None:
    """Raises TunerError where a given value is not what the function takes."""
    if value is None:
        return
    if isinstance(value, str):
        found = read_array(value)
        _check_type(number, taken, found.shape, found.dtype, value)
    elif isinstance(value, Filled):
        dtype = dtype_of(value.element_type)
        if dtype is None:
            raise TunerError(f"input {number}: type {value.element_type} is not supported")
        _check_type(number, taken, value.shape, dtype, None)
    elif isinstance(value, float) and taken.element_type[0] == "i":
        raise TunerError(f"input {number} must have the type {taken}, but has {value}")


def argument(
    number: int, taken: Taken, value: InputValue, sizes: Sequence[DimensionSize], seed: int,
    rng: np.random.Generator, feed: Feed = PLAIN,
) -> Array | float | int:  # fmt: skip
    """A value for an input that `why_no_values` has nothing to say of."""
    shape = _shape(number, taken, value, sizes)
    dtype = dtype_of(taken.element_type)
    assert dtype is not None
    if isinstance(value, str):
        array = np.ascontiguousarray(read_array(value))
        array = array.astype(dtype) if array.dtype.kind == "b" else array.view(dtype)
        return array if shape is not None else array.item()
    if isinstance(value, Filled):
        value = value.value
    if shape is None:
        return _scalar(dtype, feed, rng) if value is None else value
    known = tuple(size for size in shape if size is not None)
    if value is None:
        count = min(PERIOD, math.prod(known))
        drawn = random_values((count,), taken.element_type, seed, rng, feed.values)
        return np.resize(_in_range(drawn, feed, kind_of(seed)), known)
    return np.full(known, value, dtype)


def _scalar(dtype: np.dtype[np.generic], feed: Feed, rng: np.random.Generator) -> int | float:
    """One, or an integer that the program's uses of it allow."""
    if feed.values is None or dtype.kind not in "iu":
        return 1
    return int(integers((1,), dtype, feed.values, rng)[0])


def _in_range(values: Array, feed: Feed, kind: Kind) -> Array:
    """Values as what they feed needs them: weights by how many are summed, so that sizes stay as they are."""
    if values.dtype.kind in "iubc" or feed.values is not None:
        return values
    if feed.positive and kind != "positive":
        return (np.abs(values.astype(np.float32)) + _LEAST).astype(values.dtype)
    if not feed.summed:
        return values
    per = feed.summed if kind == "positive" else math.sqrt(feed.summed)
    return (values.astype(np.float32) / np.float32(_SIZES[kind] * per)).astype(values.dtype)


def arguments(
    taken: Sequence[Taken], given: Sequence[InputValue], sizes: Sequence[DimensionSize],
    seed: tuple[int, int], feeds: Sequence[Feed],
) -> Sequence[Array | float | int]:  # fmt: skip
    """Values for all inputs of a function, not to be written to: the last ones are kept.

    Versions of a program are run on the same ones, which takes longer to make than to run them.

    Args:
        taken: what it takes.
        given: values of the first ones.
        sizes: for the dimensions that the program leaves open.
        seed: of the values, and the function's number in the program.
        feeds: what each is for.
    """
    key = (tuple(taken), tuple(given), tuple(sizes), seed, tuple(feeds))
    if key in _kept:
        _kept.move_to_end(key)
        return _kept[key]
    rng = np.random.default_rng(seed if seed[1] else seed[0])
    found = [
        argument(number, each, given[number] if number < len(given) else None, sizes, seed[0], rng, feed)
        for number, (each, feed) in enumerate(zip(taken, feeds, strict=True))
    ]
    if not any(isinstance(each, str) for each in given):  # a file may change
        _kept[key] = found
        while len(_kept) > 1 and sum(map(_bytes_of, _kept.values())) > _MOST_KEPT:
            _kept.popitem(last=False)
    return found


_kept: OrderedDict[Hashable, Sequence[Array | float | int]] = OrderedDict()


def _bytes_of(values: Sequence[Array | float | int]) -> int:
    return sum(each.nbytes for each in values if isinstance(each, np.ndarray))


def read_array(path: str) -> Array:
    """A .npy file, mapped. Raises TunerError for one that cannot be read."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise TunerError("no such file", location=path) from None
    except _READ as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise TunerError(
            f"not a .npy file that can be read{f': {reason}' if reason else ''}", location=path
        ) from None
    if not isinstance(found, np.ndarray):
        raise TunerError("an archive of arrays; pass one .npy file per input", location=path)
    return found


def _shape(
    number: int, taken: Taken, value: InputValue, sizes: Sequence[DimensionSize]
) -> tuple[int | None, ...] | None:
    if taken.shape is None:
        return None
    if isinstance(value, str):
        return read_array(value).shape
    if isinstance(value, Filled):
        return value.shape
    return tuple(
        size_for(sizes, (number, index)) if size is None else size for index, size in enumerate(taken.shape)
    )


def _check_type(
    number: int, taken: Taken, shape: tuple[int, ...], dtype: np.dtype[np.generic], path: str | None
) -> None:
    wanted = taken.shape or ()
    fits = len(shape) == len(wanted) and all(
        size in (None, own) for size, own in zip(wanted, shape, strict=True)
    )
    expected = dtype_of(taken.element_type)
    same = expected is not None and _same(taken.element_type, expected, dtype)
    if not fits or not same:
        kind = "x".join(map(str, (*shape, dtype.name)))
        raise TunerError(f"input {number} must have the type {taken}, but has {kind}", location=path)


def _same(element_type: str, expected: np.dtype[np.generic], dtype: np.dtype[np.generic]) -> bool:
    """Whether values of a NumPy type fit an MLIR type, which does not distinguish signs of integers."""
    if element_type == "i1":
        return dtype.kind == "b" or dtype.itemsize == 1
    if dtype.kind == "V":  # .npy files do not name the types of ml_dtypes
        return dtype.itemsize == expected.itemsize
    return dtype == expected or (
        dtype.kind == "u" and expected.kind == "i" and dtype.itemsize == expected.itemsize
    )
