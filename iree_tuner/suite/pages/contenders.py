"""Contenders that are compared with IREE's default: back ends, each with the best of its configurations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from iree_tuner.report.labels import short, unlike
from iree_tuner.suite.row import Row

BASE = "iree"
"""IREE's default, on pages."""

BEST = "iree, best configuration"
_DEFAULTS = ("", "default")


@dataclass(frozen=True)
class Standing:
    """A contender's row for an operation on a device: its fastest that runs.

    Attributes:
        contender: the back end; `BASE` for IREE's default, `BEST` for IREE with other configurations.
        row: has a time.
        time_us: of the row.
        speedup: against IREE's default; None where there is none.
        interval: of the speedup.
    """

    contender: str
    row: Row
    time_us: float
    speedup: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Gain:
    """A contender against IREE's default, over operations.

    Attributes:
        contender, device: which.
        speedup: geometric mean.
        operations: how many.
        faster, slower: how many of them are so, with all of their interval.
    """

    contender: str
    device: str
    speedup: float
    operations: int
    faster: int
    slower: int

    @property
    def uncertain(self) -> int:
        """How many have an interval on both sides of 1, or none."""
        return self.operations - self.faster - self.slower


def contender_of(row: Row) -> str:
    """The page's name of the contender that computed it."""
    return BEST if row.backend == BASE and row.configuration not in _DEFAULTS else row.backend


def standings(rows: Iterable[Row]) -> tuple[Standing, ...]:
    """The fastest row of each device, operation and contender, in their order; of rows as a page has them."""
    found: dict[tuple[str, str, str], Standing] = {}
    for row in rows:
        time_us, contender = row.time_us, contender_of(row)
        place = (row.device, row.operation, contender)
        if row.state != "ok" or time_us is None or (place in found and found[place].time_us <= time_us):
            continue
        against = (None, None) if contender == BASE else (row.speedup, row.speedup_interval)
        found[place] = Standing(contender, row, time_us, *against)
    return tuple(found.values())


def gains(found: Sequence[Standing]) -> tuple[Gain, ...]:
    """Of each contender on each device that was compared with IREE's default, best first."""
    groups: dict[tuple[str, str], list[Standing]] = {}
    for each in found:
        if each.speedup is not None:
            groups.setdefault((each.contender, each.row.device), []).append(each)
    made = [
        Gain(
            contender,
            device,
            math.exp(sum(math.log(each.speedup or 1.0) for each in group) / len(group)),
            len(group),
            sum(each.interval is not None and each.interval[0] > 1 for each in group),
            sum(each.interval is not None and each.interval[1] < 1 for each in group),
        )
        for (contender, device), group in groups.items()
    ]
    devices = list(dict.fromkeys(each.row.device for each in found))
    return tuple(sorted(made, key=lambda each: (devices.index(each.device), -each.speedup)))


def contenders(found: Iterable[Standing]) -> tuple[str, ...]:
    """All of them, IREE's first."""
    names = dict.fromkeys(each.contender for each in found)
    own = [each for each in (BASE, BEST) if each in names]
    own += [each for each in names if each.startswith(BASE) and each not in own]
    return (*own, *(each for each in names if each not in own))


def labels_of(operations: Sequence[str]) -> Mapping[str, str]:
    """The charts' names of operations, by their full names."""
    return dict(zip(operations, unlike([short(each) for each in operations]), strict=True))
