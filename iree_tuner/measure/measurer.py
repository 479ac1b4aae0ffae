"""Ask the measuring worker, and turn its crashes and time-outs into outcomes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from iree_tuner.compiler.task import End
from iree_tuner.compiler.worker import Calls, Crash, Ok, Timeout, WorkerError, Workers, memory_of_machine
from iree_tuner.device.bench import Bench, JointBench
from iree_tuner.device.device_facts import DeviceFacts, facts_of
from iree_tuner.device.numerics import Agreement
from iree_tuner.measure.sampling import ScreenPlan
from iree_tuner.measure.statistics import Comparison, JudgePlan, judge
from iree_tuner.measure.timing import (
    ENDED_BY,
    DeviceError,
    Timed,
    agree_here,
    rounds_here,
    screen_here,
    start_here,
)
from iree_tuner.targets import on_host

T = TypeVar("T")
AnyBench = Bench | JointBench

Screen = Callable[[bytes, AnyBench, float | None, ScreenPlan], Timed]
Rounds = Callable[[Sequence[bytes], AnyBench, int, float], list[list[float]]]
Agree = Callable[[bytes, AnyBench, Sequence[int]], Agreement]

_FINAL_BATCH_S = 0.01
_SEEDS = (0, 1, 2)
_THOROUGH = 0.7  # times as long as the first check of one seed, which also makes the data
_THOROUGH_S = 0.15  # at least: all seeds, and many runs in a row
_SOME_S = 1.0  # of checks, from which others can be predicted
_SETUP_S = 30.0  # start of the device, loading, data
_RUNS = 400  # of one dispatch in one call, in addition to the batches: a generous bound
_UNKNOWN_US = 1e6  # for the time of a default that was never timed


class Measurer:
    """One device's measuring worker. It is restarted after a crash, a hang or a device error.

    Nothing else may use the device's cores while it works; the tuning loop ensures that.

    Args:
        device: device URI; benches are measured here whatever device they name.
        workers: a pool of one process.
        screen, rounds, agree: module-level functions that run in it; tests replace them.
        setup_s: time that a call may take in addition to running the dispatch.
        name: distinguishes it from devices of other hosts; its URI by default.
    """

    def __init__(
        self, device: str, workers: Calls | None = None, *, screen: Screen = screen_here,
        rounds: Rounds = rounds_here, agree: Agree = agree_here, setup_s: float = _SETUP_S, name: str = "",
    ) -> None:  # fmt: skip
        self.device = device
        self.name = name or device
        self._elsewhere = workers is not None
        # Versions of a program have packed weights each, of gigabytes. Drivers of GPUs map more than any
        # limit that would mean something.
        most = memory_of_machine() * 3 // 4 if on_host(device) else None
        self.workers = workers or Workers(1, memory_bytes=most)
        self._screen = screen
        self._rounds = rounds
        self._agree = agree
        self._setup_s = setup_s
        self._default_us: dict[bytes, float] = {}
        self._checks_s = self._predicted_s = 0.0
        self._default_times: dict[tuple[bytes, bool, bool], Timed] = {}

    def start(self) -> Future[None]:
        """Have the worker begin to open the device. If it cannot, the first call says so."""
        return self.workers.submit(start_here, self.device)

    @property
    def there(self) -> bool:
        """Whether its worker is reachable; one on another host may leave and come back."""
        return self.workers.there

    @cached_property
    def facts(self) -> DeviceFacts:
        return self.workers.call(facts_of, self.device) if self._elsewhere else facts_of(self.device)

    def submit_screen(
        self, vmfb: bytes, bench: AnyBench, limit_us: float | None = None, plan: ScreenPlan | None = None
    ) -> Future[Timed]:
        """Begin to time an executable and to check it on one seed; `result` says how it ended.

        If it takes longer than `limit_us`, it is `too_slow`.
        """
        plan = plan or ScreenPlan()
        run_us = limit_us or self._default_us.get(bench.default, _UNKNOWN_US)
        limit_s = self._limit_s(run_us, plan.batch_s * plan.most * 4)
        future = self.workers.submit(
            self._screen, vmfb, replace(bench, device=self.device), limit_us, plan, timeout_s=limit_s
        )
        if vmfb == bench.default:
            future.add_done_callback(lambda done: self._remember(bench.default, done))
        return future

    def result(self, future: Future[Timed]) -> Timed:
        """Wait for what `submit_screen` began. A crash, a time-out and a device error are outcomes."""
        match end := self._end(future):
            case Ok(timed):
                return timed
            case DeviceError():
                return Timed("run_error", message=str(end))
            case Timeout():
                return Timed("run_timeout", message=str(end))
            case Crash(exit_code) if exit_code == -ENDED_BY:
                return Timed("too_slow", message="stopped, because its first run took too long")
            case _:
                return Timed("run_crash", message=str(end))

    def time(
        self, vmfb: bytes, bench: AnyBench, limit_us: float | None = None, plan: ScreenPlan | None = None
    ) -> Timed:
        """`submit_screen` and `result` in one."""
        return self.result(self.submit_screen(vmfb, bench, limit_us, plan))

    def time_default(self, bench: AnyBench, *, checked: bool = True) -> Timed:
        """The time of a default. Equal code, in any bench, is timed once.

        `checked` is whether candidates will be compared with its results: computing these and their
        tolerances takes longer than the timing.
        """
        key = bench.default, bench.cold
        found = self._default_times.get((*key, True)) or self._default_times.get((*key, checked))
        found = found or self.time(bench.default, bench, plan=ScreenPlan(checked=checked))
        if found.outcome == "ok":
            self._default_times[*key, checked] = found
        return found

    def compare(
        self, placed: Sequence[tuple[bytes, Sequence[bytes]]], bench: AnyBench, plan: JudgePlan
    ) -> list[Comparison]:
        """Interleave the default with candidates until all are decided; one comparison for each candidate.

        Args:
            placed: for each place of the code, the default and the candidates built there.
            bench: what they were built from.
            plan: when to stop.

        Raises:
            WorkerError: an executable that ran in the screening does not run here.
        """

        def take(rounds: int) -> list[list[list[float]]]:
            return [self.rounds((default, *candidates), bench, rounds) for default, candidates in placed]

        return judge(take, len(placed[0][1]), plan)

    def rounds(self, vmfbs: Sequence[bytes], bench: AnyBench, rounds: int) -> list[list[float]]:
        """Rounds of one sample of each executable, which take turns; microseconds of one run.

        Further calls for the same executables take the next rounds. Raises WorkerError if one does not run.
        """
        run_us = self._default_us.get(bench.default, _UNKNOWN_US)
        batch_s = max(_FINAL_BATCH_S, run_us / 1e6)
        limit_s = self._limit_s(run_us, 10 * len(vmfbs) * rounds * batch_s)
        future = self.workers.submit(
            self._rounds, vmfbs, replace(bench, device=self.device), rounds, _FINAL_BATCH_S, timeout_s=limit_s
        )
        end = self._end(future)
        if isinstance(end, Ok):
            return end.value
        raise WorkerError(Crash(None, str(end)) if isinstance(end, DeviceError) else end)

    def agrees(self, vmfb: bytes, bench: AnyBench, seeds: Sequence[int] = _SEEDS) -> Agreement:
        """Compare an executable's outputs with the default's, thoroughly."""
        limit_s = self._limit_s(self._default_us.get(bench.default, _UNKNOWN_US), 60.0)
        start, predicted_s = time.monotonic(), self._first_check_s(bench)
        future = self.workers.submit(
            self._agree, vmfb, replace(bench, device=self.device), tuple(seeds), timeout_s=limit_s
        )
        end = self._end(future)
        if predicted_s and not isinstance(end, DeviceError):
            self._checks_s += time.monotonic() - start
            self._predicted_s += predicted_s
        return end.value if isinstance(end, Ok) else Agreement(False, math.inf, str(end))

    def default_us(self, bench: AnyBench) -> float:
        """The time that `time_default` found, in microseconds of a run; 0 before it was called."""
        every = (self._default_times.get((bench.default, bench.cold, checked)) for checked in (True, False))
        return next((min(timed.samples_us) for timed in every if timed), 0.0)

    def check_s(self, bench: AnyBench) -> float:
        """Predicted seconds of the first `agrees`; 0 if the default was not checked."""
        pace = self._checks_s / self._predicted_s if self._checks_s > _SOME_S else 1.0
        return pace * self._first_check_s(bench)

    def _first_check_s(self, bench: AnyBench) -> float:
        """The prediction from the default's own check alone."""
        timed = self._default_times.get((bench.default, bench.cold, True))
        return 0.0 if timed is None else _THOROUGH_S + _THOROUGH * timed.check_s

    def _end(self, future: Future[T]) -> End[T] | DeviceError:
        try:
            return self.workers.end(future)
        except DeviceError as error:
            return error

    def close(self) -> None:
        self.workers.close()

    def _remember(self, default: bytes, future: Future[Timed]) -> None:
        if not future.cancelled() and future.exception() is None and future.result().samples_us:
            self._default_us = {default: max(future.result().samples_us)}

    def _limit_s(self, run_us: float, batches_s: float) -> float:
        return self._setup_s + _RUNS * run_us / 1e6 + batches_s
