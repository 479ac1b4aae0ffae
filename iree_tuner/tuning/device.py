"""A measuring device during a run: what it times, and how the default of each bench moves on it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from iree_tuner.errors import TunerError
from iree_tuner.execute.measurer import AnyBench, Measurer
from iree_tuner.execute.sampling import drift
from iree_tuner.execute.worker import Timed

_AGAIN_AFTER = 16
"""Trials between two looks at the default."""

_AGAIN_AFTER_S = 30.0
"""Seconds between them, at most, where the device works on something else meanwhile."""

_SUSPECT = 1.05
"""Times its last time: so much slower, the default is timed again before that is believed."""

_APART = 4
"""Trials between two such looks where others compile meanwhile. On an H200 beside compilers on all cores, one
look of some 25 found the default 1.5 times as slow as all others, and so did the next, at once."""

_LOOKS = 3
"""That say so, where they are apart; two in a row, where what disturbs one disturbs all."""

_PATIENCE = 3
"""Times in a row that a default may fail to run before the device is given up."""


class DeviceLostError(TunerError):
    """A device that does not run the compiler's default any more."""


@dataclass
class Track:
    """The default of one bench on one device, over time.

    Attributes:
        expected_us: its time before the first of these; 0 where it is not known.
        times_us: the default's times.
        due: whether it is to be timed again.
        apart: trials between two looks at a time that is not believed.
    """

    expected_us: float = 0.0
    times_us: list[float] = field(default_factory=list[float])
    due: bool = True
    apart: int = 0
    _at: float = 0.0
    _since: int = 0
    _suspects_us: list[float] = field(default_factory=list[float])

    @property
    def last_us(self) -> float:
        """Its last time, in microseconds; 0 before the first."""
        return self.times_us[-1] if self.times_us else 0.0

    @property
    def drift(self) -> float:
        """How far its time has moved since the run began, as a part of it."""
        return drift(self.times_us)

    def begin(self, now: float) -> None:
        """It is being timed."""
        self.due, self._since, self._at = False, 0, now

    def is_due(self, now: float) -> bool:
        """Whether it is to be timed before a candidate is."""
        return self.due or self._since >= _AGAIN_AFTER or now - self._at > _AGAIN_AFTER_S

    def count(self) -> None:
        """A candidate is being timed."""
        self._since += 1

    def take(self, time_us: float) -> None:
        """Take its time.

        What disturbs a run makes it longer, and then candidates look better than they are: a much longer time
        is taken only when others say so too.
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
        measurer: its measuring worker.
        clock: the time, in seconds.
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
        return self.measurer.submit_screen(bench.default, replace(bench, device=self.measurer.device), None)

    def end_baseline(self, bench: AnyBench, timed: Timed) -> None:
        """Take a default's time. Raises DeviceLostError where it fails again and again."""
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

    def begin(self, vmfb: bytes, bench: AnyBench, limit_score: float) -> Future[Timed]:
        """Time a candidate; it is dropped where it is slower than `limit_score` times the default."""
        track = self.track(bench)
        track.count()
        self.last = bench
        own = replace(bench, device=self.measurer.device)
        limit_us = limit_score * track.last_us if limit_score < math.inf else None
        return self.measurer.submit_screen(vmfb, own, limit_us)
