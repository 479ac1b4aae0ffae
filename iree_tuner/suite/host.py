"""The process in which a back end computes, as the coordinator sees it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Self, TypeVar

from iree_tuner.compiler.task import Crash, HostLost, Ok
from iree_tuner.compiler.worker import Calls
from iree_tuner.suite import hosted
from iree_tuner.suite.backends.backend import Backend, BackendError, Job
from iree_tuner.suite.cores import use_cores
from iree_tuner.suite.hosted import Loaded

R = TypeVar("R")

_FLOPS, _BYTES = 1e9, 1e8
"""A second: what the slowest library does of an operation before it counts as hanging."""

_RUNS = 20
"""Of an operation, in a call: for comparison, warm-up and calibration, or for a sample."""

_LINE = 300
"""Characters of a reason."""


class BackendHost:
    """A back end's process, which is started when it is needed, and again after a failure.

    Before any library is imported in it, it limits itself to the first `Conditions.threads` usable cores, and
    tells OpenMP and BLAS libraries their number.

    Args:
        process: starts one at the device's host.
        patience_s: time of a call in addition to its work: to import, to compile, to copy.
    """

    def __init__(self, process: Callable[[], Calls], *, patience_s: float = 300.0) -> None:
        self._process = process
        self._patience_s = patience_s
        self._workers: Calls | None = None
        self._threads = 0
        self._jobs: dict[str, Job] = {}

    def load(
        self, backend: Backend, job: Job, expected: str = "", magnitudes: str = "", slot: str = ""
    ) -> Loaded:
        """Replace the loaded operation by another, and compare its result; drop one with a wrong result.

        Args:
            backend: of the process's library.
            job: what to load, and how it is timed.
            expected: a .npy file of the expected result, in its type or in double precision; empty for none.
            magnitudes: one of the expected result for the inputs' absolute values, which bounds partial sums
                (`device.numerics.compare`); empty for none.
            slot: of one version of the operation, where several are to take turns in this process.

        Raises:
            BackendError: it is missing, cannot do the operation, or failed, in one line. If this one failed,
                the next operation is loaded in a fresh process.
        """
        self._jobs.pop(slot, None)
        if self._threads != job.conditions.threads:
            self.close()
        self._threads = job.conditions.threads
        # Each time: the process may be a new one.
        self._ask(use_cores, self._threads, limit_s=self._patience_s)
        limit_s = self._limit_s(job) * job.conditions.streams + job.conditions.background_load_s
        loaded = self._ask(hosted.load, backend, job, expected, magnitudes, slot, limit_s=limit_s)
        if loaded.agreement is None or loaded.agreement.ok:
            self._jobs[slot] = job
        return loaded

    def sample(self, pause_s: float = 0.0, slot: str = "") -> float:
        """Microseconds of one call, from a batch of them, after a pause.

        Raises:
            BackendError: it failed; it has to be loaded again.
        """
        job = self._jobs.get(slot)
        if job is None:
            raise BackendError("failed", "nothing is loaded")
        limit_s = self._limit_s(job) * job.conditions.streams + 2 * job.conditions.background_load_s + pause_s
        return self._ask(hosted.sample, pause_s, slot, limit_s=limit_s)

    def forget(self) -> None:
        """Drop what is loaded; the process stays."""
        if self._jobs:
            self._jobs.clear()
            self._ask(hosted.forget, limit_s=self._patience_s)

    def close(self) -> None:
        self._jobs.clear()
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _limit_s(self, job: Job) -> float:
        """Time limit of a call: patience, and the time that a slow library takes, or a few batches."""
        work_s = job.operation.flops / _FLOPS + job.operation.bytes * (1 + job.copies / _RUNS) / _BYTES
        return self._patience_s + _RUNS * max(work_s, job.conditions.batch_s)

    def _ask(self, function: Callable[..., R], *args: object, limit_s: float) -> R:
        if self._workers is None:
            self._workers = self._process()
        try:
            end = self._workers.end(self._workers.submit(function, *args, timeout_s=limit_s))
        except ImportError as error:  # of a back end that its host does not have
            raise BackendError("missing", _short(str(error))) from None
        except BackendError as error:
            if error.state == "failed":
                self.close()  # whatever state it has left the library and the device in
            raise BackendError(error.state, _short(error.message)) from None
        if isinstance(end, Ok):
            return end.value
        self.close()
        if isinstance(end, HostLost):
            raise BackendError("lost", _short(end.reason))
        raise BackendError("failed", _short(_ending(end) if isinstance(end, Crash) else str(end)))


def _ending(end: Crash) -> str:
    code = end.exit_code
    how = end.reason or f"its process exited with status {code}"
    if not end.reason and code is not None and code < 0:
        how = f"its process was killed by {signal.Signals(-code).name}"
    said = [line.strip() for line in end.output.splitlines() if line.strip()]
    return f"{how}: {said[-1]}" if said else how


def _short(text: str) -> str:
    lines = text.strip().splitlines()
    line = lines[0] if lines else "no reason given"
    return line if len(line) <= _LINE else f"{line[: _LINE - 3]}..."
