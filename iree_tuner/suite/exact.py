"""The reference: operations computed with NumPy, in more precision than any back end has.

Floats are computed in double precision, in single where that would take long; integers as doubles, which hold
their products and sums exactly and are multiplied far faster. A result is rounded once, at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from iree_tuner.compiler.worker import SentPath, WorkerError, Workers
from iree_tuner.device.data import dtype_of
from iree_tuner.errors import UsageError
from iree_tuner.suite.operation import Binary, CannotError, ConvLayer, Operation, Reduction, Unary
from iree_tuner.suite.tensors import INTEGERS, Array, read_inputs, write_array

Values = npt.NDArray[Any]


def convolve_windows(layer: ConvLayer, image: Values, filters: Values) -> Values:
    """A convolution as one product of matrices, of a copy of all windows."""
    if any(layer.padding):
        image = np.pad(image, [(0, 0), (0, 0), *((pad, pad) for pad in layer.padding)])
    if layer.groups > 1 and filters.shape[:2] == (layer.groups, 1):
        return _depthwise(layer, image, filters)
    rank, (batch, channels), groups = len(layer.kernel), image.shape[:2], layer.groups
    reach = [(taps - 1) * dilation + 1 for taps, dilation in zip(layer.kernel, layer.dilations, strict=True)]
    steps = (slice(None, None, step) for step in (1, 1, *layer.strides, *layer.dilations))
    windows = sliding_window_view(image, reach, tuple(range(2, 2 + rank)))[tuple(steps)]
    windows = windows.reshape(batch, groups, channels // groups, *windows.shape[2:])
    places, taps = range(3, 3 + rank), range(3 + rank, 3 + 2 * rank)
    depth, points = channels // groups * prod(layer.kernel), prod(layer.results)
    if image.strides[1] > image.itemsize:
        columns = windows.transpose(0, 1, 2, *taps, *places).reshape(batch, groups, depth, points)
        return np.matmul(filters.reshape(groups, -1, depth), columns).reshape(batch, -1, *layer.results)
    # The channels are last in memory: so they are in the copy and the result.
    rows = windows.transpose(1, 0, *places, *taps, 2).reshape(groups, batch * points, depth)
    matrix = filters.reshape(groups, -1, channels // groups, *layer.kernel)
    matrix = matrix.transpose(0, *range(3, 3 + rank), 2, 1).reshape(groups, depth, -1)
    sums = np.matmul(rows, matrix).transpose(1, 0, 2).reshape(batch, *layer.results, -1)
    return sums.transpose(0, 1 + rank, *range(1, 1 + rank))


def _depthwise(layer: ConvLayer, image: Values, filters: Values) -> Values:
    """A filter for each channel: a product with the whole image for each place of the filters."""
    total: Values | None = None
    for tap, seen in _taps(layer):
        factor = filters[(slice(None), 0, *tap)]
        part = image[seen] * factor.reshape(-1, *[1] * len(layer.kernel))
        total = part if total is None else np.add(total, part, out=total)
    assert total is not None, "filters have at least one place"
    return total


def _span(start: int, count: int, step: int) -> slice:
    return slice(start, start + (count - 1) * step + 1, step)


def convolve_layer(layer: ConvLayer, lhs: Values, rhs: Values) -> Values:
    """A convolution, or a gradient of one, as a product of matrices for each place in the filters."""
    around = [(0, 0), (0, 0), *((pad, pad) for pad in layer.padding)]
    if layer.direction == "forward":
        image, filters = np.pad(lhs, around), rhs
        total = np.zeros((len(lhs), len(rhs), *layer.results), lhs.dtype)
        for tap, seen in _taps(layer):
            part = _in_groups(image[seen], layer.groups)
            total += _joined(_of_tap(filters, tap, layer.groups) @ part, total.shape)
        return total
    if layer.direction == "data":
        gradient, filters = _in_groups(lhs, layer.groups), rhs
        sizes = (size + 2 * pad for size, pad in zip(layer.image, layer.padding, strict=True))
        total = np.zeros((len(lhs), filters.shape[1] * layer.groups, *sizes), lhs.dtype)
        for tap, seen in _taps(layer):
            part = _of_tap(filters, tap, layer.groups).swapaxes(1, 2) @ gradient
            total[seen] += _joined(part, total[seen].shape)
        spans = zip(layer.padding, layer.image, strict=True)
        return total[(slice(None), slice(None), *(slice(pad, pad + size) for pad, size in spans))]
    gradient, image = _in_groups(lhs, layer.groups), np.pad(rhs, around)
    count, channels = lhs.shape[1], rhs.shape[1] // layer.groups
    total = np.zeros((count, channels, *layer.kernel), lhs.dtype)
    for tap, seen in _taps(layer):
        part = gradient @ _in_groups(image[seen], layer.groups).swapaxes(1, 2)
        total[(slice(None), slice(None), *tap)] = part.reshape(count, channels)
    return total


def _taps(layer: ConvLayer) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Each place in the filters, with the part of a padded image that it sees."""
    for tap in product(*map(range, layer.kernel)):
        spans = zip(tap, layer.dilations, layer.results, layer.strides, strict=True)
        seen = (_span(at * dilation, count, stride) for at, dilation, count, stride in spans)
        yield tap, (slice(None), slice(None), *seen)


