"""The reference: operations computed with NumPy, in more precision than any back end has.

Floats are computed in double precision, in single where that would take long; integers as doubles, which hold
their products and sums exactly and are multiplied far faster. A result is rounded once, at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from iree_tuner.compiler.worker import SentPath, WorkerError, Workers
from iree_tuner.device.data import dtype_of
from iree_tuner.errors import UsageError
from iree_tuner.suite.backends.in_numpy import NumpyPrimitives, Values, convolve_layer, saturated
from iree_tuner.suite.operation import CannotError, ConvLayer, Operation
from iree_tuner.suite.tensors import INTEGERS, Array, read_inputs, write_array

_MOST_FLOPS = 2e9  # in double precision


def reference(operation: Operation, inputs: Sequence[Array]) -> Array:
    """The result of an operation, in its result's type; inputs as `data.read_inputs` has them."""
    integers = any(each.element_type in INTEGERS for each in operation.inputs)
    wide = np.float32 if operation.flops > _MOST_FLOPS and not integers else np.float64
    with np.errstate(all="ignore"):
        found = operation.compute(Exact(), [each.astype(wide) for each in inputs])
    return rounded(found, operation.result.element_type)


def rounded(x: Array, element_type: str) -> Array:
    """Other elements: rounded to nearest, even ones at ties; integers saturate."""
    dtype = dtype_of(element_type)
    if dtype is None:
        raise UsageError(f"unknown element type '{element_type}'")
    with np.errstate(over="ignore"):  # an infinity, as it should be
        return saturated(x, dtype) if dtype.kind == "i" else x.astype(dtype)


class Exact(NumpyPrimitives):
    """In the precision of its inputs, double or single, for all types."""

    def cast(self, x: Values, element_type: str) -> Values:
        """The same numbers; only integers are rounded."""
        dtype = dtype_of(element_type)
        return rounded(x, element_type) if dtype is not None and dtype.kind == "i" else x

    def layer(self, layer: ConvLayer, lhs: Values, rhs: Values, element_type: str) -> Values:
        """A product for each position in the filters: a copy of all windows may not fit in memory."""
        return convolve_layer(layer, lhs, rhs)

    def attention(
        self, q: Values, k: Values, v: Values, mask: Values | None, causal: bool, scale: float
    ) -> Values:
        """One head at a time: the scores of all would not fit in memory."""
        result, group = np.empty((*q.shape[:3], v.shape[3]), q.dtype), q.shape[1] // k.shape[1]
        for b, h in np.ndindex(q.shape[:2]):
            own = slice(b, b + 1), slice(h // group, h // group + 1)
            one = super().attention(q[b : b + 1, h : h + 1], k[own], v[own], mask, causal, scale)
            result[b, h] = one[0, 0]
        return result

    def _erf(self, x: Values) -> Values:
        return np.vectorize(math.erf, otypes=[x.dtype])(x) if x.size else x


# Right results by NumPy in high precision, or by PyTorch where that would take long.


NUMPY, TORCH = "numpy", "torch"
_LONG_FLOPS = 4e9
_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Reference:
    """A right result, in files that exist until the next one is requested."""

    result: str = ""  # .npy; empty for none
    magnitudes: str = ""  # the same for the inputs' absolute values
    library: str = ""  # that computed it
    problem: str = ""  # why there is none


class References:
    """Right results, computed in a process of its own.

    Args:
        library: `numpy` or `torch` for all; None chooses by size, and by whether PyTorch is installed.
    """

    def __init__(self, library: str | None = None) -> None:
        self._library = library
        self._workers = Workers(1, memory_bytes=None)
        self._known: dict[Operation, Reference] = {}

    def expected(self, operation: Operation, inputs: tuple[str, ...], folder: Path) -> Reference:
        """The right result, of its type or a more precise one; or why it is missing.

        The last operation's result is kept, for its other configurations.
        """
        if operation in self._known:
            return self._known[operation]
        self._forget()
        paths = [str(folder / f"{operation.name}.{what}.npy") for what in ("expected", "magnitudes")]
        usual = TORCH if operation.flops > _LONG_FLOPS and find_spec("torch") else NUMPY
        library = self._library or usual
        try:
            self._workers.call(expected_here, operation, inputs, *paths, library, timeout_s=_TIMEOUT_S)
        except (WorkerError, CannotError, MemoryError) as error:
            return Reference(problem=f"not verified: {library} failed: {error}")
        self._known[operation] = Reference(*map(SentPath, paths), library=library)
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
    compute = reference
    if library == TORCH:
        from iree_tuner.suite.backends.torch_running import torch_reference  # which takes seconds to import

        compute = torch_reference
    arrays = read_inputs(operation, inputs)
    write_array(path, compute(operation, arrays))
    absolute = [np.abs(each) if each.dtype.kind != "i" else each for each in arrays]
    write_array(magnitudes, compute(operation, absolute))
