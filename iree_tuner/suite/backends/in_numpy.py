"""NumPy: what its BLAS multiplies, and the rest as a user of NumPy writes it, in types that it has itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from iree_tuner.device.data import dtype_of
from iree_tuner.suite.backends.backend import Job, LoadedCalls, Running, copies_of, versions
from iree_tuner.suite.exact import Exact, convolve_layer, convolve_windows
from iree_tuner.suite.operation import CannotError, ConvLayer, Operation, Reduction
from iree_tuner.targets import on_host

Values = npt.NDArray[Any]

_OWN = frozenset(("f64", "f32", "f16", "i64", "i32", "i16", "i8"))
_BLAS = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(frozen=True)
class Numpy:
    """NumPy on the host; only products use more than one core, as many as its BLAS takes."""

    name: str = "numpy"
    title: str = "NumPy"

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


class NumpyPrimitives(Exact):
    """The reference's functions in the types that are asked for, and as fast as NumPy has them."""

    def cast(self, x: Values, element_type: str) -> Values:
        """Other elements, without a copy where they are of this type."""
        dtype = dtype_of(element_type)
        if dtype is None or element_type not in _OWN:
            raise CannotError(f"NumPy has no {element_type}")
        if dtype.kind == "i" and x.dtype.kind == "f":
            return saturated(x, dtype)
        return x.astype(dtype, copy=False)

    def constant(self, value: float, like: Values) -> Values:
        return np.asarray(value, like.dtype)

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
            return np.asarray((np.max if kind == "max" else np.min)(x, axis=where))
        least = np.float32 if x.dtype.kind == "f" else x.dtype
        dtype = np.result_type(x.dtype, dtype_of(element_type) or x.dtype, least)
        total = np.asarray(np.sum(x, axis=where, dtype=dtype))
        return total if kind == "sum" else total / dtype.type(math.prod(x.shape[axis] for axis in where))

    def _wide(self, x: Values) -> Values:
        return x

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
