"""NumPy: what its BLAS multiplies, and the rest as a user of NumPy writes it, in types that it has itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from iree_tuner.device.data import dtype_of
from iree_tuner.suite.backends.backend import Job, LoadedCalls, Running, copies_of, versions
from iree_tuner.suite.operation import Binary, CannotError, ConvLayer, Operation, Reduction, Unary
from iree_tuner.targets import on_host

Values = npt.NDArray[Any]

_OWN = frozenset(("f64", "f32", "f16", "i64", "i32", "i16", "i8"))
_BLAS = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(frozen=True)
class Numpy:
    """NumPy on the host; only products use more than one core, as many as its BLAS takes."""

    name: str = "numpy"

    def missing(self, device: str) -> str:
        return "" if on_host(device) else "NumPy runs only on CPUs"

    def version(self) -> str:
        return versions("numpy")

    def refuses(self, operation: Operation, device: str) -> str:
        kinds = [each.element_type for each in (*operation.inputs, operation.result)]
        return next((f"NumPy has no {kind}" for kind in kinds if kind not in _OWN), "")

    def load(self, job: Job) -> Running:
        operation, ops = job.operation, NumpyPrimitives()

        def call(inputs: list[Values]) -> Values:
            with np.errstate(all="ignore"):
                return operation.compute(ops, inputs)

        return LoadedCalls[list[Values], Values](call, copies_of(job), read=np.asarray)


class NumpyPrimitives:
    """Functions of NumPy in the types that are asked for, as fast as it has them; `Primitives[Values]`."""

    def cast(self, x: Values, element_type: str) -> Values:
        """Other elements, without a copy where they are of this type."""
        dtype = dtype_of(element_type)
        if dtype is None or element_type not in _OWN:
            raise CannotError(f"NumPy has no {element_type}")
        if dtype.kind == "i" and x.dtype.kind == "f":
            return saturated(x, dtype)
        return x.astype(dtype, copy=False)

    def transpose(self, x: Values, order: Sequence[int]) -> Values:
        return x.transpose(order)

    def reshape(self, x: Values, shape: Sequence[int]) -> Values:
        return x.reshape(shape)

    def matmul(self, a: Values, b: Values, element_type: str) -> Values:
        """By BLAS, which takes transposed views as they are."""
        _check_blas(a, b)
        wide = np.result_type(a.dtype, dtype_of(element_type) or a.dtype)
        return np.matmul(a.astype(wide, copy=False), b.astype(wide, copy=False))

    def layer(self, layer: ConvLayer, lhs: Values, rhs: Values, element_type: str) -> Values:
        """Products of matrices by BLAS: one of all windows; of a gradient one for each place in filters."""
        _check_blas(lhs, rhs)
        return (convolve_windows if layer.direction == "forward" else convolve_layer)(layer, lhs, rhs)

    def attention(
        self, q: Values, k: Values, v: Values, mask: Values | None, causal: bool, scale: float
    ) -> Values:
        """Two products with a softmax between them; the queries of a group as rows of one product."""
        _check_blas(q, k, v)
        batch, heads, queries, size = q.shape
        key_heads, keys = k.shape[1], k.shape[2]
        together = q.reshape(batch, key_heads, heads // key_heads * queries, size)
        scores = np.matmul(together * scale, k.swapaxes(-1, -2))
        scores = scores.reshape(batch, heads, queries, keys)
        if mask is not None:
            scores += mask
        if causal:
            scores[..., ~np.tri(queries, keys, keys - queries, dtype=bool)] = -np.inf
        weights = _softmax_in(scores, -1).reshape(batch, key_heads, -1, keys)
        return np.matmul(weights, v).reshape(batch, heads, queries, v.shape[3])

    def softmax(self, x: Values, axis: int) -> Values:
        """In f32 at least."""
        return _softmax_in(x.astype(np.result_type(x.dtype, np.float32)), axis)

    def reduce(self, kind: Reduction, x: Values, axes: Sequence[int], element_type: str) -> Values:
        """Over axes; sums and means of floats are held in f32 at least."""
        where = tuple(axes)
        if kind in ("max", "min"):
            return np.asarray(getattr(np, kind)(x, axis=where))
        least = np.float32 if x.dtype.kind == "f" else x.dtype
        dtype = np.result_type(x.dtype, dtype_of(element_type) or x.dtype, least)
        total = np.asarray(np.sum(x, axis=where, dtype=dtype))
        return total if kind == "sum" else total / dtype.type(math.prod(x.shape[axis] for axis in where))

    def unary(self, kind: Unary, x: Values) -> Values:
        if kind == "gelu":
            return x * (1.0 + self._erf(x / math.sqrt(2.0))) / 2
        return _UNARY[kind](x)

    def binary(self, kind: Binary, a: Values, b: Values) -> Values:
        return getattr(np, kind)(a, b)

    def _erf(self, x: Values) -> Values:
        try:
            special: Any = import_module("scipy.special")
        except ImportError:
            raise CannotError("NumPy has no erf, and SciPy is not installed: pip install scipy") from None
        return special.erf(x)


def _check_blas(*factors: Values) -> None:
    """Raise CannotError for types that BLAS does not multiply, and NumPy multiplies with loops of its own."""
    for each in factors:
        if each.dtype not in _BLAS or each.dtype != factors[0].dtype:
            element_type = f"{each.dtype.kind}{8 * each.dtype.itemsize}"
            raise CannotError(f"no fast {element_type} matmul: BLAS supports f32 and f64")


def saturated(x: Values, dtype: np.dtype[Any]) -> Values:
    """Floats as integers, rounded to nearest, and those beyond the type's range at its ends."""
    limits = np.iinfo(dtype)
    inside = np.clip(np.rint(x.astype(np.float64)), limits.min, limits.max)
    return np.where(x >= limits.max, limits.max, inside.astype(dtype)).astype(dtype)


def _softmax_in(x: Values, axis: int) -> Values:
    """In place."""
    x -= x.max(axis=axis, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=axis, keepdims=True)
    return x


def _sigmoid(x: Values) -> Values:
    return 1.0 / (1.0 + np.exp(-x))


def _gelu_tanh(x: Values) -> Values:
    return x * (1.0 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))) / 2


_UNARY: Mapping[str, Callable[[Values], Values]] = {
    "relu": lambda x: np.maximum(x, 0.0), "gelu_tanh": _gelu_tanh, "silu": lambda x: x * _sigmoid(x),
    "sigmoid": _sigmoid, "tanh": np.tanh, "exp": np.exp, "sqrt": np.sqrt, "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "abs": np.abs, "negate": np.negative,
}  # fmt: skip


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
