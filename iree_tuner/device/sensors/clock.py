"""Clocks, and calls of foreign libraries, for all sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")
_MOVED = 0.10
"""Relative change of a clock that disturbs a measurement; governors make smaller changes all the time."""


class ClockWatch:
    """Follows a clock, in MHz; None is a clock that is not reported.

    An idle device clocks up. So the first reading within a measurement is only the reference for later ones,
    and replaces the reading at its start in the mean.
    """

    def __init__(self) -> None:
        self._first: float | None = None
        self._mark: float | None = None

    def start(self, now: float | None) -> None:
        self._first = now
        self._mark = None

    def moved(self, now: float | None) -> bool:
        """Whether it changed by more than a tenth since the last call."""
        before, self._mark = self._mark, now
        if before is None:
            self._first = now
        return before is not None and now is not None and abs(now - before) > _MOVED * before

    def mean(self, now: float | None) -> float | None:
        """The mean of now and the beginning."""
        known = [value for value in (self._first, now) if value is not None]
        return sum(known) / len(known) if known else None


def attempt(action: Callable[[], R]) -> R | None:
    """Its return value; None for any error in a foreign library, which sensors survive."""
    try:
        return action()
    except Exception:
        return None
