"""The functions of a back end's process: all run there, and `Loaded` is what they give.

The process holds one operation at a time, in one or several versions that take turns, each in its slot, and
its background loads.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from iree_tuner.device.data import dtype_of
from iree_tuner.device.numerics import Agreement, compare
from iree_tuner.measure.sampling import Batches
from iree_tuner.suite.backends.backend import Array, Backend, BackendError, Job
from iree_tuner.suite.backends.library import first_line
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.primitives import CannotError
from iree_tuner.suite.run_facts import BackgroundLoad
from iree_tuner.suite.spread import SideBySide
from iree_tuner.suite.tensors import read_array


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
