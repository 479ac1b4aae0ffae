"""The protocol of all sources of clocks."""

from __future__ import annotations

_MOVED = 0.10
"""Part by which a clock has to move to disturb a measurement; finer steps are the governor's daily work."""


class ClockWatch:
    """Follows a clock, in MHz; None is a clock that is not reported.

    The first look of a measurement only sets the mark: a device that was idle before clocks up.
    For the same reason the mean begins there, if there is a look.
    """

    def __init__(self) -> None:
        self._first: float | None = None
        self._mark: float | None = None

    def start(self, now: float | None) -> None:
        """Begin a measurement."""
        self._first = now
        self._mark = None

    def moved(self, now: float | None) -> bool:
        """Whether it moved by more than a tenth since the last look."""
        before, self._mark = self._mark, now
        if before is None:
            self._first = now
        return before is not None and now is not None and abs(now - before) > _MOVED * before

    def mean(self, now: float | None) -> float | None:
        """The mean of now and the beginning."""
        known = [value for value in (self._first, now) if value is not None]
        return sum(known) / len(known) if known else None
