"""How many samples are taken, and which of them count. Runs in the measuring worker; no IREE in here."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from iree_tuner.device.readings import Sensors

_SAMPLES_TO_REJECT = 2
_LONG_US = 5e5
"""Of one run: disturbances are small relative to that, and a second sample is not worth its time."""


class SampleSource(Protocol):
    """Something that can be timed."""

    def batch(self) -> float:
        """Microseconds of one run, from one batch of runs."""
        ...


@dataclass(frozen=True)
class ScreenPlan:
    """How a candidate is screened.

    Attributes:
        batch_s: least length of a batch, in seconds.
        least: samples at least.
        most: samples at most.
        precision: relative difference of the three least samples, at which it is enough.
        checked: whether its numbers are looked at, too.
        for_check: the executable whose numbers are looked at, if it is another one (`Built.for_check`).
    """

    batch_s: float = 0.005
    least: int = 3
    most: int = 12
    precision: float = 0.02
    checked: bool = True
    for_check: bytes = b""


@dataclass(frozen=True)
class Screened:
    """Samples of one candidate.

    Attributes:
        samples_us: the samples that count.
        discarded: how many were thrown away because the device throttled or changed its clock.
        too_slow: whether it was given up after its first samples.
        disturbed: whether the device was disturbed all the time, so that samples count which should not.
    """

    samples_us: tuple[float, ...]
    discarded: int
    too_slow: bool
    disturbed: bool = False


def screen(source: SampleSource, sensors: Sensors, plan: ScreenPlan, limit_us: float | None) -> Screened:
    """Sample until the least times agree, or there are enough samples.

    Two samples beyond the limit and none within it end it: a single one may be a spike. Disturbed samples are
    taken again, until there are twice `plan.most` in all; on a device that is disturbed all the time they
    count.
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

    The order changes from round to round, so that each follows each equally often and takes each turn equally
    often (E. J. Williams, 1949, designs balanced for residual effects). A round that was disturbed is taken
    again, at most `rounds` times in all; after that, disturbed ones count.
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

    It is backwards in every other `count` rounds, which balances odd counts too.
    """
    zigzag = [(step + 1) // 2 * (1 if step % 2 else -1) for step in range(count)]
    order = [(step + place) % count for step in zigzag]
    return order[::-1] if place // count % 2 else order


def drift(baselines_us: Sequence[float]) -> float:
    """How far a repeated time moved: the ratio of the medians of its last and its first third, minus 1."""
    third = len(baselines_us) // 3
    if not third:
        return 0.0
    first, last = statistics.median(baselines_us[:third]), statistics.median(baselines_us[-third:])
    return last / first - 1.0
