"""The reference: operations computed with NumPy, in more precision than any back end has.

Floats are computed in double precision, in single where that would take long; integers as doubles, which hold
their products and sums exactly and are multiplied far faster. A result is rounded once, at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from iree_tuner.compiler.worker import SentPath, WorkerError, Workers
from iree_tuner.device.data import dtype_of
from iree_tuner.errors import UsageError
from iree_tuner.suite.backends.backend import Array
from iree_tuner.suite.backends.numpy_convolution import convolve_layer
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.primitives import (
    FILTER_AXES,
    TO_NCHW,
    TO_NHWC,
    Binary,
    CannotError,
    ConvLayer,
    Layouts,
    Reduction,
    Unary,
    Window,
)
from iree_tuner.suite.scalars import INTEGERS
from iree_tuner.suite.tensors import read_inputs, write_array

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
        """A number, to be combined with another tensor."""
        del like
        return np.asarray(value, self._dtype)

    def transpose(self, x: Array, order: Sequence[int]) -> Array:
        """A view."""
        return x.transpose(order)

    def reshape(self, x: Array, shape: Sequence[int]) -> Array:
        """A view where it can be one."""
        return x.reshape(shape)

    def matmul(self, a: Array, b: Array, element_type: str) -> Array:
        """By the BLAS that NumPy has."""
        del element_type
        return self._wide(a) @ self._wide(b)

    def convolution(
        self, image: Array, filters: Array, window: Window, layouts: Layouts, element_type: str
    ) -> Array:
        """As a layer, with the channels where those have them."""
        last = layouts[0] == "nhwc"
        image, filters = (
            image.transpose(TO_NCHW) if last else image,
            filters.transpose(FILTER_AXES[layouts[1]]),
        )
        layer = ConvLayer(
            "forward", image.shape[2:], filters.shape[2:], window.strides, (0, 0), window.dilations,
            window.groups,
        )  # fmt: skip
        result = self.layer(layer, image, filters, element_type)
        return result.transpose(TO_NHWC) if last else result

    def layer(self, layer: ConvLayer, lhs: Array, rhs: Array, element_type: str) -> Array:
        """A product for each position in the filters."""
        del element_type
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
        """By NumPy's own."""
        del element_type
        return np.asarray(_REDUCTIONS[kind](self._wide(x), axis=tuple(axes)))

    def unary(self, kind: Unary, x: Array) -> Array:
        """By its formula."""
        with np.errstate(all="ignore"):
            wide = self._wide(x)
            if kind == "gelu":
                return wide * (1.0 + self._erf(wide / math.sqrt(2.0))) / 2
            return _UNARY[kind](wide)

    def binary(self, kind: Binary, a: Array, b: Array) -> Array:
        """By NumPy's own."""
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
        """End the process."""
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
