"""The protocol of back ends, and the conditions under which all are timed.

The objects are pickled and sent to the process in which a back end computes.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, version
from importlib.util import find_spec
from typing import Generic, Literal, Protocol, TypeVar, cast

import numpy as np

from iree_tuner.errors import TunerError, UsageError, did_you_mean
from iree_tuner.installed import brought, usable
from iree_tuner.suite.operation import CannotError, Operation
from iree_tuner.suite.tensors import Array, read_inputs
from iree_tuner.targets.registry import driver_of

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


class Contender(Protocol):
    """A way to compute operations. An instance is a frozen dataclass: it is pickled."""

    @property
    def name(self) -> str:
        """As flags and rows have it: numpy, torch, onnxruntime."""
        ...

    def load(self, job: Job) -> Running:
        """Load an operation, in a process of its own.

        Raises CannotError if it cannot do the operation.
        """
        ...


class Backend(Contender, Protocol):
    """A library that computes operations.

    `missing` and `refuses` are asked in the coordinator, which imports none of the libraries.
    """

    def missing(self, device: str) -> str:
        """Why it cannot be used on a device, and what to install; empty when it can. Imports none of it."""
        ...

    def version(self) -> str:
        """Of the installed library; empty for none."""
        ...

    def refuses(self, operation: Operation, device: str) -> str:
        """Why it cannot do an operation, where that is known without trying; empty when it may."""
        ...


Failure = Literal["skipped", "failed", "lost", "missing"]
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

    Raises TunerError if two packages bring one name, or what one brings cannot be used.
    """
    return {name: _made(entry) for name, entry in brought(GROUP, "back end").items()}


def backend(name: str) -> Backend:
    """The back end of that name. Raises UsageError for an unknown one, with similar names."""
    known = backends()
    if name in known:
        return known[name]
    raise UsageError(f"unknown back end '{name}'", hint=did_you_mean(name, known, 3))


def _made(entry: EntryPoint) -> Backend:
    made = usable(entry, "back end")
    name = getattr(made, "name", "")
    if name != entry.name:
        raise TunerError(f"the back end '{entry.name}' ({entry.value}) calls itself '{name}'")
    return cast(Backend, made)


_EXTRA = "pip install 'iree-tuner[compare]'"


def is_gpu(device: str) -> bool:
    """Whether it names a GPU as PyTorch and JAX know them: of CUDA or ROCm."""
    return driver_of(device) in ("cuda", "hip")


def lacks(title: str, modules: Sequence[str]) -> str:
    """The packages to install for a library of this title; empty where its top-level modules are there."""
    absent = [name for name in modules if find_spec(name) is None]
    return f"{title} is not installed ({', '.join(absent)}): {_EXTRA}" if absent else ""


def versions(*distributions: str) -> str:
    """Of the first that is installed; empty where none is."""
    for name in distributions:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return ""


def first_line(error: BaseException) -> str:
    """An exception's message, in one line, with its type's name."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def device_number(device: str) -> int:
    """The number in a GPU's URI, for libraries that know devices by number; 0 without one.

    Raises CannotError if something else is in its place.
    """
    path = device.partition("://")[2]
    if path and not path.isdigit():
        raise CannotError(f"devices are selected by number only, not by {device}")
    return int(path or 0)


class TriedBackend:
    """A back end that does not know in advance what it cannot do: `load` raises."""

    def refuses(self, operation: Operation, device: str) -> str:
        return ""


# Calls of a library's function on copies of its inputs in turn: what most back ends load.


A = TypeVar("A")
R = TypeVar("R")


def copies_of(job: Job) -> list[list[Array]]:
    """The inputs of a job, as many copies as it asks for, each in memory of its own."""
    inputs = read_inputs(job.operation, job.inputs)
    return [[np.array(each) for each in inputs] for _ in range(job.copies)]


@dataclass(eq=False)
class LoadedCalls(Generic[A, R]):
    """A loaded operation: a `Running`."""

    call: Callable[[A], R]  # computes it; it may return before it is done
    copies: Sequence[A]  # its arguments, in turn
    _: KW_ONLY
    read: Callable[[R], Array]  # a result as NumPy has it
    wait: Callable[[R], object] | None = None  # returns when a result is there
    each: bool = True  # whether each call is waited for, or only the last, and with it those before it
    around: Callable[[], AbstractContextManager[object]] = nullcontext  # entered for calls
    note: str = ""  # one line about how it runs

    def __post_init__(self) -> None:
        self._turn = itertools.cycle(self.copies)

    def run(self, count: int) -> float:
        with self.around():
            start = time.perf_counter()
            self.make(count)
            return time.perf_counter() - start

    def make(self, count: int) -> None:
        """Make this many calls; returns when all are done."""
        call, turn, wait = self.call, self._turn, self.wait
        if wait is None:
            for _ in range(count):
                call(next(turn))
        elif self.each:
            for _ in range(count):
                wait(call(next(turn)))
        elif count:
            for _ in range(count - 1):
                call(next(turn))
            wait(call(next(turn)))

    def result(self) -> Array:
        with self.around():
            return self.read(self.call(self.copies[0]))
