"""Inputs of an operation: the same for every back end, in files that all processes map."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from iree_tuner.compiler.calls import SentPath
from iree_tuner.device.data import dtype_of, random_values
from iree_tuner.errors import TunerError
from iree_tuner.suite.backends.backend import Array
from iree_tuner.suite.operation import Operation

_POSITIVE, _SIGNED = 0, 1  # seeds of `device.data.kind_of`


def write_inputs(operation: Operation, folder: Path) -> tuple[str, ...]:
    """A .npy file for each input, of values that its name decides. Raises TunerError without room."""
    seed = _POSITIVE if operation.positive else _SIGNED
    rng = np.random.default_rng([seed, *operation.name.encode()])
    paths: list[str] = []
    for number, each in enumerate(operation.inputs):
        path = folder / f"{operation.name}.{number}.npy"
        try:
            write_array(path, random_values(each.shape, each.element_type, seed, rng))
        except OSError as error:
            raise TunerError(f"cannot write: {error.strerror}", location=str(path)) from None
        paths.append(SentPath(path))
    return tuple(paths)


def read_inputs(operation: Operation, paths: tuple[str, ...]) -> list[Array]:
    """The inputs, mapped; of types that NumPy lacks, as those of ml_dtypes."""
    return [read_array(path, each.element_type) for path, each in zip(paths, operation.inputs, strict=True)]


def write_array(path: Path | str, values: Array) -> None:
    """A .npy file; of types of ml_dtypes the bits: files that name some of them cannot be read."""
    np.save(path, values if values.dtype.isbuiltin == 1 else values.view(f"u{values.dtype.itemsize}"))


def read_array(path: str, element_type: str) -> Array:
    """A .npy file of elements of an MLIR type, as `write_array` writes it, or of wider ones, which stay."""
    found = np.load(path, mmap_mode="r", allow_pickle=False)
    dtype = dtype_of(element_type)
    return (
        found.view(dtype)
        if dtype is not None and dtype.isbuiltin != 1 and found.dtype.kind in "uV"
        else found
    )
