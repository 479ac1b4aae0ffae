"""The process in which a back end computes: as the coordinator sees it, and the functions that run there.

The process holds one operation at a time, in one or several versions that take turns, each in its slot, and
its background loads.
"""

from __future__ import annotations

import gc
import math
import signal
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from iree_tuner.compiler.task import Crash, HostLost, Ok
from iree_tuner.compiler.worker import Calls
from iree_tuner.device.data import dtype_of
from iree_tuner.device.numerics import Agreement, compare
from iree_tuner.measure.sampling import Batches
from iree_tuner.suite.backends.backend import BackendError, Contender, Job, Running, first_line
from iree_tuner.suite.cores import use_cores
from iree_tuner.suite.kinds.product import Matmul
from iree_tuner.suite.operation import CannotError, Operation
from iree_tuner.suite.tensors import Array, read_array, write_inputs
from iree_tuner.targets import on_host

_HOST_SIZE, _GPU_SIZE = 1024, 8192


class SideBySide:
    """A job that each of several threads runs; for `measure.sampling.Batches`."""

    def __init__(self, running: Sequence[Running]) -> None:
        self._running = running
        self._threads = ThreadPoolExecutor(len(running)) if len(running) > 1 else None

    def run(self, repeats: int) -> float:
        if self._threads is None:
            return self._running[0].run(repeats)
        start = time.perf_counter()
        for each in [self._threads.submit(running.run, repeats) for running in self._running]:
            each.result()
        return time.perf_counter() - start

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown()


@dataclass(frozen=True)
class Loaded:
    """The result of loading an operation."""

    agreement: Agreement | None  # of its result with the expected one; None where none was given
    note: str = ""  # remarks about how it runs


@dataclass(frozen=True)
class _Held:
    job: Job
    runs: SideBySide
    batches: Batches


_held: dict[str, _Held] = {}
"""By slot; of one operation."""
_background_loads: dict[str, Running] = {}
"""By device; a process is of one back end, whose product runs there."""


def load_here(backend: Contender, job: Job, expected: str, magnitudes: str, slot: str = "") -> Loaded:
    """Load and compute an operation in place of the slot's earlier one and of other operations.

    One whose result is wrong is not calibrated. For the arguments, see `BackendHost.load`. Raises
    BackendError if it cannot be loaded.
    """
    if any(each.job.operation != job.operation for each in _held.values()):
        forget_here()
    _drop(slot)
    with _told():
        if job.conditions.background_load_s:
            _load_background(backend, job)
        running = [backend.load(job) for _ in range(job.conditions.streams)]
        agreement = None
        if expected:
            agreement = _agreement(running[0].result(), job.operation, expected, magnitudes)
        note = getattr(running[0], "note", "")
        if agreement is not None and not agreement.ok:
            return Loaded(agreement, note)
        runs = SideBySide(running)
        _held[slot] = _Held(job, runs, Batches(runs, job.conditions.batch_s))
        return Loaded(agreement, note)


def sample_here(pause_s: float, slot: str = "") -> float:
    """Microseconds of one call, from a batch, after a pause and the background load.

    Raises BackendError if it failed, or nothing is loaded.
    """
    held = _held.get(slot)
    if held is None:
        raise BackendError("failed", "nothing is loaded: the process that had loaded it has ended")
    time.sleep(pause_s)
    with _told():
        passed_s = 0.0
        while passed_s < held.job.conditions.background_load_s:
            passed_s += _background_loads[held.job.device].run(1)
        return held.batches.batch() / held.job.conditions.streams


def forget_here() -> None:
    """Drop the operation in all its versions, with its memory."""
    for slot in list(_held):
        _drop(slot)


def _drop(slot: str) -> None:
    if slot in _held:
        _held.pop(slot).runs.close()
    gc.collect()


def _load_background(backend: Contender, job: Job) -> None:
    """A large product of f32 on the job's device. Raises CannotError if the back end multiplies no f32."""
    if job.device in _background_loads:
        return
    size = _HOST_SIZE if on_host(job.device) else _GPU_SIZE
    product = Matmul(m=size, n=size, k=size)
    conditions = replace(job.conditions, timing="call", streams=1)
    try:
        with tempfile.TemporaryDirectory() as folder:
            inputs = write_inputs(product, Path(folder))
            running = backend.load(Job(product, inputs, job.device, conditions))
    except CannotError as error:
        reason = f"the back end cannot run the background load, a product of f32: {error}"
        raise CannotError(reason) from None
    running.run(1)
    _background_loads[job.device] = running


def _agreement(got: Array, operation: Operation, expected: str, magnitudes: str) -> Agreement:
    result, tolerance = operation.result, operation.tolerance
    wanted = read_array(expected, result.element_type)
    dtype = dtype_of(result.element_type)
    if got.shape != wanted.shape or got.dtype != dtype:
        found = f"got {got.dtype}{list(got.shape)}, expected {dtype}{list(wanted.shape)}"
        return Agreement(False, math.inf, found)
    scale = np.atleast_1d(read_array(magnitudes, result.element_type)) if magnitudes else None
    return compare(np.atleast_1d(got), np.atleast_1d(wanted), result.element_type, tolerance, scale)


@contextmanager
def _told() -> Generator[None]:
    """Raise all that a library raises as BackendError, which can always be sent."""
    try:
        yield
    except BackendError:
        raise
    except CannotError as error:
        raise BackendError("skipped", str(error)) from None
    except ImportError as error:
        raise BackendError("missing", first_line(error)) from None
    except Exception as error:
        raise BackendError("failed", first_line(error)) from None


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
        self, backend: Contender, job: Job, expected: str = "", magnitudes: str = "", slot: str = ""
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
        loaded = self._ask(load_here, backend, job, expected, magnitudes, slot, limit_s=limit_s)
        if loaded.agreement is None or loaded.agreement.ok:
            self._jobs[slot] = job
        return loaded

    def sample(self, pause_s: float = 0.0, slot: str = "") -> float:
        """Microseconds of one call, from a batch of them, after a pause.

        Raises BackendError if it failed; it has to be loaded again.
        """
        job = self._jobs.get(slot)
        if job is None:
            raise BackendError("failed", "nothing is loaded")
        limit_s = self._limit_s(job) * job.conditions.streams + 2 * job.conditions.background_load_s + pause_s
        return self._ask(sample_here, pause_s, slot, limit_s=limit_s)

    def close(self) -> None:
        self._jobs.clear()
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()

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