def _of_tap(filters: Values, tap: tuple[int, ...], groups: int) -> Values:
    """Groups x filters of one x channels of one."""
    own = filters[(slice(None), slice(None), *tap)]
    return own.reshape(groups, -1, own.shape[1])


def _in_groups(values: Values, groups: int) -> Values:
    """Batch x channels x points as groups x channels of one x all points."""
    batch, channels = values.shape[:2]
    parts = values.reshape(batch, groups, channels // groups, prod(values.shape[2:]))
    return parts.transpose(1, 2, 0, 3).reshape(groups, channels // groups, -1)


def _joined(values: Values, shape: tuple[int, ...]) -> Values:
    """The inverse of `_in_groups`, in this shape."""
    groups, channels, _ = values.shape
    return values.reshape(groups, channels, shape[0], -1).transpose(2, 0, 1, 3).reshape(shape)


Floats = npt.NDArray[np.floating]

_MOST_FLOPS = 2e9  # in double precision


def reference(operation: Operation, inputs: Sequence[Array]) -> Array:
    """The result of an operation, in its result's type; inputs as `data.read_inputs` has them."""
    integers = any(each.element_type in INTEGERS for each in operation.inputs)
    single = operation.flops > _MOST_FLOPS and not integers
    return operation.compute(Exact(np.float32 if single else np.float64), inputs)


class Exact:
    """`Primitives` in one float type, double or single, for all types; only `cast` rounds to others."""

    def __init__(self, dtype: type[np.floating] = np.float64) -> None:
        self._dtype = dtype

    def cast(self, x: Array, element_type: str) -> Array:
        """Other elements: rounded to nearest, even ones at ties; integers saturate."""
        dtype = dtype_of(element_type)
        if dtype is None:
            raise UsageError(f"unknown element type '{element_type}'")
        with np.errstate(over="ignore"):  # an infinity, as it should be
            if dtype.kind != "i":
                return x.astype(dtype)
            limits = np.iinfo(cast("np.dtype[np.integer]", dtype))
            return np.clip(np.rint(x.astype(np.float64)), limits.min, limits.max).astype(dtype)

    def constant(self, value: float, like: Array) -> Array:
        return np.asarray(value, self._dtype)

    def transpose(self, x: Array, order: Sequence[int]) -> Array:
        return x.transpose(order)

    def reshape(self, x: Array, shape: Sequence[int]) -> Array:
        return x.reshape(shape)

    def matmul(self, a: Array, b: Array, element_type: str) -> Array:
        return self._wide(a) @ self._wide(b)

    def layer(self, layer: ConvLayer, lhs: Array, rhs: Array, element_type: str) -> Array:
        """A product for each position in the filters."""
        return convolve_layer(layer, self._wide(lhs), self._wide(rhs))

    def attention(
        self, q: Array, k: Array, v: Array, mask: Array | None, causal: bool, scale: float
    ) -> Array:
        """One head at a time: the scores of all would not fit in memory."""
        batch, heads, queries, _ = q.shape
        key_heads, keys, value_size = v.shape[1:]
        result = np.empty((batch, heads, queries, value_size), self._dtype)
        added = np.zeros((queries, keys), self._dtype) if mask is None else self._wide(mask)
        if causal:
            hidden = ~np.tri(queries, keys, keys - queries, dtype=bool)
            added = np.where(hidden, -np.inf, added)
        for b in range(batch):
            for h in range(heads):
                group = h // (heads // key_heads)
                scores = self._wide(q[b, h]) @ self._wide(k[b, group]).T * scale + added
                result[b, h] = self.softmax(scores, 1) @ self._wide(v[b, group])
        return result

    def softmax(self, x: Array, axis: int) -> Floats:
        """With the largest taken off."""
        wide = self._wide(x)
        weights = np.exp(wide - wide.max(axis=axis, keepdims=True))
        return weights / weights.sum(axis=axis, keepdims=True)

    def reduce(self, kind: Reduction, x: Array, axes: Sequence[int], element_type: str) -> Array:
        return np.asarray(_REDUCTIONS[kind](self._wide(x), axis=tuple(axes)))

    def unary(self, kind: Unary, x: Array) -> Array:
        with np.errstate(all="ignore"):
            wide = self._wide(x)
            if kind == "gelu":
                return wide * (1.0 + self._erf(wide / math.sqrt(2.0))) / 2
            return _UNARY[kind](wide)

    def binary(self, kind: Binary, a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            return _BINARY[kind](self._wide(a), self._wide(b))

    def _wide(self, x: Array) -> Floats:
        return x.astype(self._dtype, copy=False)

    def _erf(self, x: Floats) -> Floats:
        return np.vectorize(math.erf, otypes=[x.dtype])(x) if x.size else x


def _sigmoid(x: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-x))


def _gelu_tanh(x: Floats) -> Floats:
    return x * (1.0 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))) / 2


