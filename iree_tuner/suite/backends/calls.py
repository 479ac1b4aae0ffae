"""Calls of a library's function on copies of its inputs in turn: what most back ends load."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np

from iree_tuner.suite.backends.backend import Array, Job
from iree_tuner.suite.data import read_inputs

A = TypeVar("A")
R = TypeVar("R")


def copies_of(job: Job) -> list[list[Array]]:
    """The inputs of a job in memory of their own, as often as it wants them."""
    inputs = read_inputs(job.operation, job.inputs)
    return [[np.array(each) for each in inputs] for _ in range(job.copies)]


class Calls(Generic[A, R]):
    """An operation that is loaded: a `Running`.

    Args:
        call: computes it; it may return before it is done.
        copies: what it is called with, in turn.
        wait: returns when a result is there.
        read: a result as NumPy has it.
        each: whether each call is waited for; else only the last, and with it those before it.
        note: what is worth knowing of how it runs.
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
        """Compute it so many times; seconds until all are done."""
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
