"""Back ends that do what a library may do to its process; they are sent to it by their names."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from made_operations import expected

from iree_tuner.suite.backends.backend import Job
from iree_tuner.suite.operation import CannotError
from iree_tuner.suite.tensors import read_inputs


class Ready:
    """Gives the exact result; a run takes a thousandth of a second, and nothing of the processor."""

    note = ""

    def __init__(self, job: Job) -> None:
        self._job = job

    def run(self, count: int) -> float:
        start = time.perf_counter()
        if count:
            time.sleep(count * 0.001)
        return time.perf_counter() - start

    def result(self) -> np.ndarray:
        return expected(self._job.operation, read_inputs(self._job.operation, self._job.inputs))


@dataclass(frozen=True)
class Fake:
    """Good in every respect."""

    name: str = "fake"
    title: str = "Fake"

    def missing(self, device: str) -> str:
        return ""

    def version(self) -> str:
        return "1"

    def refuses(self, operation: Any, device: str) -> str:
        return ""

    def load(self, job: Job) -> Any:
        return Ready(job)


@dataclass(frozen=True)
class Failing(Fake):
    """Fails while it loads, in one of many ways."""

    how: str = ""

    def load(self, job: Job) -> Any:
        match self.how:
            case "cannot":
                raise CannotError("it has no kernel for this")
            case "error":
                raise RuntimeError("first line\nsecond line")
            case "long":
                raise ValueError("x" * 10_000)
            case "silent":
                raise KeyError
            case "unsendable":
                raise UnsendableError(lambda: None, "of no use")
            case "import":
                import no_such_library  # noqa: F401
            case "exit":
                print("good-bye", flush=True)
                os._exit(3)
            case "sys.exit":
                sys.exit(4)
            case "abort":
                os.abort()
            case "memory":
                raise MemoryError
            case "hang":
                time.sleep(3600)
        raise AssertionError(self.how)


class UnsendableError(Exception):
    """Pickles not at all."""

    def __init__(self, function: Any, text: str) -> None:
        super().__init__(function, text)
        self.text = text

    def __str__(self) -> str:
        return self.text


class Late(Ready):
    def run(self, count: int) -> float:
        if Path(self._job.inputs[0]).with_suffix(".now").exists():
            os.abort()
        return super().run(count)


@dataclass(frozen=True)
class FailingLate(Fake):
    """Runs until a file is there beside its input, and takes its process with it then."""

    def load(self, job: Job) -> Any:
        return Late(job)


class Off(Ready):
    def result(self) -> np.ndarray:
        found = super().result()
        found.reshape(-1)[-1] += 1
        return found

    def run(self, count: int) -> float:
        raise AssertionError("what is wrong is not timed")


class Reshaped(Off):
    def result(self) -> np.ndarray:
        return Ready.result(self)[:-1]


class Retyped(Off):
    def result(self) -> np.ndarray:
        return Ready.result(self).astype(np.float64)


@dataclass(frozen=True)
class Wrong(Fake):
    kind: type = Off

    def load(self, job: Job) -> Any:
        return self.kind(job)


def threads_now() -> int:
    return sum(1 for _ in Path("/proc/self/task").iterdir())


class Telling(Ready):
    """Its note says where it runs."""

    @property
    def note(self) -> str:
        before = threads_now()
        square = np.ones((700, 700), np.float32)
        np.matmul(square, square)
        threads = threads_now()
        found = {
            "pid": os.getpid(),
            "cores": sorted(os.sched_getaffinity(0)),
            "threads": threads,
            "before": before,
            "omp": os.environ.get("OMP_NUM_THREADS"),
            "copies": self._job.copies,
        }
        return json.dumps(found)


@dataclass(frozen=True)
class Tells(Fake):
    def load(self, job: Job) -> Any:
        return Telling(job)


class Counting(Ready):
    """Appends a line to a file beside its input for each run, with the size of its operation."""

    def run(self, count: int) -> float:
        path = Path(self._job.inputs[0])
        with Path(os.environ["FAKE_LOG"]).open("a", encoding="utf-8") as log:
            log.write(f"{self._job.operation.kind} {count} {path.exists()}\n")
        return super().run(count)

    def result(self) -> np.ndarray:
        return np.zeros(self._job.operation.result.shape, np.float32)


@dataclass(frozen=True)
class Counts(Fake):
    def load(self, job: Job) -> Any:
        return Counting(job)