_UNARY: Mapping[str, Callable[[Floats], Floats]] = {
    "relu": lambda x: np.maximum(x, 0.0), "gelu_tanh": _gelu_tanh, "silu": lambda x: x * _sigmoid(x),
    "sigmoid": _sigmoid, "tanh": np.tanh, "exp": np.exp, "sqrt": np.sqrt, "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "abs": np.abs, "negate": np.negative,
}  # fmt: skip
_BINARY: Mapping[Binary, Callable[[Floats, Floats], Floats]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "maximum": np.maximum, "minimum": np.minimum,
}  # fmt: skip
_REDUCTIONS: Mapping[Reduction, Callable[..., Floats]] = {
    "sum": np.sum, "max": np.max, "min": np.min, "mean": np.mean,
}  # fmt: skip


# Right results by NumPy in high precision, or by PyTorch where that would take long.


NUMPY, TORCH = "numpy", "torch"
_LONG_FLOPS = 4e9
_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Reference:
    """A right result, in files that exist until the next one is requested."""

    result: str = ""  # .npy; empty for none
    magnitudes: str = ""  # the same for the inputs' absolute values
    problem: str = ""


class References:
    """Right results, computed in a process of its own.

    Args:
        library: `numpy` or `torch` for all; None chooses by size, and by whether PyTorch is installed.
    """

    def __init__(self, library: str | None = None) -> None:
        self._library = library
        self._workers = Workers(1, memory_bytes=None)
        self._known: dict[Operation, Reference] = {}

    def who(self, operation: Operation) -> str:
        """The library that computes it."""
        if self._library is not None:
            return self._library
        return TORCH if operation.flops > _LONG_FLOPS and find_spec("torch") else NUMPY

    def expected(self, operation: Operation, inputs: tuple[str, ...], folder: Path) -> Reference:
        """The right result, of its type or a more precise one; or why it is missing.

        The last operation's result is kept, for its other configurations.
        """
        if operation in self._known:
            return self._known[operation]
        self._forget()
        paths = [str(folder / f"{operation.name}.{what}.npy") for what in ("expected", "magnitudes")]
        library = self.who(operation)
        try:
            self._workers.call(expected_here, operation, inputs, *paths, library, timeout_s=_TIMEOUT_S)
        except (WorkerError, CannotError, MemoryError) as error:
            return Reference(problem=f"not verified: {library} failed: {error}")
        self._known[operation] = Reference(*map(SentPath, paths))
        return self._known[operation]

    def close(self) -> None:
        self._forget()
        self._workers.close()

    def _forget(self) -> None:
        for each in self._known.values():
            for path in (each.result, each.magnitudes):
                Path(path).unlink(missing_ok=True)
        self._known.clear()


def expected_here(
    operation: Operation, inputs: tuple[str, ...], path: str, magnitudes: str, library: str
) -> None:
    """Compute a right result and the bound of its sums, and write both. Runs in a worker."""
    compute = _torch if library == TORCH else reference
    arrays = read_inputs(operation, inputs)
    write_array(path, compute(operation, arrays))
    absolute = [np.abs(each) if each.dtype.kind != "i" else each for each in arrays]
    write_array(magnitudes, compute(operation, absolute))


def _torch(operation: Operation, arrays: list[Array]) -> Array:
    from iree_tuner.suite.backends.torch_running import torch_reference  # which takes seconds to import

    return torch_reference(operation, arrays)
