"""Whether a back end's library is there, found without importing it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Generic, TypeVar

import numpy as np

from iree_tuner.suite.backends.backend import Array, Job
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.primitives import CannotError
from iree_tuner.suite.tensors import read_inputs
from iree_tuner.targets.registry import driver_of

_EXTRA = "pip install 'iree-tuner[compare]'"


def is_cuda(device: str) -> bool:
    """Whether a device URI names a GPU of CUDA's, as libraries know them."""
    return driver_of(device) == "cuda"


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

    Raises:
        CannotError: something else is in its place.
    """
    path = device.partition("://")[2]
    if path and not path.isdigit():
        raise CannotError(f"devices are selected by number only, not by {device}")
    return int(path or 0)


class TriedBackend:
    """A back end that does not know in advance what it cannot do: `load` raises."""

    def refuses(self, operation: Operation, device: str) -> str:
        """Nothing."""
        del operation, device
        return ""


# Calls of a library's function on copies of its inputs in turn: what most back ends load.


A = TypeVar("A")
R = TypeVar("R")


def copies_of(job: Job) -> list[list[Array]]:
    """The inputs of a job, as many copies as it asks for, each in memory of its own."""
    inputs = read_inputs(job.operation, job.inputs)
    return [[np.array(each) for each in inputs] for _ in range(job.copies)]


class LoadedCalls(Generic[A, R]):
    """A loaded operation: a `Running`.

    Args:
        call: computes it; it may return before it is done.
        copies: its arguments, in turn.
        wait: returns when a result is there.
        read: a result as NumPy has it.
        each: whether each call is waited for, or only the last, and with it those before it.
        note: one line about how it runs.
    """

    def __init__(
        self,
        call: Callable[[A], R],
        copies: Sequence[A],
        *,
        wait: Callable[[R], object] | None = None,
        read: Callable[[R], Array],
        each: bool = True,
        note: str = "",
    ) -> None:
        self._call = call
        self._first = copies[0]
        self._turn = itertools.cycle(copies)
        self._wait = wait
        self._read = read
        self._each = each
        self.note = note

    def run(self, count: int) -> float:
        """Compute it this many times; seconds until all are done."""
        call, turn, wait = self._call, self._turn, self._wait
        start = time.perf_counter()
        if wait is None:
            for _ in range(count):
                call(next(turn))
        elif self._each:
            for _ in range(count):
                wait(call(next(turn)))
        elif count:
            for _ in range(count - 1):
                call(next(turn))
            wait(call(next(turn)))
        return time.perf_counter() - start

    def result(self) -> Array:
        """The result for the first copy."""
        return self._read(self._call(self._first))
