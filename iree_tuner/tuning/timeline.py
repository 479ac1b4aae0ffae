"""The time of a run, by stage, and the calls of each worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from iree_tuner.compiler.worker import WorkSpan

SEARCH = "search"
"""The stage that compiles and measures candidates."""

APART = "dispatch checks"
"""The stage that compares dispatches on the values that the program passes to them."""

_OTHER = "startup and exit"
_CHECKS = frozenset({"agree_here", "default_here", "follow_here", "judge_here", "same_here"})
"""The device calls that compare results. A candidate's first check is part of its trial."""


@dataclass(frozen=True)
class Stage:
    """A stage of a run."""

    name: str
    # begin, end: seconds since the run began
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass(frozen=True)
class WorkerTimeline:
    """The calls of one worker."""

    worker: str
    # function, begin and end of each call, in seconds since the run began
    calls: tuple[tuple[str, float, float], ...]

    def busy_s(self, begin: float, end: float) -> float:
        """How long it worked between two times of the run."""
        return sum(max(0.0, min(end, b) - max(begin, a)) for _, a, b in self.calls)


@dataclass(frozen=True)
class TimeUse:
    """Where the time of a run went."""

    stages: tuple[Stage, ...] = ()  # in order, without gaps
    lanes: tuple[WorkerTimeline, ...] = ()

    @property
    def total_s(self) -> float:
        return self.stages[-1].end if self.stages else 0.0

    def seconds(self) -> Mapping[str, float]:
        """Of each stage, in the order in which they began; their sum is the run's time."""
        found: dict[str, float] = {}
        for stage in self.stages:
            found[stage.name] = found.get(stage.name, 0.0) + stage.seconds
        return found

    @property
    def checked_s(self) -> float:
        """The time of comparing results of finalists, dispatches and versions of the program."""
        apart = [stage for stage in self.stages if stage.name == APART]
        elsewhere = [
            end - begin
            for lane in self.lanes
            for what, begin, end in lane.calls
            if what in _CHECKS and not any(stage.begin <= begin < stage.end for stage in apart)
        ]
        return sum(stage.seconds for stage in apart) + sum(elsewhere)

    def busy_s(self, lane: WorkerTimeline, name: str) -> float:
        """For how long a worker worked in a stage."""
        return sum(lane.busy_s(stage.begin, stage.end) for stage in self.stages if stage.name == name)


class Timeline:
    """Stages of one run. A stage within another interrupts it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.began = clock()
        self._stages: list[Stage] = []
        self._open: list[str] = [_OTHER]
        self._since = self.began

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """All time in here belongs to a stage."""
        self._close_stretch()
        self._open.append(name)
        try:
            yield
        finally:
            self._close_stretch()
            self._open.pop()

    def use(self, pools: Sequence[tuple[str, Sequence[WorkSpan]]]) -> TimeUse:
        """Where the time went so far; neighboring stages of one name are joined. `pools` have spans."""
        self._close_stretch()
        lanes = [lane for name, spans in pools for lane in self._lanes(name, spans)]
        return TimeUse(tuple(self._stages), tuple(lanes))

    def _lanes(self, name: str, spans: Sequence[WorkSpan]) -> list[WorkerTimeline]:
        calls: dict[int, list[tuple[str, float, float]]] = {}
        for each in spans:
            row = calls.setdefault(each.worker, [])
            row.append((each.what, each.begin - self.began, each.end - self.began))
        return [
            WorkerTimeline(f"{name} {number}" if len(calls) > 1 else name, tuple(calls[number]))
            for number in sorted(calls)
        ]

    def _close_stretch(self) -> None:
        now, name = self.clock(), self._open[-1]
        if now > self._since:
            goes_on = self._stages and self._stages[-1].name == name
            begin = self._stages.pop().begin if goes_on else self._since - self.began
            self._stages.append(Stage(name, begin, now - self.began))
        self._since = now
