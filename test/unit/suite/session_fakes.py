"""Back ends that do what tests want, and a watch that remembers."""

from __future__ import annotations

import os
from dataclasses import dataclass

from iree_tuner.suite.backends.backend import Array, Job
from iree_tuner.suite.exact import reference
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.primitives import CannotError
from iree_tuner.suite.results import Row
from iree_tuner.suite.tensors import read_inputs


@dataclass(frozen=True)
class Fake:
    """A library that computes with the reference, unless `does` says otherwise.

    Attributes:
        does: `right`, `wrong`, `dies`, `cannot`, `raises`.
        on: the only operation on which it does so; empty for all.
    """

    name: str = "fake"
    title: str = "Fake"
    does: str = "right"
    absent: str = ""
    refused: str = ""
    on: str = ""

    def missing(self, device: str) -> str:
        return self.absent

    def version(self) -> str:
        return "1.0"

    def refuses(self, operation: Operation, device: str) -> str:
        return self.refused

    def load(self, job: Job) -> Computed:
        does = self.does if self.on in ("", job.operation.name) else "right"
        if does == "dies":
            os._exit(3)
        if does == "cannot":
            raise CannotError("it has no such product")
        if does == "raises":
            raise RuntimeError("out of luck")
        found = reference(job.operation, read_inputs(job.operation, job.inputs))
        return Computed(found + 1 if does == "wrong" else found)


class Computed:
    """A result that is known; a run takes a tenth of a millisecond, by a clock that nothing disturbs."""

    def __init__(self, found: Array) -> None:
        self._found = found

    def run(self, count: int) -> float:
        return count * 1e-4

    def result(self) -> Array:
        return self._found


class Remembers:
    """A watch."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.notes: list[str] = []
        self.operations: list[str] = []

    def stopping(self) -> None:
        pass

    def planned(self, operations: int) -> None:
        pass

    def working(self, device: str, what: str) -> None:
        pass

    def noted(self, message: str) -> None:
        self.notes.append(message)

    def measured(self, row: Row) -> None:
        self.rows.append(row)

    def done(self, operation: str) -> None:
        self.operations.append(operation)
