"""References that compile workers find out while a device measures: files, until a check asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from iree_tuner.check.reference.outputs import reference_outputs
from iree_tuner.check.reference.values import Unsupported
from iree_tuner.device.data import dtype_of, fill, stored_shape, written
from iree_tuner.program.bindings import Harness

Array = npt.NDArray[np.generic]


def write_ahead(harness: Harness, prefix: str, seeds: Sequence[int]) -> None:
    """Find out what is right for some seeds. Runs in a compile worker.

    Args:
        harness: the dispatch.
        prefix: of the files' paths.
        seeds: of its inputs.
    """
    found: list[Array] | Unsupported = []
    for seed in seeds:
        if not isinstance(found, Unsupported):  # what it does not interpret depends on no values
            found = reference_outputs(harness, fill(harness.bindings, harness.stride, seed))
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
    """The results for a seed, in the order of `device.data.written`; None where nothing was, yet."""
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
