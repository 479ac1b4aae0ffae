"""What is in a dispatch's buffer before it runs, and what is read from it afterwards."""

from __future__ import annotations

import math
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import numpy.typing as npt

from iree_tuner.program.dispatch import Binding, TensorSlice

_DTYPES: dict[str, npt.DTypeLike] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "i1": np.int8,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
    "complex<f32>": np.complex64,
}

POISON = 0xFF
"""Every byte of an output before a run: NaN in float types, -1 in integers."""


def dtype_of(element_type: str) -> np.dtype[np.generic] | None:
    """NumPy's type for an MLIR element type; None when values of it cannot be made or compared here."""
    found = _DTYPES.get(element_type)
    return None if found is None else np.dtype(found)


def random_values(
    shape: Sequence[int], element_type: str, seed: int, rng: np.random.Generator
) -> npt.NDArray[np.generic]:
    """Values of the size that networks have.

    Even seeds give floats in [0.1, 1), so that roots and logarithms stay numbers; odd seeds give both signs,
    so that sums cancel. Integers are small, and those wide enough to be indices are in [0, 4).
    """
    dtype = dtype_of(element_type)
    if dtype is None:
        raise ValueError(f"no values for element type {element_type}")
    if element_type == "i1":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "i":
        low, high = (-8, 8) if dtype.itemsize == 1 else (0, 4)
        return rng.integers(low, high, shape).astype(dtype)
    if seed % 2 == 0:
        return rng.uniform(0.1, 1.0, shape).astype(dtype)
    return (rng.standard_normal(shape) * 0.5).astype(dtype)


def fill(bindings: Sequence[Binding], buffer_bytes: int, seed: int) -> npt.NDArray[np.uint8]:
    """The buffer of a harness: inputs random by seed, outputs poisoned, the rest zero."""
    buffer = np.zeros(buffer_bytes, np.uint8)
    rng = np.random.default_rng(seed)
    for binding in bindings:
        for tensor in binding.tensors:
            start, size = span(binding, tensor)
            if tensor.access == "write":
                buffer[start : start + size] = POISON
            elif dtype_of(tensor.element_type) is not None:
                values = random_values(tensor.shape, tensor.element_type, seed, rng)
                buffer[start : start + size] = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
    return buffer


def outputs(
    bindings: Sequence[Binding], buffer: npt.NDArray[np.uint8]
) -> list[tuple[TensorSlice, npt.NDArray[np.generic]]]:
    """The tensors that a dispatch writes, read from its buffer."""
    found: list[tuple[TensorSlice, npt.NDArray[np.generic]]] = []
    for binding in bindings:
        for tensor in binding.tensors:
            dtype = dtype_of(tensor.element_type)
            if tensor.access != "read" and dtype is not None:
                start, size = span(binding, tensor)
                found.append((tensor, buffer[start : start + size].view(dtype).reshape(tensor.shape)))
    return found


def span(binding: Binding, tensor: TensorSlice) -> tuple[int, int]:
    """Start and size of a tensor in the harness's buffer, in bytes."""
    dtype = dtype_of(tensor.element_type)
    size = math.prod(tensor.shape) * (dtype.itemsize if dtype is not None else 0)
    return binding.offset + tensor.offset, size
