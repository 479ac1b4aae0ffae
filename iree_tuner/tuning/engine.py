"""The engine: runs the jobs of generators (`tuning.jobs`), and tries the candidates of searches.

One thread drives all workers, for all generators at once. Where the device computes on the host's own cores,
compiling and measuring take turns, and nothing is timed before all that compiles has ended. Elsewhere they
overlap, and enough candidates are kept ready that no device waits.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from iree_tuner.measure.candidate import GIVEN_UP, Built
from iree_tuner.measure.measurer import AnyBench
from iree_tuner.measure.timing import Timed
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.candidate import CompileLimits
from iree_tuner.tuning.device import DeviceRunner, RunDevices
from iree_tuner.tuning.jobs import Agree, Build, Compare, Job, Jobs, Time, TimeDefault, Timing, result
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.search import Search, SearchSource
from iree_tuner.tuning.stop import StopRequest

T = TypeVar("T")
J = TypeVar("J", bound=Job[Any])

_REJECT_AT = 3.0
"""Times the best so far: what is slower is dropped after its first samples."""

_CROWDED_OF = 8
"""Compilations that say how crowded the machine is."""

_RECENT = 32
"""Trials that say how long the next will take."""

_POLL_S = 0.1
"""How often a request to stop is looked for while nothing ends."""

_LOADING = "in the device's driver"


@dataclass(eq=False)
class _Caller:
    """A generator that runs, and the results of the jobs that it yielded last."""

    jobs: Jobs[Any]
    number: int  # in the order of their begin
    returned: Callable[[Any], None]  # gets its result
    results: list[Any] | None = None  # None before it has yielded anything
    left: int = 0  # jobs without a result
    judged: deque[_Asked[Any]] = field(default_factory=deque["_Asked[Any]"])  # for the judging device
    turns: int = 0  # it has had, on the judging device
    error: Exception | None = None  # of one of its jobs
    over: bool = False


@dataclass(frozen=True, eq=False)
class _Asked(Generic[J]):
    """A job, and the place of its result."""

    job: J
    caller: _Caller
    place: int


def _code_of(job: Time) -> tuple[Hashable, str]:
    """Equal for equal code of one search, or without a search, of one bench."""
    return id(job.search) if job.search is not None else job.bench, job.built.digest


class Engine:
    """Runs generators (`play`), or the candidates of a run (iterate over `run`, which yields trials).

    Args:
        batch: candidates that are compiled before any is measured, where the two take turns.
    """

    def __init__(
        self, lab: Lab, stop: StopRequest, batch: int = 1, clock: Callable[[], float] = time.monotonic
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
        self._dry = True  # whether the source had nothing when it was asked last
        self._measuring = not lab.alternate  # whether devices may work now
        self._begun = 0  # generators
        self._to_build: deque[_Asked[Build[Any]]] = deque()
        self._compiling: dict[Future[Any], list[_Asked[Build[Any]]]] = {}  # equal defaults are one call
        self._loading: dict[Future[None], tuple[_Asked[Build[Any]], Built]] = {}  # where the driver compiles
        self._ready: deque[_Asked[Time]] = deque()
        # None: the default
        self._running: dict[Future[Timed], tuple[DeviceRunner, AnyBench, _Asked[Time] | None]] = {}
        # by code; None while it is being measured
        self._first: dict[tuple[Hashable, str], Timing | None] = {}
        self._twins: dict[tuple[Hashable, str], list[_Asked[Time]]] = {}
        self._turns: list[_Caller] = []  # who waits for the judging device
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
        self._begin(source, until)
        try:
            if self._lab.alternate:
                yield from self._until_dry()
                return
            with ThreadPoolExecutor(1, "asking") as self._asker:
                yield from self._until_dry()
        finally:
            self._cancel()

    def play(self, jobs: Sequence[Jobs[T]], until: Callable[[], float] = lambda: math.inf) -> list[T | None]:
        """The results of generators, which run at the same time.

        No job begins after `until()` or a request to stop. Then generators that wait for jobs are closed; the
        result of one that returns nothing is None. An exception from a generator ends them all. Raises
        DeviceLostError for the first device.
        """
        self._begin(None, until)
        found: list[T | None] = [None] * len(jobs)
        try:
            for place, each in enumerate(jobs):
                if self._over:
                    each.close()
                else:
                    self._start(each, partial(found.__setitem__, place))
            for _ in self._until_dry():
                pass
        finally:
            self._cancel()
        return found

    def _begin(self, source: SearchSource | None, until: Callable[[], float]) -> None:
        self._source, self._until, self._dry = source, until, source is None
        for device in self.devices.every:  # something else ran there in between
            device.disturbed()

    def _until_dry(self) -> Iterator[tuple[Search, Trial]]:
        while True:
            for device in self.devices.look():
                self._take_from(device)
            self._begin_compiling()
            self._begin_measuring()
            self._judge()
            while self._done:
                self._dry = False
                yield self._done.popleft()
            if self._unmeasured or self._running or self._turns:
                self._await()
            elif self._dry or self._closed():
                return

    @property
    def _unmeasured(self) -> int:
        return len(self._to_build) + len(self._compiling) + len(self._loading) + len(self._ready)

    @property
    def _over(self) -> bool:
        return self._stop.requested or self._clock() >= self._until()

    # Generators.

    def _start(self, jobs: Jobs[T], returned: Callable[[T], None]) -> None:
        self._begun += 1
        self._advance(_Caller(jobs, self._begun, returned))

    def _advance(self, caller: _Caller) -> None:
        """Send a generator its results, or the error of one of its jobs, and take what it yields next."""
        error, caller.error = caller.error, None
        try:
            jobs = caller.jobs.throw(error) if error is not None else caller.jobs.send(caller.results)
        except StopIteration as end:
            caller.over = True
            caller.returned(end.value)
            return
        caller.results, caller.left = [None] * len(jobs), len(jobs)
        for place, job in enumerate(jobs):
            match job:
                case Build():
                    self._to_build.append(_Asked(job, caller, place))
                case Time():
                    self._ready.append(_Asked(job, caller, place))
                case _:
                    caller.judged.append(_Asked(job, caller, place))
        if caller.judged or not jobs:
            self._turns.append(caller)

    def _end(self, asked: _Asked[Any], found: object, error: Exception | None = None) -> None:
        """A job has ended. Its generator goes on when all that it yielded have."""
        caller = asked.caller
        if caller.over:
            return
        assert caller.results is not None, "it has yielded this job"
        caller.results[asked.place], caller.error = found, caller.error or error
        caller.left -= 1
        if not caller.left:
            self._advance(caller)

    def _close(self, caller: _Caller) -> None:
        """End a generator, which may still return what it has."""
        if caller.over:
            return
        caller.over = True
        try:
            caller.jobs.throw(GeneratorExit())
        except StopIteration as end:
            caller.returned(end.value)
        except GeneratorExit:
            return

    def _judge(self) -> None:
        """Give the judging device to the generator whose turn it is, for as long as it needs only that."""
        if not self._turns or not self._measuring or self._over:
            return
        caller = min(self._turns, key=lambda each: (each.turns, each.number))
        caller.turns += 1
        self._lab.settle()
        for device in self.devices.every:
            if device.measurer is self._lab.measurer:
                device.disturbed()
        if not caller.judged:  # it waits for its turn
            self._turns.remove(caller)
            self._advance(caller)
        while caller.judged and not self._over:
            asked = caller.judged.popleft()
            if not caller.judged:
                self._turns.remove(caller)
            try:
                found, error = self._judged(asked.job), None
            except Exception as raised:
                found, error = None, raised
            self._end(asked, found, error)

    def _judged(self, job: Job[Any]) -> object:
        """The result of a job on the judging device."""
        measurer = self._lab.measurer
        match job:
            case TimeDefault(bench, checked):
                timed = measurer.time_default(bench, checked=checked)
                return Timing(timed, min(timed.samples_us, default=0.0), measurer.name)
            case Compare(bench, placed, plan):
                return measurer.compare(placed, bench, plan)
            case Agree(bench, vmfb):
                return measurer.agrees(vmfb, bench)
            case _:
                raise TypeError(f"no job: {job}")

    # Candidates.

    def _try(self, search: Search, assignment: Assignment) -> Jobs[Trial]:
        """Compile and time a candidate."""
        kind = search.kind
        limits = CompileLimits(self._compile_limit_s(search), kind.limits.most_ops)
        # finals verify what they build
        begin = partial(kind.submit, assignment, limits, place=0, verify=False)
        load_s = partial(self._compile_limit_s, search)
        try:
            built = yield from result(Build(begin, self._lab.builder.result, load_s))
            built = _given_up(built, kind.limits.compile_s, self._lab.builder.timeout_s)
            digest = built.digest if built.outcome == "ok" else ""
            trial = Trial(
                kind.workload, assignment, built.outcome, message=built.message, digest=digest,
                compile_s=built.seconds,
            )  # fmt: skip
            if built.outcome != "ok":
                return trial
            timing = yield from result(Time(kind.bench, built, search))
        except GeneratorExit:
            search.drop()
            raise
        return timing.of(trial)

    def _begin_compiling(self) -> None:
        """Ask for as much as may be compiled now, and begin all that may be."""
        self._build()
        while not self._dry and not self._closed():
            assert self._source is not None, "it is not dry"
            room = self._room()
            if room <= 0:
                return
            asked = self._ask(self._source, room)
            self._dry = not asked
            for search, assignment in asked:
                known = search.known(assignment, self._lab.builder.timeout_s)
                if known is not None:
                    self._finish(search, known, recorded=True)
                else:
                    self._start(self._try(search, assignment), partial(self._finish, search))
            self._build()
            if self._done:
                return  # what is known already goes out first: a strategy may learn from it

    def _ask(self, source: SearchSource, count: int) -> Sequence[tuple[Search, Assignment]]:
        """The source's next candidates. Devices go on; their results are reported when it has answered."""
        if self._asker is None:
            return source.ask(count)
        self._late = []
        asking = self._asker.submit(source.ask, count)
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
        return self._over or self._fitting < 1

    def _finish(self, search: Search, trial: Trial, *, recorded: bool = False) -> None:
        if self._late is not None:
            self._late.append((search, trial))
            return
        seconds = 0.0
        if not recorded:
            trial = search.record(replace(trial, at=time.time()))
            # Its part of the run's time: others are compiled and measured at the same time.
            parts = trial.compile_s / self._lab.jobs, trial.measure_s / len(self.devices.working)
            seconds = sum(parts) if self._lab.alternate else max(parts)
            self._recent_s.append(seconds)
        search.add(trial, seconds)
        self._done.append((search, trial))

    def _compile_limit_s(self, search: Search) -> float:
        """The time limit of a compilation, also of the driver's; longer than on an idle machine."""
        crowding = statistics.median(self._crowded or [search.kind.default.crowding])
        return min(search.kind.limits.compile_s * crowding, self._lab.builder.timeout_s)

    # Jobs.

    def _build(self) -> None:
        """Begin to compile what may be compiled now."""
        while self._to_build and not (self._lab.alternate and self._measuring) and not self._over:
            asked = self._to_build.popleft()
            future = asked.job.begin()
            if future in self._compiling:
                self._compiling[future].append(asked)
            else:
                self._compiling[future] = [asked]
                future.add_done_callback(self._ended.put)

    def _begin_measuring(self) -> None:
        """Give each device something to do: a default when it is due, else an executable."""
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
                job = made.job
                if device.is_due(job.bench):
                    self._ready.appendleft(made)
                    self._run(device.begin_baseline(job.bench), device, job.bench, None)
                elif device.track(job.bench).last_us:
                    self._first[_code_of(job)] = None
                    limit = _REJECT_AT * job.search.to_beat if job.search is not None else math.inf
                    self._run(device.begin(job.built, job.bench, limit), device, job.bench, made)
                else:  # it is compared with what is being timed
                    self._ready.appendleft(made)
                    continue
                busy[id(device)] += 1

    def _run(
        self, timing: Future[Timed], device: DeviceRunner, bench: AnyBench, made: _Asked[Time] | None
    ) -> None:
        self._running[timing] = device, bench, made
        timing.add_done_callback(self._ended.put)

    def _take_turns(self) -> None:
        waiting = self._ready or self._turns
        if self._measuring and not waiting and not self._running:
            self._measuring = False
            self._begin_compiling()
        elif not self._measuring and not self._compiling and not self._to_build and waiting:
            self._measuring = True
            self._lab.settle()
            for device in self.devices.every:
                device.disturbed()

    def _take_from(self, device: DeviceRunner) -> None:
        """Let others measure what a lost device was given; what has ended there counts."""
        for timing, (owner, _, made) in list(self._running.items()):
            if owner is device and timing.cancel():
                del self._running[timing]
                if made is not None:
                    del self._first[_code_of(made.job)]
                    self._ready.appendleft(made)

    def _next_ready(self, device: DeviceRunner) -> _Asked[Time] | None:
        """The next executable with new code, preferably for the device's last bench. Known code is done."""
        while self._ready:
            here = (each for each in self._ready if each.job.bench is device.last)
            made = next(here, self._ready[0])
            self._ready.remove(made)
            job, code = made.job, _code_of(made.job)
            if job.search is not None and job.built.digest == job.search.kind.own_digest:
                self._end(made, self._tie(job.bench, job.search))
            elif code not in self._first:
                return made
            elif (first := self._first[code]) is None:
                self._twins.setdefault(code, []).append(made)
            else:
                self._end(made, _twin(first))
        return None

    def _tie(self, bench: AnyBench, search: Search) -> Timing:
        """The default's own code has its time by definition."""
        times = (device.track(bench).last_us for device in self.devices.every)
        time_us = next(filter(None, times), search.kind.default_us)
        return Timing(Timed("ok", (time_us,), "the same code as the default"), time_us, "")

    def _await(self, *, asking: bool = False) -> None:
        """Process all that has ended. Wait for the first, if there is nothing else to do."""
        judging = self._turns and self._measuring
        runs = self._compiling or self._loading or self._running
        with suppress(Empty):
            if asking or (runs and not judging):
                self._take_in(self._ended.get(timeout=_POLL_S))
            while True:
                self._take_in(self._ended.get_nowait())
        if not asking and self._over:
            self._cancel()

    def _take_in(self, future: Future[Any]) -> None:
        """Calls that have ended, unless nothing waits for them any more."""
        if future in self._compiling:
            for asked in self._compiling.pop(future):
                self._built(asked, future)
        elif future in self._loading:
            self._loaded(*self._loading.pop(future), future)
        elif future in self._running:
            device, bench, made = self._running.pop(future)
            self._timed(device, bench, made, device.measurer.result(future))

    def _built(self, asked: _Asked[Build[Any]], future: Future[Any]) -> None:
        try:
            built = asked.job.end(future)
        except Exception as error:
            self._end(asked, None, error)
            return
        if isinstance(built, Built) and built.outcome == "ok":
            self._crowded.append(built.crowding)
            if self._lab.loader is not None and asked.job.load_s is not None:
                loading = self._lab.loader.submit(built.vmfb, asked.job.load_s())
                self._loading[loading] = asked, built
                loading.add_done_callback(self._ended.put)
                return
        self._end(asked, built)

    def _loaded(self, asked: _Asked[Build[Any]], built: Built, future: Future[None]) -> None:
        assert self._lab.loader is not None, "it is loading"
        if not self._lab.loader.result(future):
            built = replace(built, outcome="compile_timeout", message=_LOADING)
        self._end(asked, built)

    def _timed(self, device: DeviceRunner, bench: AnyBench, made: _Asked[Time] | None, timed: Timed) -> None:
        if made is None:
            if not self.devices.end_baseline(device, bench, timed):
                self._take_from(device)
            return
        timing, code = Timing(timed, device.track(bench).last_us, device.measurer.name), _code_of(made.job)
        self._first[code] = timing
        self._end(made, timing)
        for twin in self._twins.pop(code, []):
            self._end(twin, _twin(timing))

    def _cancel(self) -> None:
        """Close the generators that wait for jobs, except for those that a device has begun to time.

        Running compilations that disturb no measurement go on.
        """
        go_on = not self._lab.alternate and not self._stop.requested
        for future in (*self._compiling, *self._loading):
            if not (go_on and future.running()):
                future.cancel()
        unbuilt = [*self._to_build, *(asked for each in self._compiling.values() for asked in each)]
        unbuilt += [asked for asked, _ in self._loading.values()]
        lost = [twin for code, each in self._twins.items() if code not in self._first for twin in each]
        callers = [asked.caller for asked in (*unbuilt, *self._ready, *lost)]
        callers += self._turns
        for waiting in (self._to_build, self._compiling, self._loading, self._ready, self._turns):
            waiting.clear()
        for caller in callers:
            self._close(caller)


def play(lab: Lab, jobs: Sequence[Jobs[T]], stop: StopRequest | None = None) -> list[T | None]:
    """The results of generators on a lab (`Engine.play`), by default whatever is requested."""
    return Engine(lab, stop or StopRequest()).play(jobs)


def _given_up(built: Built, limit_s: float, timeout_s: float) -> Built:
    """The end of a compilation that the run had no more patience with: one with more tries it again."""
    if built.outcome != "compile_timeout":
        return built
    if built.message.startswith(GIVEN_UP):
        return replace(built, seconds=limit_s)
    if built.message == _LOADING:
        limit_s = min(limit_s, timeout_s)
        return replace(built, message=f"{GIVEN_UP} after {limit_s:.1f} s {_LOADING}", seconds=limit_s)
    if limit_s < timeout_s:
        return replace(built, message=f"{GIVEN_UP} after {limit_s:.1f} s of compiling", seconds=limit_s)
    return built


def _twin(first: Timing) -> Timing:
    message = first.timed.message or "the same code as another candidate"
    return replace(first, timed=replace(first.timed, seconds=0.0, message=message))
