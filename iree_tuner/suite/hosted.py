"""The functions of a back end's process: all run there, and `Loaded` is what they give.

The process holds one operation at a time, in one or several versions that take turns, each in its slot, and
its background loads.
"""

from __future__ import annotations

import gc
import math
import tempfile
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from iree_tuner.device.data import dtype_of
from iree_tuner.device.numerics import Agreement, compare
from iree_tuner.measure.sampling import Batches
from iree_tuner.suite.backends.backend import Backend, BackendError, Job, Running, first_line
from iree_tuner.suite.kinds.product import Matmul
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.primitives import CannotError
from iree_tuner.suite.tensors import Array, read_array, write_inputs
from iree_tuner.targets import on_host

_HOST_SIZE, _GPU_SIZE = 1024, 8192


class BackgroundLoad:
    """A large product of f32 on the same device, by the same library, in the same process.

    Args:
        backend: that library.
        job: the measured job, of whose device and threads it is.

    Raises:
        CannotError: the back end multiplies no f32.
    """

    def __init__(self, backend: Backend, job: Job) -> None:
        size = _HOST_SIZE if on_host(job.device) else _GPU_SIZE
        product = Matmul(m=size, n=size, k=size)
        conditions = replace(job.conditions, timing="call", streams=1)
        with tempfile.TemporaryDirectory() as folder:
            inputs = write_inputs(product, Path(folder))
            self._running: Running = backend.load(Job(product, inputs, job.device, conditions))
        self._running.run(1)

    def run_for(self, seconds: float) -> None:
        """Compute for this long; a product that has begun ends."""
        passed = 0.0
        while passed < seconds:
            passed += self._running.run(1)


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
    background_load: BackgroundLoad | None


_held: dict[str, _Held] = {}
"""By slot; of one operation."""
_background_loads: dict[str, BackgroundLoad] = {}
"""By device; a back end's process has one."""


def load(backend: Backend, job: Job, expected: str, magnitudes: str, slot: str = "") -> Loaded:
    """Load and compute an operation in place of the slot's earlier one and of other operations.

    One whose result is wrong is not calibrated.

    Args:
        backend: the process's own.
        job: what to load, and how it is timed.
        expected: a .npy file of the expected result, in its type or a wider one; empty for none.
        magnitudes: one of the expected result for the inputs' absolute values; empty for none.
        slot: of the version.

    Raises:
        BackendError: it cannot be loaded.
    """
    if any(each.job.operation != job.operation for each in _held.values()):
        forget()
    _drop(slot)
    if why := backend.missing(job.device):
        raise BackendError("missing", why)
    if why := backend.refuses(job.operation, job.device):
        raise BackendError("cannot", why)
    with _told():
        background_load = _background_load(backend, job) if job.conditions.background_load_s else None
        running = [backend.load(job) for _ in range(job.conditions.streams)]
        agreement = None
        if expected:
            agreement = _agreement(running[0].result(), job.operation, expected, magnitudes)
        note = getattr(running[0], "note", "")
        if agreement is not None and not agreement.ok:
            return Loaded(agreement, note)
        runs = SideBySide(running)
        _held[slot] = _Held(job, runs, Batches(runs, job.conditions.batch_s), background_load)
        return Loaded(agreement, note)


def sample(pause_s: float, slot: str = "") -> float:
    """Microseconds of one call, from a batch, after a pause and the background load.

    Raises:
        BackendError: it failed, or nothing is loaded.
    """
    held = _held.get(slot)
    if held is None:
        raise BackendError("failed", "nothing is loaded: the process that had loaded it has ended")
    time.sleep(pause_s)
    with _told():
        if held.background_load is not None:
            held.background_load.run_for(held.job.conditions.background_load_s)
        return held.batches.batch() / held.job.conditions.streams


def forget() -> None:
    """Drop the operation in all its versions, with its memory."""
    for slot in list(_held):
        _drop(slot)


def _drop(slot: str) -> None:
    held = _held.pop(slot, None)
    if held is not None:
        held.runs.close()
    del held
    gc.collect()


def _background_load(backend: Backend, job: Job) -> BackgroundLoad:
    if job.device not in _background_loads:
        try:
            _background_loads[job.device] = BackgroundLoad(backend, job)
        except CannotError as error:
            reason = f"the back end cannot run the background load, a product of f32: {error}"
            raise CannotError(reason) from None
    return _background_loads[job.device]


def _agreement(got: Array, operation: Operation, expected: str, magnitudes: str) -> Agreement:
    result, tolerance = operation.result, operation.tolerance
    wanted = read_array(expected, result.element_type)
    dtype = dtype_of(result.element_type)
    if got.shape != wanted.shape or got.dtype != dtype:
        found = f"got {got.dtype}{list(got.shape)}, expected {dtype}{list(wanted.shape)}"
        return Agreement(False, math.inf, found)
    scale = np.atleast_1d(read_array(magnitudes, result.element_type)) if magnitudes else None
    return compare(
        np.atleast_1d(got), np.atleast_1d(wanted), result.element_type, tolerance.accumulator_type,
        tolerance.reduction_length, scale, factors=(tolerance.factor_type, tolerance.factors),
    )  # fmt: skip


@contextmanager
def _told() -> Generator[None]:
    """Raise all that a library raises as BackendError, which can always be sent."""
    try:
        yield
    except BackendError:
        raise
    except CannotError as error:
        raise BackendError("cannot", str(error)) from None
    except ImportError as error:
        raise BackendError("missing", first_line(error)) from None
    except Exception as error:
        raise BackendError("failed", first_line(error)) from None
