"""A measuring device during a run: what it times, and how the default of each bench moves on it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, MutableSequence, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from iree_tuner.errors import TunerError
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.measurer import AnyBench, Measurer
from iree_tuner.measure.sampling import ScreenPlan, drift
from iree_tuner.measure.timing import Timed

_AGAIN_AFTER = 16
"""Trials between two looks at the default."""

_AGAIN_AFTER_S = 30.0
"""Seconds between them, at most, where the device also works on something else."""

_SUSPECT = 1.05
"""Factor of its last time: a slower default is timed again to confirm it."""

_APART = 4
"""Trials between two such looks while others compile. On an H200, with compilers on all cores,
about one measurement in 25 found the default 1.5 times as slow as all others, and so did the next, at once.
"""

_LOOKS = 3
"""That say so, where they are apart; two in a row, where what disturbs one disturbs all."""

_DRIFT = 0.03
"""How far a default's time may move on a device without a note."""

_LOOK_S = 0.5
"""Between two looks at which devices are there."""

_PATIENCE = 3
"""Times in a row that a default may fail to run before the device is given up."""


class DeviceLostError(TunerError):
    """A device does not answer, or does not run the compiler's default, any more."""


@dataclass
class Track:
    """The default of one bench on one device, over time."""

    expected_us: float = 0.0  # its time before the first of these; 0 where it is not known
    times_us: list[float] = field(default_factory=list[float])
    due: bool = True  # whether it is to be timed again
    apart: int = 0  # trials between two measurements of a doubtful time
    _at: float = 0.0
    _since: int = 0
    _suspects_us: list[float] = field(default_factory=list[float])

    @property
    def last_us(self) -> float:
        """Its last time, in microseconds; 0 before the first."""
        return self.times_us[-1] if self.times_us else 0.0

    @property
    def drift(self) -> float:
        """The relative change of its time since the run began."""
        return drift(self.times_us)

    def begin(self, now: float) -> None:
        """Note that it is being timed."""
        self.due, self._since, self._at = False, 0, now

    def is_due(self, now: float) -> bool:
        """Whether to time it before a candidate."""
        return self.due or self._since >= _AGAIN_AFTER or now - self._at > _AGAIN_AFTER_S

    def count(self) -> None:
        """Note that a candidate is being timed."""
        self._since += 1

    def take(self, time_us: float) -> None:
        """Take its time.

        Disturbances make a run of the default longer, and then candidates look better than they are: a much
        longer time is taken only if others confirm it.
        """
        looks = _LOOKS if self.apart else 2
        slow = time_us > _SUSPECT * (self.last_us or self.expected_us or math.inf)
        if slow and len(self._suspects_us) < looks - 1:
            self._suspects_us.append(time_us)
            if self.times_us and self.apart:
                self._since = _AGAIN_AFTER - self.apart
            else:
                self.due = True
            return
        self.times_us.append(min(time_us, *self._suspects_us) if slow else time_us)
        self._suspects_us = []


