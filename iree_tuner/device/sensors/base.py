"""Sensors of any source, and calls of foreign libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from iree_tuner.device.outcome import Readings

R = TypeVar("R")
_MOVED = 0.10
"""Relative change of a clock that disturbs a measurement; governors make smaller changes all the time."""


class Sensors:
    """Observes one device while it is measured. Made in the measuring worker; must not raise.

    A source overrides what it reports: of this class itself, a device reports nothing.

    An idle device clocks up. So the first look within a measurement only gives the clock that later ones are
    compared with, and replaces the clock at the start in the mean.
    """

    source = "none"
    tells_throttling = False

    def __init__(self, host: Sensors | None = None) -> None:
        """With the sensors of a GPU's `host`, which know the load."""
        self._host = host
        self._first: float | None = None
        self._last: float | None = None
        self._counted = 0.0

    def start(self) -> None:
        """Begin a measurement, and forget earlier readings."""
        if self._host is not None:
            self._host.start()
        self._first, self._last, self._counted = self.clock_mhz(), None, self.throttles()

    def disturbed(self) -> bool:
        """Whether it throttled, or its clock changed by more than a tenth, since the last call."""
        before, self._last = self._last, self.moving_mhz()
        counted, self._counted = self._counted, self.throttles()
        if before is None:
            self._first = self._last
        elif self._last is not None and abs(self._last - before) > _MOVED * before:
            return True
        return self._counted > counted or self.is_held()

    def readings(self) -> Readings:
        """Readings since `start`."""
        clocks = [value for value in (self._first, self.clock_mhz()) if value is not None]
        load, stolen = self.others()
        mean = sum(clocks) / len(clocks) if clocks else None
        return Readings(clock_mhz=mean, temperature_c=self.temperature_c(), load=load, stolen=stolen)

    def clock_mhz(self) -> float | None:
        """The clock now."""
        return None

    def moving_mhz(self) -> float | None:
        """The same, for looks between samples: only if reading it takes no time."""
        return self.clock_mhz()

    def temperature_c(self) -> float | None:
        """The hottest temperature now."""
        return None

    def throttles(self) -> float:
        """How often it has throttled; it may count from any time on."""
        return 0.0

    def is_held(self) -> bool:
        """Whether its clock is held down now."""
        return False

    def others(self) -> tuple[float | None, float | None]:
        """Cores that others kept busy, and the part of the time that the hypervisor took, since `start`."""
        return (None, None) if self._host is None else self._host.others()

    def identity(self) -> tuple[str, str, int]:
        """Of a GPU: name, version of the driver, and multiprocessors; empty and 0 if unknown."""
        return "", "", 0

    def memory_bytes(self) -> int | None:
        """Of a GPU."""
        return None


def attempt(action: Callable[[], R]) -> R | None:
    """Its return value; None for any error in a foreign library, which sensors survive."""
    try:
        return action()
    except Exception:
        return None
