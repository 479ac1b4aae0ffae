"""How many samples are taken, and which of them count. Runs in the measuring worker; no IREE in here."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from iree_tuner.device.sensors import Sensors

_SAMPLES_TO_REJECT = 2
_LONG_US = 5e5
"""Of one run: disturbances are small relative to that, and a second sample is not worth its time."""


class SampleSource(Protocol):
    """A program or dispatch that can be timed."""

    def batch(self) -> float:
        """Microseconds of one run, from one batch of runs."""
        ...


@dataclass(frozen=True)
class ScreenPlan:
    """How a candidate is screened."""

    batch_s: float = 0.005  # least length of a batch, in seconds
    least: int = 3  # samples at least
    most: int = 12  # samples at most
    precision: float = 0.02  # it ends when the three least samples differ relatively by no more
    checked: bool = True  # whether its results are also checked
    # the executable whose results are checked, if it is another one (`Built.for_check`)
    for_check: bytes = b""


@dataclass(frozen=True)
class Screened:
    """Samples of one candidate, in microseconds."""

    samples_us: tuple[float, ...]  # the samples that count
    discarded: int  # how many do not, because the device throttled or changed its clock
    too_slow: bool  # whether it was given up after its first samples
    disturbed: bool = False  # whether the device was disturbed all the time, so that disturbed samples count


def screen(source: SampleSource, sensors: Sensors, plan: ScreenPlan, limit_us: float | None) -> Screened:
    """Sample until the least times agree, or there are enough samples.

    Two samples beyond the limit and none within it end it: a single one may be a spike. Disturbed samples are
    taken again, until there are twice `plan.most` in all; if all are disturbed, they count.
    """
    kept: list[float] = []
    disturbed: list[float] = []
    sensors.disturbed()  # what happened before does not count
    while len(kept) < plan.most and len(kept) + len(disturbed) < 2 * plan.most:
        sample = source.batch()
        (disturbed if sensors.disturbed() else kept).append(sample)
        seen = kept or disturbed
        if limit_us is not None and len(seen) == _SAMPLES_TO_REJECT and min(seen) > limit_us:
            return Screened(tuple(seen), len(disturbed) if kept else 0, too_slow=True, disturbed=not kept)
        if len(kept) >= plan.least and settled(kept, plan.precision):
            break
        if kept and kept[-1] >= _LONG_US and (limit_us is None or kept[-1] <= limit_us):
            break
    if not kept:
        slow = limit_us is not None and min(disturbed) > limit_us
        return Screened(tuple(disturbed), 0, too_slow=slow, disturbed=True)
    return Screened(tuple(kept), len(disturbed), too_slow=False)


def settled(samples_us: Sequence[float], precision: float) -> bool:
    """Whether the three least samples agree: what disturbs a run makes it longer, never shorter."""
    least = sorted(samples_us)[:3]
    return len(least) == 3 and least[-1] <= least[0] * (1.0 + precision)


def interleave(
    sources: Sequence[SampleSource], sensors: Sensors, rounds: int, start: int = 0
) -> list[list[float]]:
    """Rounds of one sample of each source.

    The order changes from round to round, so that each source follows each other one and takes each turn
    equally often (E. J. Williams, 1949, designs balanced for residual effects). At most `rounds` disturbed
    rounds are taken again; after that, disturbed ones count.
    """
    rows: list[list[float]] = []
    again = rounds
    sensors.disturbed()  # what happened before does not count
    while len(rows) < rounds:
        row = [0.0] * len(sources)
        for index in turns(len(sources), start + len(rows)):
            row[index] = sources[index].batch()
        if sensors.disturbed() and again:
            again -= 1
            continue
        rows.append(row)
    return rows


def turns(count: int, place: int) -> list[int]:
    """The order in round `place`: 0, 1, -1, 2, -2 and so on, shifted by it.

    It is reversed in every other `count` rounds, which also balances odd counts.
    """
    zigzag = [(step + 1) // 2 * (1 if step % 2 else -1) for step in range(count)]
    order = [(step + place) % count for step in zigzag]
    return order[::-1] if place // count % 2 else order


def drift(baselines_us: Sequence[float]) -> float:
    """The relative change of a repeated time, from the median of its first third to that of its last."""
    third = len(baselines_us) // 3
    if not third:
        return 0.0
    first, last = statistics.median(baselines_us[:third]), statistics.median(baselines_us[-third:])
    return last / first - 1.0


# How one sample is taken: the time of one run of a dispatch, from a batch of many.
#
# A sample is `(t(n) - t(0)) / n`: `t(0)` is a call that runs nothing, and its least time is the cost of a
# call without the runs. The alternative is the slope `(t(n + m) - t(n)) / m`. It needs a second batch for
# each sample, and a disturbance of the short one makes the sample too *small*, so that the minimum is wrong:
# on two busy cores some slopes were negative. `t(0)` leaves out what only a call with work in it costs: on an
# H100, where slopes spread a little less, samples are larger than slopes by 1 to 2 %. That is the same for
# candidates and default, so that gains are slightly underestimated. Executables that take turns share one
# `t(0)`: an error of it must not favour one. Drivers' own timestamps would be better on GPUs; the HAL's
# profiling is not implemented on CUDA in 3.13.

_MOST_REPEATS = 1 << 16  # of a command buffer, all of whose commands are recorded before it ends
_MARGIN = 1.05
_GROWTH = 16
_LOOKS = 5
_CLOCK_STEPS = 1000
_CALLS = 20
_SURELY = 20.0  # times what a batch needs: no interruption is as long


class Runs(Protocol):
    """A function that runs something `repeats` times in one call, and returns the seconds."""

    def run(self, repeats: int) -> float: ...


@cache
def clock_step() -> float:
    """The least difference between two readings of the host's clock, in seconds."""
    found = 1.0
    for _ in range(1000):
        start = time.perf_counter()
        end = time.perf_counter()
        while end <= start:
            end = time.perf_counter()
        found = min(found, end - start)
    return found


