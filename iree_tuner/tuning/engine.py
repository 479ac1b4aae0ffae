"""Candidates on their way: asked for, compiled, measured, done.

One thread drives all workers. Where the device computes on the host's own cores, compiling and measuring
take turns, a batch at a time, and nothing is timed while anything compiles; elsewhere they overlap, and
enough candidates are kept ready that no device waits.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from typing import Any

from iree_tuner.build.candidate import GIVEN_UP, Built
from iree_tuner.measure.trial import Trial
from iree_tuner.measure.worker import Timed
from iree_tuner.space.configuration import Assignment
from iree_tuner.tuning.device import Device
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.ledger import Ledger
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.stop import StopRequest

_REJECT_AT = 3.0
"""Times the best so far: what is slower is dropped after its first samples."""

_DRIFT = 0.03
"""How far the default's time may move on a device without a note."""

_CROWDED_OF = 8
"""Compilations that say how crowded the machine is."""

_STRAGGLERS = 4
"""One compilation for so many workers may be left over at the end of a slice."""

_POLL_S = 0.1
"""How often a request to stop is looked for while nothing ends."""


@dataclass(frozen=True)
class Limits:
    """When a search ends: after so many trials, or at a time of the monotonic clock.

    `batch` candidates are compiled before any is measured, where the two take turns. Each may compile for
    `compile_s` seconds of an idle machine, and have `most_ops` operations before code generation (0: any
    number).
    """

    trials: int
    batch: int
    deadline: float
    compile_s: float = math.inf
    most_ops: int = 0


@dataclass(frozen=True)
class _Made:
    """A candidate with its executable."""

    assignment: Assignment
    built: Built


