"""Back ends that do what tests want, a watch that remembers, and a site whose processes serve many runs."""

from __future__ import annotations

import copy
import os
from concurrent.futures import Future
from dataclasses import dataclass

from iree_tuner.compiler.worker import Calls, Workers
from iree_tuner.suite.backends.backend import Job
from iree_tuner.suite.exact import reference
from iree_tuner.suite.host import forget_here
from iree_tuner.suite.operation import CannotError, Operation
from iree_tuner.suite.results import Row
from iree_tuner.suite.site import Hosts
from iree_tuner.suite.tensors import Array, read_inputs


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


class Kept(Calls):
    """A process that is used again when it is closed, if all that was called in it went well."""

    def __init__(self, idle: list[Workers]) -> None:
        self._idle = idle
        self._workers = idle.pop() if idle else Workers(1, memory_bytes=None)
        self._sound = True

    def submit(self, function, *args, **how) -> Future:
        future = self._workers.submit(function, *args, **how)
        future.add_done_callback(self._look)
        return future

    def _look(self, future: Future) -> None:
        if future.cancelled() or future.exception() is not None:
            self._sound = False

    def begun(self):
        return self._workers.begun()

    @property
    def spans(self):
        return self._workers.spans

    def close(self) -> None:
        if not self._sound:
            self._workers.close()
            return
        self._workers.call(forget_here)
        self._idle.append(self._workers)


class KeptSite(Hosts):
    """This machine; the processes and labs of a run are those of the runs before it: each takes a second."""

    def __init__(self) -> None:
        super().__init__()
        self._idle: list[Workers] = []
        self._labs = {}

    def process(self, place=None) -> Calls:
        return Kept(self._idle)

    def lab(self, target, place, *rest, **how):
        if place not in self._labs:
            self._labs[place] = super().lab(target, place, *rest, **how)
        lent = copy.copy(self._labs[place])
        lent.close = lambda: None
        return lent

    def close(self) -> None:
        for each in (*self._idle, *self._labs.values()):
            each.close()
