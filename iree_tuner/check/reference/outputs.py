"""A harness's outputs by the reference. Compile workers write them to files while a device measures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from iree.compiler import ir

from iree_tuner.check.reference.interpreter import Interpreter
from iree_tuner.check.reference.scalars import Unsupported, UnsupportedError
from iree_tuner.compiler.context import new_context
from iree_tuner.device.data import Image, dtype_of, stored_shape, values_in, written
from iree_tuner.ops.structure import fold
from iree_tuner.program.bindings import Harness
from iree_tuner.program.harness import dispatched_export, find_dispatch, find_function


def reference_outputs(
    harness: Harness, buffer: npt.NDArray[np.uint8]
) -> list[npt.NDArray[np.generic]] | Unsupported:
    """The dispatch's results, in the order of `device.data.written`; or why they are unknown.

    `buffer` is the harness's buffer before the run; it is not changed.
    """
    context = new_context()
    with context, ir.Location.unknown():
        # IR as text: harnesses are stored as bytecode
        module = ir.Module.parse(harness.module, context)
        memory = buffer.copy()
        try:
            function, constants = _dispatch(module)
            Interpreter(memory, harness.bindings, constants).run(function)
        except UnsupportedError as error:
            return Unsupported(str(error))
    return [values_in(memory, binding, tensor) for binding, tensor, _ in written(harness.bindings)]


def _dispatch(module: ir.Module) -> tuple[ir.Operation, list[int]]:
    """The function of the one dispatch that a harness runs, and its constants."""
    dispatch = find_dispatch(module.operation)
    constants = [fold(value, []) for value in dispatch.constants]
    if None in constants:
        raise UnsupportedError("a constant of unknown value")
    function = find_function(module, dispatched_export(dispatch))
    return function, [each for each in constants if each is not None]


Array = npt.NDArray[np.generic]


def write_ahead(harness: Harness, prefix: str, seeds: Sequence[int]) -> None:
    """Write the reference's results for some seeds to `PREFIX.SEED`. Runs in a compile worker."""
    found: list[Array] | Unsupported = []
    for seed in seeds:
        if not isinstance(found, Unsupported):  # what it does not interpret depends on no values
            found = reference_outputs(
                harness, Image(harness.bindings, harness.stride, seed).read(0, harness.stride)
            )
        path = _path(prefix, seed)
        part = path.with_name(f"{path.name}.part")
        with part.open("wb") as file:
            if isinstance(found, Unsupported):
                np.save(file, np.array(found.reason))
            else:
                for each in found:  # as bytes: NumPy does not write all types
                    np.save(file, np.ascontiguousarray(each).reshape(-1).view(np.uint8))
        part.replace(path)


def read_ahead(harness: Harness, prefix: str, seed: int) -> list[Array] | Unsupported | None:
    """The results for a seed, in the order of `device.data.written`; None if they are not there yet."""
    path = _path(prefix, seed)
    if not prefix or not path.exists():
        return None
    found: list[Array] = []
    with path.open("rb") as file:
        for _, tensor, _ in written(harness.bindings):
            raw = np.load(file)
            if raw.dtype.kind == "U":
                return Unsupported(str(raw))
            found.append(raw.view(dtype_of(tensor.element_type)).reshape(stored_shape(tensor)))
    return found


def _path(prefix: str, seed: int) -> Path:
    return Path(f"{prefix}.{seed}")
