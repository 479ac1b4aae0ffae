"""The measuring worker's functions. Every function here runs in it.

Calls for one bench share data in this process: the default's results, the buffers that runs rotate through,
and the sensors. Filling 64 MiB for each candidate would cost more than timing it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from iree_tuner.check.check import QUICK_SEED, Check
from iree_tuner.compiler.task import SpentError
from iree_tuner.device.bench import Bench, JointBench
from iree_tuner.device.data import forget_values
from iree_tuner.device.device_facts import copies_for, memory_bytes
from iree_tuner.device.memory import Arena, LoadedDispatch, Memory, Recent
from iree_tuner.device.numerics import Agreement
from iree_tuner.device.outcome import UNKNOWN, Outcome, Readings
from iree_tuner.device.sensors import Sensors, sensors_for
from iree_tuner.measure.sampling import Batches, ScreenPlan, call_cost, interleave, screen
from iree_tuner.program.bindings import Harness
from iree_tuner.targets import on_host
from iree_tuner.targets.runtime import RUNTIME_ERRORS, device_for, first_line, probe

ENDED_BY = signal.SIGALRM
"""Ends this process if a run takes far too long: its candidate is too slow, which is not a crash."""

_KEPT_PART = 1 / 32  # of a device's memory, for what candidates of several workloads take turns on
_KEPT_UNKNOWN = 512 << 20
_CHECKS_HOLD, _CHECKS_MAY = 8, 4  # of GPUs: copies of a harness's memory, and such parts of the device's
_SETS_KEPT = 8
_FIRST_RUN = 1.25  # single runs are slower than those of a batch, but not by that
_NO_SPIKE = 2.5  # times that
_SPIKE_US, _LOOKS = 20_000.0, 2  # where other processes compile, 4 % of an H200's first runs take up to 6 ms
_CALL_US = 200.0  # of one call with one run, without the run itself
_LONGEST = 10.0  # times what is hopeless: a run is ended then, with this process
_LONGEST_LEAST_S = 0.4  # as a new process costs as much
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # of glibc's malloc.h
_NEVER = 2**31 - 1


class DeviceError(SpentError):
    """The device refused to run something. After that, nothing runs on a GPU in this process."""


@dataclass(frozen=True)
class Timed:
    """Samples of one executable, or why there are none."""

    outcome: Outcome  # `ok`, or how it ended
    samples_us: tuple[float, ...] = ()  # device time of one run, one value a batch, in microseconds
    message: str = ""  # the reason of a failure; see `Trial.corrects`
    seconds: float = 0.0  # time in the worker
    # the part of it for its results: generating inputs, computing correct results, comparing
    check_s: float = 0.0
    worst: float | None = None  # largest error as a multiple of its tolerance; None if it was not checked
    readings: Readings = UNKNOWN  # the sensors' readings during the measurement
    repeats: int = 0  # runs in a batch
    copies: int = 0  # copies of the data that the runs rotated through


class _Stopwatch:
    def __init__(self) -> None:
        self.seconds = 0.0
        self._begun = 0.0

    def __enter__(self) -> None:
        self._begun = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._begun


class _Station:
    def __init__(self, bench: Bench) -> None:
        self.memory = Memory.for_checks(bench.harness, bench.device)
        self.check = Check(bench, self.memory)


_stations: Recent[Bench, _Station] = Recent()
_rotations: Recent[tuple[Harness, str, int], Memory] = Recent()
_arenas: dict[str, Arena] = {}


@lru_cache(1)
def _kept_bytes(device: str) -> int:
    found = memory_bytes(device)
    return int(_KEPT_PART * found) if found else _KEPT_UNKNOWN


def _station(bench: Bench) -> _Station:
    size, most = bench.harness.stride, _kept_bytes(bench.device)
    if not on_host(bench.device):
        size, most = _CHECKS_HOLD * size, _CHECKS_MAY * most
    return _stations.get(bench, size, most, lambda: _Station(bench))


def _rotation(bench: Bench) -> Memory:
    harness, device = bench.harness, bench.device
    copies = copies_for(harness, device, bench.cold)
    if on_host(device):
        return _arenas.setdefault(device, Arena(device)).hold(harness, copies)
    size, most = copies * harness.stride, 2 * _kept_bytes(device)
    return _rotations.get(
        (harness, device, copies), size, most, lambda: Memory.for_timing(harness, device, copies)
    )


_sensors = lru_cache(1)(sensors_for)


def start_here(device: str) -> None:
    """Open the device."""
    if not on_host(device):  # there, what is timed lies in memory of this process
        _keep_memory()
    device_for(device)
    _sensors(device)


def _keep_memory() -> None:
    """Use freed memory again: checks make arrays as large as a bench.

    Allocating 135 MB took 24 ms, half of them for mapping its pages (two cores of an AMD EPYC).
    """
    with suppress(AttributeError, OSError):  # another C library has no such knobs
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_MAX, 0)
        libc.mallopt(_M_TRIM_THRESHOLD, _NEVER)


def screen_here(vmfb: bytes, bench: Bench | JointBench, limit_us: float | None, plan: ScreenPlan) -> Timed:
    """Load an executable, check its results on one seed if the plan asks for it, and time it.

    A first run far beyond `limit_us` ends it, and so do the first samples beyond it. Raises DeviceError if a
    run fails on a GPU, or the default does not run.
    """
    if isinstance(bench, JointBench):
        return _screen_joint(vmfb, bench, limit_us, plan)
    start = time.perf_counter()
    sensors = _sensors(bench.device)
    sensors.start()
    timed = _screen(vmfb, bench, limit_us, plan, sensors)
    readings = replace(sensors.readings(), throttled=timed.readings.throttled)
    return replace(timed, seconds=time.perf_counter() - start, readings=readings)


def _screen_joint(vmfb: bytes, bench: JointBench, limit_us: float | None, plan: ScreenPlan) -> Timed:
    """Screen one dispatch after the other until one fails; the time is the sum of all their calls."""
    seconds, check_s, least_us, worst = 0.0, 0.0, 0.0, None
    for number, (part, own, calls) in enumerate(bench.each(vmfb)):
        left_us = None if limit_us is None else max(0.0, limit_us - least_us) / max(1, calls)
        found = screen_here(part, own, left_us, plan)
        seconds, check_s = seconds + found.seconds, check_s + found.check_s
        if found.outcome != "ok":
            message = f"dispatch {number}: {found.message}" if found.message else ""
            return replace(found, message=message, samples_us=(), seconds=seconds)
        least_us += calls * min(found.samples_us)
        worst = found.worst if worst is None else max(worst, found.worst or 0.0)
    return Timed("ok", (least_us,), seconds=seconds, check_s=check_s, worst=worst)


def _screen(vmfb: bytes, bench: Bench, limit_us: float | None, plan: ScreenPlan, sensors: Sensors) -> Timed:
    checking = _Stopwatch()
    with _device_errors():
        with checking:
            station = _station(bench) if plan.checked else None
        one = station and on_host(bench.device) and copies_for(bench.harness, bench.device, bench.cold) == 1
        rotation = station.memory if station and one else _rotation(bench)  # large: once is enough
    try:
        memory = station.memory if station else rotation
        loaded = checked = LoadedDispatch(vmfb, bench.harness, bench.device, memory)
        if plan.for_check:
            checked = LoadedDispatch(plan.for_check, bench.harness, bench.device, memory)
    except RUNTIME_ERRORS as error:
        with _device_errors():
            probe(bench.device)  # is it the executable, or the device?
        return Timed("run_error", message=first_line(error))
    try:
        if station:
            with checking:
                loaded.fill(QUICK_SEED)
        if not on_host(bench.device):
            loaded.run(1)  # drivers of GPUs finish compiling when a kernel is launched first
        hopeless_us = float("inf") if limit_us is None else _FIRST_RUN * limit_us + _CALL_US
        with ended_after(bench.device, max(_LONGEST_LEAST_S, _LONGEST * hopeless_us / 1e6)):
            first_us = first_run_us(partial(loaded.run, 1), hopeless_us)
        if first_us > hopeless_us:
            return Timed("too_slow", (first_us,), repeats=1, copies=1)
        worst, message = None, ""
        if station:
            with checking:
                agreement = station.check.quick(checked)
                message = station.check.default() if vmfb == bench.default and agreement.ok else ""
            worst = agreement.worst
            # A default that replaces the program's own code is a baseline for times, right or wrong.
            replaces = bench.case is not None and vmfb == bench.default
            if not agreement.ok and not replaces:
                return Timed("wrong_result", message=agreement.message, worst=worst)
            message = agreement.note if agreement.corrects else message
            if memory is not rotation:
                loaded.use(rotation)
                loaded.run(1)
        source = Batches(loaded, plan.batch_s)
        found = screen(source, sensors, plan, limit_us)
    except RUNTIME_ERRORS as error:
        if not on_host(bench.device):
            raise DeviceError(first_line(error)) from None
        return Timed("run_error", message=first_line(error))
    return Timed(
        "too_slow" if found.too_slow else "ok",
        found.samples_us,
        message,
        check_s=checking.seconds,
        worst=worst,
        readings=Readings(throttled=found.discarded),
        repeats=source.repeats,
        copies=rotation.copies,
    )


def first_run_us(run: Callable[[], float], hopeless_us: float) -> float:
    """The time of a candidate's first run; `run` returns seconds.

    It is slower than others, and a spike may hit it: beyond `hopeless_us` it is looked at again, if that is
    cheap.
    """
    found_us, cheap_us = run() * 1e6, max(_SPIKE_US, _NO_SPIKE * hopeless_us)
    for _ in range(_LOOKS):
        if not hopeless_us < found_us < cheap_us:
            break
        found_us = run() * 1e6
    return found_us


class _Table:
    """Executables that take turns, and how many rounds they have had."""

    def __init__(self, vmfbs: Sequence[bytes], bench: Bench, batch_s: float) -> None:
        memory = _rotation(bench)
        loaded = [LoadedDispatch(vmfb, bench.harness, bench.device, memory) for vmfb in vmfbs]
        self._loaded = loaded
        for each in loaded:
            each.run(1)  # touches its code
        overhead_s = min(call_cost(each) for each in loaded)
        self.sources = [Batches(each, batch_s, overhead_s) for each in loaded]
        self.rounds = 0

    def use(self, memory: Memory) -> None:
        """Go on in this memory, which others may have used since."""
        for each in self._loaded:
            if each.memory is not memory:
                each.use(memory)
                each.run(1)


_table = lru_cache(_SETS_KEPT)(_Table)


def rounds_here(
    vmfbs: Sequence[bytes], bench: Bench | JointBench, rounds: int, batch_s: float
) -> list[list[float]]:
    """Rounds of samples, in microseconds of one run: one of each executable, in an order that changes.

    All use the same memory, so that its address makes no difference between them. Raises DeviceError if one
    of them does not load or run.
    """
    if isinstance(bench, JointBench):
        total = [[0.0] * len(vmfbs) for _ in range(rounds)]
        for parts in zip(*(bench.each(vmfb) for vmfb in vmfbs), strict=True):
            own, calls = parts[0][1], parts[0][2]
            rows = rounds_here([part for part, _, _ in parts], own, rounds, batch_s)
            total = [
                [a + calls * b for a, b in zip(*pair, strict=True)] for pair in zip(total, rows, strict=True)
            ]
        return total
    sensors = _sensors(bench.device)
    with _device_errors():
        table = _table(tuple(vmfbs), bench, batch_s)
        table.use(_rotation(bench))
        sensors.start()
        rows = interleave(table.sources, sensors, rounds, start=table.rounds)
        table.rounds += rounds
    return rows


def agree_here(vmfb: bytes, bench: Bench | JointBench, seeds: Sequence[int]) -> Agreement:
    """Check an executable's results (`check.check`). Raises DeviceError if it does not load or run."""
    if isinstance(bench, JointBench):
        every = [agree_here(part, own, seeds) for part, own, _ in bench.each(vmfb)]
        return next((each for each in every if not each.ok), max(every, key=lambda each: each.worst))
    with _device_errors():
        station = _station(bench)
        loaded = LoadedDispatch(vmfb, bench.harness, bench.device, station.memory)
        return station.check.thorough(loaded, seeds)


@contextmanager
def ended_after(device: str, seconds: float) -> Generator[None]:
    """End this process if a run on the host takes longer: nothing else ends it. See `ENDED_BY`."""
    if not on_host(device) or seconds == float("inf"):
        yield
        return
    signal.signal(ENDED_BY, signal.SIG_DFL)  # the runtime holds the interpreter: its handlers would not run
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def let_go() -> None:
    """Free the memory of dispatches: whole programs, which are also large, are next."""
    _stations.clear()
    _rotations.clear()
    _arenas.clear()
    _table.cache_clear()
    forget_values()


def leave_here() -> None:
    """End this process, whose device is unusable; the pool starts another."""
    os._exit(0)


@contextmanager
def _device_errors() -> Generator[None]:
    try:
        yield
    except RUNTIME_ERRORS as error:
        raise DeviceError(first_line(error)) from None
