"""Who says what is right: NumPy in high precision, or PyTorch where that would take long."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from iree_tuner.compiler.calls import SentPath
from iree_tuner.compiler.worker import WorkerError, Workers
from iree_tuner.suite.backends.backend import Array
from iree_tuner.suite.data import read_inputs, write_array
from iree_tuner.suite.exact import reference
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.primitives import CannotError

NUMPY, TORCH = "numpy", "torch"
_LONG_FLOPS = 4e9
_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Expected:
    """A right result, in files that are there until the next one is asked for.

    Attributes:
        result: .npy; empty where there is none.
        magnitudes: the same for the inputs' absolute values.
        problem: why there is none.
    """

    result: str = ""
    magnitudes: str = ""
    problem: str = ""


class References:
    """Right results, computed in a process of its own.

    Args:
        library: `numpy` or `torch` for all; None chooses by size, and by whether PyTorch is there.
    """

    def __init__(self, library: str | None = None) -> None:
        self._library = library
        self._workers = Workers(1, memory_bytes=None)
        self._known: dict[Operation, Expected] = {}

    def who(self, operation: Operation) -> str:
        """Which library computes it."""
        if self._library is not None:
            return self._library
        return TORCH if operation.flops > _LONG_FLOPS and find_spec("torch") else NUMPY

    def expected(self, operation: Operation, inputs: tuple[str, ...], folder: Path) -> Expected:
        """The right result, of its type or a more precise one; or why there is none.

        That of the last operation is kept, for its other configurations.
        """
        if operation in self._known:
            return self._known[operation]
        self._forget()
        paths = [str(folder / f"{operation.name}.{what}.npy") for what in ("expected", "magnitudes")]
        library = self.who(operation)
        try:
            self._workers.call(expected_here, operation, inputs, *paths, library, timeout_s=_TIMEOUT_S)
        except (WorkerError, CannotError, MemoryError) as error:
            return Expected(problem=f"not verified: {library} failed: {error}")
        self._known[operation] = Expected(*map(SentPath, paths))
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
    """Compute a right result and what its sums can reach, and write both. Runs in a worker."""
    compute = _torch if library == TORCH else reference
    arrays = read_inputs(operation, inputs)
    write_array(path, compute(operation, arrays))
    absolute = [np.abs(each) if each.dtype.kind != "i" else each for each in arrays]
    write_array(magnitudes, compute(operation, absolute))


def _torch(operation: Operation, arrays: list[Array]) -> Array:
    from iree_tuner.suite.backends.torch_reference import torch_reference  # which takes seconds to import

    return torch_reference(operation, arrays)