def call_cost(runs: Runs) -> float:
    """Seconds of a call that runs nothing, at the least."""
    return min(runs.run(0) for _ in range(_LOOKS))


class Batches:
    """Takes samples of one executable, which is loaded and warm.

    Args:
        runs: the executable.
        batch_s: least length of a batch, in seconds; at least 1000 steps of the clock or 20 calls that run
            nothing, so that their errors are a small part of a sample.
        overhead_s: the cost of a call that runs nothing, which is subtracted; measured by default.
    """

    def __init__(self, runs: Runs, batch_s: float, overhead_s: float | None = None) -> None:
        self._runs = runs
        self.overhead_s = call_cost(runs) if overhead_s is None else overhead_s
        self.repeats = self._calibrate(max(batch_s, _CLOCK_STEPS * clock_step(), _CALLS * self.overhead_s))

    def batch(self) -> float:
        return self._seconds(self.repeats) / self.repeats * 1e6

    def _calibrate(self, batch_s: float) -> int:
        """Repeats that take `batch_s`, confirmed by a second batch: interruptions lengthen a batch."""
        repeats = 1
        while True:
            elapsed = self._seconds(repeats)
            if repeats == 1 and elapsed >= _SURELY * batch_s:
                return 1
            if elapsed >= batch_s:
                elapsed = min(elapsed, self._seconds(repeats))
            if elapsed >= batch_s or repeats == _MOST_REPEATS:
                return repeats
            wanted = int(repeats * _MARGIN * batch_s / elapsed)
            repeats = min(_MOST_REPEATS, max(repeats + 1, min(wanted, repeats * _GROWTH)))

    def _seconds(self, repeats: int) -> float:
        """Seconds of a number of runs; at least a step of the clock."""
        return max(self._runs.run(repeats) - self.overhead_s, clock_step())