class DeviceRunner:
    """A device with the times of the defaults on it; every device is compared with its own.

    Args:
        alternate: whether nothing compiles while it measures.
    """

    def __init__(
        self, measurer: Measurer, clock: Callable[[], float] = time.monotonic, *, alternate: bool = False
    ) -> None:
        self.measurer = measurer
        self._apart = 0 if alternate else _APART
        self._clock = clock
        self._tracks: dict[AnyBench, Track] = {}
        self._failures = 0
        self.last: AnyBench | None = None

    def track(self, bench: AnyBench) -> Track:
        """Of a bench's default."""
        if bench not in self._tracks:
            self._tracks[bench] = Track(self.measurer.default_us(bench), apart=self._apart)
        return self._tracks[bench]

    def disturbed(self) -> None:
        """Something else ran here: all defaults are timed again before anything is compared with them."""
        for track in self._tracks.values():
            track.due = True

    def is_due(self, bench: AnyBench) -> bool:
        """Whether the default is to be timed first."""
        return self.track(bench).is_due(self._clock())

    def begin_baseline(self, bench: AnyBench) -> Future[Timed]:
        """Time a default."""
        self.track(bench).begin(self._clock())
        self.last = bench
        return self.measurer.submit_screen(bench.default, bench)

    def end_baseline(self, bench: AnyBench, timed: Timed) -> None:
        """Take a default's time. Raises DeviceLostError after several failures in a row."""
        track = self.track(bench)
        if timed.outcome == "ok":
            self._failures = 0
            track.take(min(timed.samples_us))
            return
        track.due, self._failures = True, self._failures + 1
        if self._failures == _PATIENCE:
            raise DeviceLostError(
                f"the compiler's default no longer runs: {timed.outcome}: {timed.message}",
                location=self.measurer.name,
                hint="the device may need a reset; trials so far are kept",
            )

    def begin(self, built: Built, bench: AnyBench, limit_score: float) -> Future[Timed]:
        """Time a candidate; it is dropped where it is slower than `limit_score` times the default."""
        track = self.track(bench)
        track.count()
        self.last = bench
        limit_us = limit_score * track.last_us if limit_score < math.inf else None
        plan = ScreenPlan(checked=built.for_check != b"", for_check=built.for_check or b"")
        return self.measurer.submit_screen(built.vmfb, bench, limit_us, plan)


class RunDevices:
    """The devices of a run. More may join, and some may leave and come back.

    Args:
        measurers: of all; it grows where devices join.
        news: what happens, for people.
    """

    def __init__(
        self, measurers: Sequence[Measurer], clock: Callable[[], float], news: MutableSequence[str],
        *, alternate: bool,
    ) -> None:  # fmt: skip
        self._measurers = measurers
        self._clock = clock
        self._alternate = alternate
        self._news = news
        self._given_up: set[DeviceRunner] = set()
        self._looked = -math.inf
        self.every: list[DeviceRunner] = []  # all so far
        # the devices that get candidates. If none is left, the last ones: their calls wait for them
        self.working: list[DeviceRunner] = []
        self.look()

    def look(self) -> list[DeviceRunner]:
        """Find the devices that are connected. Returns those that have left, if others can do their work."""
        if self._clock() - self._looked < _LOOK_S:
            return []
        self._looked = self._clock()
        known = len(self.every)
        for measurer in self._measurers[known:]:
            self.every.append(DeviceRunner(measurer, self._clock, alternate=self._alternate))
        there = [each for each in self.every if each.measurer.there and each not in self._given_up]
        if not there or there == self.working:
            self.working = self.working or there or self.every
            return []
        left = [each for each in self.working if each not in there]
        for each in there:
            if each not in self.working:
                each.disturbed()
                if each in self.every[:known]:
                    self._news.append(f"{each.measurer.name} is available again")
        self._news.extend(f"{each.measurer.name} left: others measure its candidates" for each in left)
        self.working = there
        return left

    def note(self, bench: AnyBench) -> str:
        """The message about drift of a bench's default; empty if it was steady."""
        drifts = ((each.track(bench).drift, each.measurer.name) for each in self.every)
        by, name = max(drifts, key=lambda each: abs(each[0]))
        return f"machine speed changed by {by:+.0%} on {name} during the search" if abs(by) > _DRIFT else ""

    def end_baseline(self, device: DeviceRunner, bench: AnyBench, timed: Timed) -> bool:
        """Take a default's time on a device; False if it failed too often: the run goes on without it.

        Raises DeviceLostError for the first device, which judges.
        """
        try:
            device.end_baseline(bench, timed)
        except DeviceLostError as error:
            if device is self.every[0]:
                raise
            self._given_up.add(device)
            self.working = [each for each in self.working if each is not device] or self.every[:1]
            self._news.append(f"{error}; the run goes on without it")
            return False
        return True