class Engine:
    """Drives one search. Iterate over `run`, which yields each trial as it ends."""

    def __init__(self, search: Search, lab: Lab, limits: Limits, stop: StopRequest, ledger: Ledger) -> None:
        self._search = search
        self._lab = lab
        self._limits = limits
        self._stop = stop
        self._ledger = ledger
        self.devices = [Device.of(measurer, search.bench) for measurer in lab.measurers]
        self._begun = 0
        self._crowded: deque[float] = deque([search.crowding], maxlen=_CROWDED_OF)
        self._exhausted = False
        self._in_slices = False
        self._measuring = not lab.alternate  # whether devices may work now
        self._compiling: dict[Future[Built], Assignment] = {}
        self._loading: dict[Future[None], _Made] = {}  # where the driver compiles too
        self._ready: deque[_Made] = deque()
        self._running: dict[Future[Timed], tuple[Device, _Made | None]] = {}  # None: the default
        self._first: dict[str, Trial | None] = {}  # by digest; None while it is being measured
        self._twins: dict[str, list[_Made]] = {}
        self._done: deque[Trial] = deque()

    def run(self) -> Iterator[Trial]:
        """Trials as they end, told to the strategy and recorded.

        After `extend`, where compiling and measuring overlap, it does not wait for the last few that compile
        while devices have nothing to do: they are there when it is called again, unless `settle` drops them.

        Raises:
            DeviceLostError: a device does not run the default any more.
        """
        keep = False
        try:
            while True:
                self._begin_compiling()
                self._begin_measuring()
                while self._done:
                    yield self._done.popleft()
                idle = not (self._loading or self._ready or self._running)
                if idle and self._closed() and len(self._compiling) <= self._stragglers():
                    keep = bool(self._compiling)
                    return
                self._await()
        finally:
            if not keep:
                self._cancel()

    def settle(self) -> None:
        """Drop what still compiles: something is to be timed in earnest."""
        self._cancel()

    def _stragglers(self) -> int:
        """How many compilations need not be waited for: some, where only the number of trials ended it."""
        ended = self._exhausted or self._stop.requested or time.monotonic() >= self._limits.deadline
        return (
            0
            if self._lab.alternate or ended or not self._in_slices
            else max(1, self._lab.jobs // _STRAGGLERS)
        )

    def extend(self, trials: int, deadline: float) -> None:
        """Let `run` be called once more, for so many trials more, until a time of the monotonic clock."""
        self._in_slices = True
        self._limits = replace(self._limits, trials=self._begun + trials, deadline=deadline)
        for device in self.devices:  # something else ran there meanwhile
            device.due = True

    @property
    def exhausted(self) -> bool:
        """Whether the strategy has nothing left to ask for."""
        return self._exhausted

    @property
    def note(self) -> str:
        """What is to be said of the devices; empty when they were steady."""
        moved = max(self.devices, key=lambda device: abs(device.drift))
        if abs(moved.drift) <= _DRIFT:
            return ""
        return f"the default moved by {moved.drift:+.0%} on {moved.measurer.device} during the search"

    def _begin_compiling(self) -> None:
        """Ask for as much as may be compiled now."""
        while not self._closed():
            room = self._room()
            if room <= 0:
                return
            asked = self._search.ask(min(room, self._limits.trials - self._begun))
            self._exhausted = not asked
            for assignment in asked:
                self._begun += 1
                known = self._known(assignment)
                if known is not None:
                    self._finish(known, recorded=True)
                else:
                    self._compiling[self._submit(assignment)] = assignment
            if self._done:
                return  # what is known already goes out first: a strategy may learn from it

    def _submit(self, assignment: Assignment) -> Future[Built]:
        configuration = self._search.configure(assignment)
        harness, limits = self._search.bench.harness, self._limits
        return self._lab.builder.submit(  # finals verify what they build
            harness, configuration, timeout_s=limits.compile_s * self._crowding, most_ops=limits.most_ops,
            verify=False,
        )  # fmt: skip

    def _known(self, assignment: Assignment) -> Trial | None:
        """What became of it earlier; None for what was given up sooner than it would be now."""
        known = self._ledger.known(assignment)
        if known is None or known.outcome != "compile_timeout":
            return known
        return known if known.compile_s >= min(self._limits.compile_s, self._lab.builder.timeout_s) else None

    def _room(self) -> int:
        """How many more candidates may be compiled now."""
        under_way = len(self._compiling) + len(self._loading) + len(self._ready)
        if not self._lab.alternate:
            # A strategy that learns takes longer for each question than for each answer: several at once.
            half = self._lab.jobs + len(self.devices)
            room = 2 * half - under_way
            return room if room >= half else 0
        return 0 if self._measuring else self._limits.batch - under_way

    def _closed(self) -> bool:
        """Whether no more candidates are asked for."""
        return (
            self._exhausted
            or self._stop.requested
            or self._begun >= self._limits.trials
            or time.monotonic() >= self._limits.deadline
        )

    def _begin_measuring(self) -> None:
        """Give each idle device something to do: the default when it is due, else a candidate."""
        if self._lab.alternate:
            self._take_turns()
        if not self._measuring:
            return
        idle = [
            device for device in self.devices if not any(device is each for each, _ in self._running.values())
        ]
        for device in idle:
            if not self._ready:
                return
            if device.due:
                self._running[device.begin_baseline()] = (device, None)
                continue
            made = self._next_ready()
            if made is not None:
                limit = _REJECT_AT * min(1.0, self._search.best.score if self._search.best else 1.0)
                self._running[device.begin(made.built.vmfb, limit)] = (device, made)

    def _take_turns(self) -> None:
        """Between compiling and measuring, where both want the same cores."""
        if self._measuring and not self._ready and not self._running:
            self._measuring = False
            self._begin_compiling()
        elif not self._measuring and not self._compiling and self._ready:
            self._measuring = True
            for device in self.devices:
                device.due = True

    def _next_ready(self) -> _Made | None:
        """The next candidate whose code was not measured yet; others are finished on the way."""
        while self._ready:
            made = self._ready.popleft()
            digest = made.built.digest
            if digest == self._search.default_digest:
                self._finish(self._tie(made))
            elif digest not in self._first:
                self._first[digest] = None
                return made
            elif (first := self._first[digest]) is not None:
                self._finish(_twin(self._trial(made), first))
            else:
                self._twins.setdefault(digest, []).append(made)
        return None

    def _await(self) -> None:
        """Wait until something ends, and take it in."""
        pending: list[Future[Any]] = [*self._compiling, *self._loading, *self._running]
        ended, _ = wait(pending, timeout=_POLL_S, return_when=FIRST_COMPLETED)
        for future in ended:
            if future in self._compiling:
                self._built(self._compiling.pop(future), self._lab.builder.result(future))
            elif future in self._loading:
                self._loaded(self._loading.pop(future), future)
            else:
                device, made = self._running.pop(future)
                self._timed(device, made, device.measurer.result(future))
        if self._stop.requested:
            self._cancel()

    @property
    def _crowding(self) -> float:
        """How much longer code compiles now than on an idle machine."""
        return statistics.median(self._crowded)

    def _built(self, assignment: Assignment, built: Built) -> None:
        limit_s = self._limits.compile_s
        if built.outcome == "ok":
            self._crowded.append(built.crowding)
        if built.outcome == "compile_timeout" and built.message.startswith(GIVEN_UP):
            built = replace(built, seconds=limit_s)  # so that a run with more patience tries it again
        elif built.outcome == "compile_timeout" and limit_s < built.seconds:
            built = replace(built, message=f"{GIVEN_UP} after {limit_s:.1f} s of compiling", seconds=limit_s)
        made = _Made(assignment, built)
        if built.outcome != "ok":
            self._finish(self._trial(made))
        elif self._lab.loader is None:
            self._ready.append(made)
        else:
            self._loading[self._lab.loader.submit(built.vmfb, self._patience)] = made

    def _loaded(self, made: _Made, future: Future[None]) -> None:
        """The driver has compiled it, or is given up."""
        assert self._lab.loader is not None, "it is loading"
        if self._lab.loader.result(future):
            self._ready.append(made)
            return
        patience_s = min(self._limits.compile_s, self._lab.builder.timeout_s)
        message = f"{GIVEN_UP} after {patience_s:.1f} s in the device's driver"
        built = replace(made.built, outcome="compile_timeout", message=message, seconds=patience_s)
        self._finish(self._trial(replace(made, built=built)))

    @property
    def _patience(self) -> float:
        """Seconds that a compilation may take now, of the compiler's or of the driver's."""
        return min(self._limits.compile_s * self._crowding, self._lab.builder.timeout_s)

    def _timed(self, device: Device, made: _Made | None, timed: Timed) -> None:
        if made is None:
            device.end_baseline(timed)
            return
        trial = replace(
            self._trial(made),
            outcome=timed.outcome,
            samples_us=timed.samples_us,
            baseline_us=device.baseline_us,
            message=timed.message,
            measure_s=timed.seconds,
            device=device.measurer.device,
            worst=timed.worst,
            readings=timed.readings,
        )
        self._first[trial.digest] = trial
        self._finish(trial)
        for twin in self._twins.pop(trial.digest, []):
            self._finish(_twin(self._trial(twin), trial))

    def _trial(self, made: _Made) -> Trial:
        built = made.built
        digest = built.digest if built.outcome == "ok" else ""
        return Trial(
            self._search.workload, made.assignment, built.outcome,
            message=built.message, digest=digest, compile_s=built.seconds,
        )  # fmt: skip

    def _tie(self, made: _Made) -> Trial:
        """The default's own code has its time by definition."""
        time_us = next(
            (each.baseline_us for each in self.devices if each.baseline_us), self._search.default_us
        )
        return replace(
            self._trial(made),
            samples_us=(time_us,),
            baseline_us=time_us,
            message="the same code as the default",
        )

    def _finish(self, trial: Trial, *, recorded: bool = False) -> None:
        if not recorded:
            trial = self._ledger.record(replace(trial, at=time.time()))
        self._search.add(trial)
        self._done.append(trial)

    def _cancel(self) -> None:
        """Drop what is not measured yet. Running compilations end, with their workers: all is quiet."""
        for future in (*self._compiling, *self._loading):
            future.cancel()
        self._compiling.clear()
        self._loading.clear()
        self._ready.clear()


def _twin(trial: Trial, first: Trial) -> Trial:
    """A trial of code that was measured already."""
    return replace(
        first, assignment=trial.assignment, compile_s=trial.compile_s, measure_s=0.0,
        message=first.message or "the same code as another",
    )  # fmt: skip
