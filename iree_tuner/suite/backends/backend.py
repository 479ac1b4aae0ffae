"""The protocol of back ends, and the conditions under which all are timed.

The objects are pickled and sent to the process in which a back end computes.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from typing import Literal, Protocol, cast

import numpy as np
import numpy.typing as npt

from iree_tuner.errors import TunerError, UsageError
from iree_tuner.installed import brought, usable
from iree_tuner.suite.operation import Operation

Timing = Literal["call", "device"]


@dataclass(frozen=True)
class Conditions:
    """How samples are taken."""

    # `call`: what a caller waits for, one call after the other, each waited for. `device`: what the device
    # takes, calls handed to it in batches, and the cost of an empty batch taken off
    timing: Timing = "call"
    threads: int = 0  # cores that each back end may use; 0 for a device that is not the host
    # inputs rotate through copies of this many bytes, at least one: cold caches, and the seeds' rotating
    # buffers; 0 for one copy, which stays where the caches hold it
    copies_bytes: int = 0
    background_load_s: float = 0.0  # duration of a large product that runs on the device before each sample
    # copies of the operation that run side by side; a time is a batch's time divided by the number of all
    # calls in it
    streams: int = 1
    batch_s: float = 0.02  # least length of a sample, in seconds
    pause_s: float = 0.02  # before each sample, for pools of threads that go on turning
    rounds: int = 24  # samples of each at most
    seconds: float = 60.0  # for the samples of one operation at most


Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Job:
    """An operation to be computed."""

    operation: Operation
    inputs: tuple[str, ...]  # .npy files of its inputs, in order; `suite.tensors` reads them
    device: str
    conditions: Conditions
    copies: int = 1  # of the inputs to rotate through


class Running(Protocol):
    """A loaded operation, with its inputs where they are needed.

    It may also have a `note`: one line about how it runs.
    """

    def run(self, count: int) -> float:
        """Compute it this many times, on the copies of its inputs in turn; seconds until all are done."""
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
        """Of the installed library; empty for none."""
        ...

    def refuses(self, operation: Operation, device: str) -> str:
        """Why it cannot do an operation, where that is known without trying; empty when it may."""
        ...

    def load(self, job: Job) -> Running:
        """Load an operation, in the process of the back end.

        Raises:
            CannotError: it cannot do the operation.
        """
        ...


Failure = Literal["cannot", "failed", "lost", "missing"]
"""As `row.State` has them."""


class BackendError(Exception):
    """A back end is missing, cannot do an operation, failed, or was lost with its host."""

    def __init__(self, state: Failure, message: str) -> None:
        super().__init__(state, message)  # so that it can be pickled
        self.state: Failure = state  # of the row that comes of it
        self.message = message  # why, in one line

    def __str__(self) -> str:
        return self.message


# Back ends by name: from this package, and from other installed packages.


GROUP = "iree_tuner.backends"
"""The group of entry points; each makes a `Backend` under its name."""


@cache
def backends() -> Mapping[str, Backend]:
    """Every installed back end, by name, sorted.

    Raises:
        TunerError: two packages bring one name, or what one brings cannot be used.
    """
    return {name: _made(entry) for name, entry in brought(GROUP, "back end").items()}


def backend(name: str) -> Backend:
    """The back end of that name. Raises UsageError for an unknown one, with similar names."""
    known = backends()
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, 3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"one of: {', '.join(known)}"
    raise UsageError(f"unknown back end '{name}'", hint=hint)


def _made(entry: EntryPoint) -> Backend:
    made = usable(entry, "back end")
    name = getattr(made, "name", "")
    if name != entry.name:
        raise TunerError(f"the back end '{entry.name}' ({entry.value}) calls itself '{name}'")
    return cast(Backend, made)
