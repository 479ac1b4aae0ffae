"""One measuring device during a search: its own baseline, and how that moves."""

from __future__ import annotations

import math
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from iree_tuner.errors import TunerError
from iree_tuner.measure.bench import Bench
from iree_tuner.measure.measurer import Measurer
from iree_tuner.measure.sampling import drift
from iree_tuner.measure.worker import Timed

_AGAIN_AFTER = 16
"""Trials between two looks at the default."""

_SUSPECT = 1.05
"""Times its last time: so much slower, the default is timed once more before that is believed."""

_PATIENCE = 3
"""Times in a row that the default may fail to run before the device is given up."""


class DeviceLostError(TunerError):
    """A device that does not run the compiler's default any more."""


@dataclass
class Device:
    """A device with the time of the default on it; every device is compared with its own."""

    measurer: Measurer
    bench: Bench
    baselines_us: list[float] = field(default_factory=list[float])
    due: bool = True
    _suspect_us: float = 0.0
    _since: int = 0
    _failures: int = 0

    @classmethod
    def of(cls, measurer: Measurer, bench: Bench) -> Device:
        """A device that a search begins on."""
        return cls(measurer, replace(bench, device=measurer.device))

    @property
    def baseline_us(self) -> float:
        """The default's last time here, in microseconds; 0 before the first."""
        return self.baselines_us[-1] if self.baselines_us else 0.0

    @property
    def drift(self) -> float:
        """How far the default's time has moved since the search began, as a part of it."""
        return drift(self.baselines_us)

    def begin_baseline(self) -> Future[Timed]:
        """Time the default."""
        self.due, self._since = False, 0
        return self.measurer.submit_screen(self.bench.default, self.bench, None)

    def end_baseline(self, timed: Timed) -> None:
        """Take the default's time.

        What disturbs a run makes it longer, and then candidates look better than they are: a much longer time
        is taken only when a second one says so too.

        Raises:
            DeviceLostError: the device does not run the default any more.
        """
        if timed.outcome == "ok":
            self._failures = 0
            self._take(min(timed.samples_us))
            return
        self.due, self._failures = True, self._failures + 1
        if self._failures == _PATIENCE:
            raise DeviceLostError(
                f"the compiler's default no longer runs: {timed.outcome}: {timed.message}",
                location=self.measurer.device,
                hint="the device may need a reset; trials so far are kept",
            )

    def _take(self, time_us: float) -> None:
        if not self._suspect_us and time_us > _SUSPECT * (self.baseline_us or math.inf):
            self._suspect_us, self.due = time_us, True
            return
        self.baselines_us.append(min(time_us, self._suspect_us or math.inf))
        self._suspect_us = 0.0

    def begin(self, vmfb: bytes, limit_score: float) -> Future[Timed]:
        """Time a candidate; it is dropped where it is slower than `limit_score` times the default."""
        self._since += 1
        self.due = self._since >= _AGAIN_AFTER
        return self.measurer.submit_screen(vmfb, self.bench, limit_score * self.baseline_us)
