"""The protocol of back ends. Its objects are pickled and sent to the process in which a back end computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from iree_tuner.suite.conditions import Conditions
from iree_tuner.suite.operation import Operation

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Job:
    """An operation to be computed.

    Attributes:
        operation: which.
        inputs: .npy files of its inputs, in order; `suite.data` reads them.
        device: device URI.
        conditions: how it is timed.
        copies: of the inputs to rotate through.
    """

    operation: Operation
    inputs: tuple[str, ...]
    device: str
    conditions: Conditions
    copies: int = 1


class Running(Protocol):
    """An operation that is loaded, with its inputs where they are needed.

    It may also have a `note`: what is worth knowing of how it runs, in one line.
    """

    def run(self, count: int) -> float:
        """Compute it so many times, on the copies of its inputs in turn; seconds until all are done."""
        ...

    def result(self) -> Array:
        """The result for the first copy, on the host, in NumPy's type."""
        ...


class Backend(Protocol):
    """A library that computes operations. An instance is a frozen dataclass: it is pickled.

    `missing` and `refuses` are asked in the coordinator, which imports none of the libraries; `load` in a
    process of the back end's own.
    """

    @property
    def name(self) -> str:
        """As flags and rows have it: numpy, torch, onnxruntime."""
        ...

    @property
    def title(self) -> str:
        """As pages have it: PyTorch, ONNX Runtime."""
        ...

    def missing(self, device: str) -> str:
        """Why it cannot be used on a device, and what to install; empty when it can. Imports none of it."""
        ...

    def version(self) -> str:
        """Of the library, as installed; empty where there is none."""
        ...

    def refuses(self, operation: Operation, device: str) -> str:
        """Why it cannot do an operation, where that is known before it is tried; empty when it may."""
        ...

    def load(self, job: Job) -> Running:
        """Load an operation, in the process of the back end.

        Raises:
            CannotError: it cannot do the operation.
        """
        ...
