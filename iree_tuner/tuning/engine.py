"""Candidates on their way: asked for, compiled, measured, done.

One thread drives all workers, for all searches of a run at once. Where the device computes on the host's own
cores, compiling and measuring take turns, a batch at a time, and nothing is timed while anything compiles;
elsewhere they overlap, and enough candidates are kept ready that no device waits.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any

from iree_tuner.measure.candidate import GIVEN_UP, Built
from iree_tuner.measure.measurer import AnyBench
from iree_tuner.measure.timing import Timed
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.candidate import CompileLimits
from iree_tuner.tuning.device import DeviceRunner, RunDevices
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.search import Search, SearchSource
from iree_tuner.tuning.stop import StopRequest

_REJECT_AT = 3.0
"""Times the best so far: what is slower is dropped after its first samples."""

_CROWDED_OF = 8
"""Compilations that say how crowded the machine is."""

_RECENT = 32
"""Trials that say how long the next will take."""

_POLL_S = 0.1
"""How often a request to stop is looked for while nothing ends."""


@dataclass(frozen=True)
class _Candidate:
    search: Search
    assignment: Assignment
    built: Built

    @property
    def bench(self) -> AnyBench:
        return self.search.kind.bench

    @property
    def code(self) -> tuple[int, str]:
        """Equal for equal code of one search."""
        return id(self.search), self.built.digest


class Engine:
    """Drives the candidates of a run. Iterate over `run`, which yields each trial as it ends.

    Args:
        batch: candidates that are compiled before any is measured, where the two take turns.
    """

    def __init__(
        self, lab: Lab, stop: StopRequest, batch: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._lab = lab
        self._stop = stop
        self._batch = batch
        self._clock = clock
        # of the lab, with devices that join it later
        self.devices = RunDevices(lab.measurers, clock, lab.news, alternate=lab.alternate)
        self._crowded: deque[float] = deque(maxlen=_CROWDED_OF)
        self._recent_s: deque[float] = deque(maxlen=_RECENT)
        self._until: Callable[[], float] = lambda: math.inf
        self._source: SearchSource | None = None
        self._dry = False  # whether the source had nothing when it was asked last
        self._measuring = not lab.alternate  # whether devices may work now
        self._compiling: dict[Future[Built], tuple[Search, Assignment]] = {}
        self._loading: dict[Future[None], _Candidate] = {}  # where the driver compiles too
        self._ready: deque[_Candidate] = deque()
        # None: the default
        self._running: dict[Future[Timed], tuple[DeviceRunner, AnyBench, _Candidate | None]] = {}
        self._first: dict[tuple[int, str], Trial | None] = {}  # by code; None while it is being measured
        self._twins: dict[tuple[int, str], list[_Candidate]] = {}
        self._done: deque[tuple[Search, Trial]] = deque()
        self._asker: ThreadPoolExecutor | None = None
        self._late: list[tuple[Search, Trial]] | None = None  # ended while a strategy was being asked
        # Waiting for a list of futures takes longer the more there are; a queue does not.
        self._ended: SimpleQueue[Future[Any]] = SimpleQueue()

    def run(
        self, source: SearchSource, until: Callable[[], float] = lambda: math.inf
    ) -> Iterator[tuple[Search, Trial]]:
        """Trials as they end, reported to their search and recorded.

        Nothing begins that would probably not end by `until()`, a time of the clock that is asked for again
        and again; what is not measured by then is dropped. Raises DeviceLostError for the first device.
        """
        self._source, self._until, self._dry = source, until, False
        for device in self.devices.every:  # something else ran there in between
            device.disturbed()
        try:
            if self._lab.alternate:
                yield from self._until_dry()
                return
            with ThreadPoolExecutor(1, "asking") as self._asker:
                yield from self._until_dry()
        finally:
            self._cancel()

    def _until_dry(self) -> Iterator[tuple[Search, Trial]]:
        while True:
            for device in self.devices.look():
                self._take_from(device)
            self._begin_compiling()
            self._begin_measuring()
            while self._done:
                self._dry = False
                yield self._done.popleft()
            if self._unmeasured or self._running:
                self._await()
            elif self._dry or self._closed():
                return

    @property
    def _unmeasured(self) -> int:
        return len(self._compiling) + len(self._loading) + len(self._ready)

    def _begin_compiling(self) -> None:
        """Ask for as much as may be compiled now."""
        assert self._source is not None, "it runs"
        while not self._closed() and not self._dry:
            room = self._room()
            if room <= 0:
                return
            asked = self._ask(room)
            self._dry = not asked
            for search, assignment in asked:
                known = search.known(assignment, self._lab.builder.timeout_s)
                if known is not None:
                    self._finish(search, known, recorded=True)
                else:
                    crowded = CompileLimits(self._compile_limit_s(search), search.kind.limits.most_ops)
                    # finals verify what they build
                    future = search.kind.submit(assignment, crowded, place=0, verify=False)
                    self._compiling[future] = search, assignment
                    future.add_done_callback(self._ended.put)
            if self._done:
                return  # what is known already goes out first: a strategy may learn from it

    def _ask(self, count: int) -> Sequence[tuple[Search, Assignment]]:
        """The source's next candidates. Devices go on; their results are reported when it has answered."""
        assert self._source is not None, "it runs"
        if self._asker is None:
            return self._source.ask(count)
        self._late = []
        asking = self._asker.submit(self._source.ask, count)
        asking.add_done_callback(self._ended.put)
        try:
            while not asking.done():
                self._begin_measuring()
                self._await(asking=True)
            return asking.result()
        finally:
            wait([asking])
            late, self._late = self._late, None
            for search, trial in late:
                self._finish(search, trial)

    def _room(self) -> int:
        if not self._lab.alternate:
            # A strategy that learns takes longer for each question than for each answer: several at once.
            half = self._lab.jobs + len(self.devices.working)
            room = 2 * half - self._unmeasured
            return room if room >= half else 0
        return 0 if self._measuring else min(self._batch, self._fitting) - self._unmeasured

    @property
    def _fitting(self) -> int:
        """Estimated number of candidates that will end before the deadline."""
        left_s = self._until() - self._clock()
        if left_s == math.inf or not self._recent_s:
            return self._batch
        return int(left_s / max(statistics.fmean(self._recent_s), 1e-6))

    def _closed(self) -> bool:
        return self._stop.requested or self._clock() >= self._until() or self._fitting < 1

    def _begin_measuring(self) -> None:
        """Give each device something to do: a default when it is due, else a candidate."""
        if self._lab.alternate:
            self._take_turns()
        if not self._measuring:
            return
        busy = Counter(id(device) for device, _, _ in self._running.values())
        for depth in range(self._lab.queued):
            for device in self.devices.working:
                if busy[id(device)] > depth:
                    continue
                made = self._next_ready(device)
                if made is None:
                    return
                if device.is_due(made.bench):
                    self._ready.appendleft(made)
                    self._run(device.begin_baseline(made.bench), device, made.bench, None)
                elif device.track(made.bench).last_us:
                    self._first[made.code] = None
                    timing = device.begin(made.built, made.bench, _REJECT_AT * made.search.to_beat)
                    self._run(timing, device, made.bench, made)
                else:  # it is compared with what is being timed
                    self._ready.appendleft(made)
                    continue
                busy[id(device)] += 1

    def _run(
        self, timing: Future[Timed], device: DeviceRunner, bench: AnyBench, made: _Candidate | None
    ) -> None:
        self._running[timing] = device, bench, made
        timing.add_done_callback(self._ended.put)

    def _take_turns(self) -> None:
        if self._measuring and not self._ready and not self._running:
            self._measuring = False
            self._begin_compiling()
        elif not self._measuring and not self._compiling and self._ready:
            self._measuring = True
            for device in self.devices.every:
                device.disturbed()

    def _take_from(self, device: DeviceRunner) -> None:
        """Let others measure a lost device's candidates; what has ended there counts."""
        for timing, (owner, _, made) in list(self._running.items()):
            if owner is device and timing.cancel():
                del self._running[timing]
                if made is not None:
                    del self._first[made.code]
                    self._ready.appendleft(made)

    def _next_ready(self, device: DeviceRunner) -> _Candidate | None:
        """The next candidate with new code, preferably for the device's last bench. Known code is done."""
        while self._ready:
            here = (each for each in self._ready if each.bench is device.last)
            made = next(here, self._ready[0])
            self._ready.remove(made)
            if made.built.digest == made.search.kind.own_digest:
                self._finish(made.search, self._tie(made))
            elif made.code not in self._first:
                return made
            elif (first := self._first[made.code]) is None:
                self._twins.setdefault(made.code, []).append(made)
            else:
                self._finish(made.search, _twin(self._trial(made), first))
        return None

    def _await(self, *, asking: bool = False) -> None:
        """Wait until something ends, and process all that has ended."""
        with suppress(Empty):
            self._take_in(self._ended.get(timeout=_POLL_S))
            while True:
                self._take_in(self._ended.get_nowait())
        if not asking and (self._stop.requested or self._clock() >= self._until()):
            self._cancel()

    def _take_in(self, future: Future[Any]) -> None:
        """Calls that have ended, unless nothing waits for them any more."""
        if future in self._compiling:
            self._built(*self._compiling.pop(future), self._lab.builder.result(future))
        elif future in self._loading:
            self._loaded(self._loading.pop(future), future)
        elif future in self._running:
            device, bench, made = self._running.pop(future)
            self._timed(device, bench, made, device.measurer.result(future))

    def _compile_limit_s(self, search: Search) -> float:
        """The time limit of a compilation, also of the driver's; longer than on an idle machine."""
        crowding = statistics.median(self._crowded or [search.kind.default.crowding])
        return min(search.kind.limits.compile_s * crowding, self._lab.builder.timeout_s)

    def _built(self, search: Search, assignment: Assignment, built: Built) -> None:
        limit_s = search.kind.limits.compile_s
        if built.outcome == "ok":
            self._crowded.append(built.crowding)
        if built.outcome == "compile_timeout" and built.message.startswith(GIVEN_UP):
            built = replace(built, seconds=limit_s)  # so that a run with more patience tries it again
        elif built.outcome == "compile_timeout" and limit_s < self._lab.builder.timeout_s:
            built = replace(built, message=f"{GIVEN_UP} after {limit_s:.1f} s of compiling", seconds=limit_s)
        made = _Candidate(search, assignment, built)
        if built.outcome != "ok":
            self._finish(search, self._trial(made))
        elif self._lab.loader is None:
            self._ready.append(made)
        else:
            future = self._lab.loader.submit(built.vmfb, self._compile_limit_s(search))
            self._loading[future] = made
            future.add_done_callback(self._ended.put)

    def _loaded(self, made: _Candidate, future: Future[None]) -> None:
        assert self._lab.loader is not None, "it is loading"
        if self._lab.loader.result(future):
            self._ready.append(made)
            return
        patience_s = min(made.search.kind.limits.compile_s, self._lab.builder.timeout_s)
        message = f"{GIVEN_UP} after {patience_s:.1f} s in the device's driver"
        built = replace(made.built, outcome="compile_timeout", message=message, seconds=patience_s)
        self._finish(made.search, self._trial(replace(made, built=built)))

    def _timed(self, device: DeviceRunner, bench: AnyBench, made: _Candidate | None, timed: Timed) -> None:
        if made is None:
            if not self.devices.end_baseline(device, bench, timed):
                self._take_from(device)
            return
        trial = replace(
            self._trial(made), outcome=timed.outcome, samples_us=timed.samples_us,
            baseline_us=device.track(bench).last_us, message=timed.message, measure_s=timed.seconds,
            device=device.measurer.name, worst=timed.worst, readings=timed.readings,
        )  # fmt: skip
        self._first[made.code] = trial
        self._finish(made.search, trial)
        for twin in self._twins.pop(made.code, []):
            self._finish(twin.search, _twin(self._trial(twin), trial))

    def _trial(self, made: _Candidate) -> Trial:
        built = made.built
        digest = built.digest if built.outcome == "ok" else ""
        return Trial(
            made.search.kind.workload, made.assignment, built.outcome,
            message=built.message, digest=digest, compile_s=built.seconds,
        )  # fmt: skip

    def _tie(self, made: _Candidate) -> Trial:
        """The default's own code has its time by definition."""
        times = (device.track(made.bench).last_us for device in self.devices.every)
        time_us = next(filter(None, times), made.search.kind.default_us)
        return replace(
            self._trial(made), samples_us=(time_us,), baseline_us=time_us,
            message="the same code as the default",
        )  # fmt: skip

    def _finish(self, search: Search, trial: Trial, *, recorded: bool = False) -> None:
        if self._late is not None:
            self._late.append((search, trial))
            return
        seconds = 0.0
        if not recorded:
            trial = search.record(replace(trial, at=time.time()))
            seconds = self._cost_s(trial)
            self._recent_s.append(seconds)
        search.add(trial, seconds)
        self._done.append((search, trial))

    def _cost_s(self, trial: Trial) -> float:
        """The trial's part of the run's time: others are compiled and measured at the same time."""
        compiling = trial.compile_s / self._lab.jobs
        measuring = trial.measure_s / len(self.devices.working)
        return compiling + measuring if self._lab.alternate else max(compiling, measuring)

    def _cancel(self) -> None:
        """Drop candidates that were not measured. Running compilations that disturb no measurement go on."""
        go_on = not self._lab.alternate and not self._stop.requested
        for future in (*self._compiling, *self._loading):
            if not (go_on and future.running()):
                future.cancel()
        dropped = [search for search, _ in self._compiling.values()]
        for search in (*dropped, *(made.search for made in (*self._loading.values(), *self._ready))):
            search.drop()
        self._compiling.clear()
        self._loading.clear()
        self._ready.clear()


def _twin(trial: Trial, first: Trial) -> Trial:
    return replace(
        first, assignment=trial.assignment, compile_s=trial.compile_s, measure_s=0.0,
        message=first.message or "the same code as another candidate",
    )  # fmt: skip
