"""The expected gain of more tries of a workload: share times headroom times chance, per second.

After the task scheduler of MetaSchedule's ancestor (L. Zheng et al., *Ansor*, OSDI 2020, section 6.2), which
mixes the gain of the last tries with the largest possible gain of the next. Here the best is bounded by the
device's roofline where it is known, and hope halves with every slice of tries that finds nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

_LEAST_FLOOR = 0.2
"""Where the roofline says nothing, or more: the compiler's choice is rarely five times too slow."""

_LEAST_HEADROOM = 0.1
"""Of the best time: so much can be hoped for where nothing is known of a floor. Kernels on GPUs are often
more than five times as fast as the compiler's choice, and their variants differ."""

_MOST_FLOOR = 0.9
"""Where the roofline leaves nothing to gain: it was measured too, and a little hope costs little."""

_HOPE = 0.5
"""Part of the headroom that the first slice may gain; every two slices, fruitless ones more, it falls so."""

_UNMENDED = 8.0
"""Instead of a score, where the default is wrong and nothing right is known yet."""

_CATCHING_UP = 4
"""The chance to pass another search's best falls with this power of how far it is ahead."""

_WINDOW = 2
"""Slices that speak for the next."""

_OBSERVED = 0.5
"""Weight of the past gain against the possible gain."""


@dataclass
class Prospects:
    """How a workload's search stands.

    Attributes:
        weight_us: what the program spends on the workload with the default, in microseconds an invocation.
        floor: the least score (time relative to the default's) that can be hoped for.
        bests: the best score after each slice of tries, at most `start`.
        seconds: spent on the slices.
        start: the score without any of them: of the default, if that may be used.
    """

    weight_us: float
    floor: float = _LEAST_FLOOR
    bests: list[float] = field(default_factory=list[float])
    seconds: float = 0.0
    start: float = 1.0

    @property
    def best(self) -> float:
        """The best score so far."""
        return self.bests[-1] if self.bests else self.start

    def mend(self) -> None:
        """The default turned out to be wrong: whatever is right will be used, and what it takes counts."""
        self.bests, self.start = [], _UNMENDED

    def add(self, score: float, seconds: float) -> None:
        """A slice has ended with this best score."""
        self.bests.append(min(self.best, score))
        self.seconds += seconds

    @property
    def fruitless(self) -> int:
        """Slices since the last that found something better."""
        scores = [self.start, *self.bests]
        return next(
            (back for back in range(len(self.bests)) if scores[-1 - back] < scores[-2 - back]),
            len(self.bests),
        )

    def next_gain(self, elsewhere: float = math.inf) -> float:
        """Expected fall of the workload's best score in the next slice; another search has one already."""
        best = min(self.best, elsewhere)
        floor = self.floor
        if floor <= _LEAST_FLOOR and self.best <= elsewhere:
            floor = min(floor, (1.0 - _LEAST_HEADROOM) * best)
        hope = max(0.0, best - floor) * _HOPE ** (1 + len(self.bests) / 2 + self.fruitless / 2)
        window = min(_WINDOW, len(self.bests))
        if window == 0:
            return hope
        if elsewhere < self.best:
            return hope * (elsewhere / self.best) ** _CATCHING_UP
        before = self.bests[-1 - window] if len(self.bests) > window else self.start
        return _OBSERVED * (before - self.best) / window * _HOPE + (1.0 - _OBSERVED) * hope

    def gain_us(self, elsewhere: float = math.inf) -> float:
        """Expected microseconds of an invocation that the next slice saves."""
        return self.weight_us * self.next_gain(elsewhere)

    def slice_s(self, unknown_s: float) -> float:
        """The time of a slice; `unknown_s` before the first."""
        return self.seconds / len(self.bests) if self.bests else unknown_s


def floor_score(default_us: float, attainable_us: float) -> float:
    """The least score that can be hoped for, from the roofline's time of one call (0 where unknown)."""
    if default_us <= 0.0:
        return 1.0
    return min(_MOST_FLOOR, max(_LEAST_FLOOR, attainable_us / default_us))
