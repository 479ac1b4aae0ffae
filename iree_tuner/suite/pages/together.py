"""Rows of one or more runs, for one page, and the best row of each back end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean

from iree_tuner.errors import TunerError
from iree_tuner.profiling import roofline
from iree_tuner.profiling.roofline import Roofline
from iree_tuner.report.numbers import interval, positive, short, unlike
from iree_tuner.suite.results import Results, Row
from iree_tuner.suite.run_facts import RunFacts


@dataclass(frozen=True)
class Together:
    """The merged runs that a page shows."""

    runs: tuple[RunFacts, ...]  # the facts of each run
    rows: tuple[Row, ...]  # the rows of all runs, with finite numbers only. `device` is a unique name
    rooflines: Mapping[str, Roofline]  # the known rooflines, by device name
    notes: tuple[str, ...] = ()  # warnings about the comparison of several runs, one line each

    @property
    def devices(self) -> tuple[str, ...]:
        """The names of the devices, in the order of the rows."""
        return tuple(dict.fromkeys(row.device for row in self.rows))

    @property
    def operations(self) -> tuple[str, ...]:
        """The names of the operations, in the order of the rows."""
        return tuple(dict.fromkeys(row.operation for row in self.rows))


def together(results: Sequence[Results]) -> Together:
    """Merge the rows of runs. The last of several equal rows counts.

    Raises:
        TunerError: there are no rows, or a roofline is malformed.
    """
    if not any(each.rows for each in results):
        raise TunerError("the run has no rows yet", location=", ".join(each.facts.id for each in results))
    labels = _labels(results)
    rows: dict[tuple[str, ...], Row] = {}
    rooflines: dict[str, Roofline] = {}
    doubled = 0
    for each in results:
        for row in each.rows:
            found = _plain(replace(row, device=labels[row.device, row.device_name]))
            doubled += rows.pop(found.key, None) is not None
            rows[found.key] = found
        for (uri, name), label in labels.items():
            if uri in each.facts.rooflines and each.facts.devices.get(uri, name) == name:
                rooflines.setdefault(label, _roofline(each.facts.rooflines[uri], label))
    found = tuple(rows.values())
    if len(results) > 1:
        found = tuple(_normalized(row, rooflines.get(found[0].device)) for row in found)
    return Together(tuple(each.facts for each in results), found, rooflines, _notes(results, doubled))


def _plain(row: Row) -> Row:
    """Without impossible times, speedups and amounts, as charts have logarithmic axes."""
    return replace(
        row, flops=positive(row.flops) or 0.0, bytes=positive(row.bytes) or 0.0,
        time_us=positive(row.time_us), interval_us=interval(row.interval_us),
        roofline_share=positive(row.roofline_share), normalized_us=positive(row.normalized_us),
        speedup=positive(row.speedup), speedup_interval=interval(row.speedup_interval),
    )  # fmt: skip


def _labels(results: Sequence[Results]) -> dict[tuple[str, str], str]:
    """URI and name to its name on the page: the name alone, if that is enough."""
    devices = dict.fromkeys((row.device, row.device_name) for each in results for row in each.rows)
    names = Counter(name for _, name in devices)
    return {
        (uri, name): (name if names[name] == 1 else f"{name} ({uri})") if name else uri
        for uri, name in devices
    }


def _roofline(data: Mapping[str, object], device: str) -> Roofline:
    try:
        return roofline.from_json(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TunerError(f"not a roofline: {error}", location=device) from None


def _normalized(row: Row, first: Roofline | None) -> Row:
    """Normalized to the first device of all runs."""
    if first is None or not row.roofline_share:
        return replace(row, normalized_us=None)
    least_us = first.attainable_us(row.flops, row.bytes, row.compute_type)
    return replace(row, normalized_us=least_us / row.roofline_share or None)


def _notes(results: Sequence[Results], doubled: int) -> tuple[str, ...]:
    first = results[0].facts
    runs = (each.facts for each in results)
    other = [each.name or each.id for each in runs if each.conditions != first.conditions]
    notes: list[str] = []
    if other:
        notes.append(f"{', '.join(other)}: measured under conditions that differ from those of {first.name}")
    if doubled:
        notes.append(f"{doubled} rows are in several runs; the page shows the last one")
    return (*notes, *(each.note for each in results if each.note))


# Contenders that are compared with IREE's default: back ends, each with the best of its configurations.


BASE = "iree"
"""IREE's default, on pages."""

BEST = "iree, best configuration"
_DEFAULTS = ("", "default")


@dataclass(frozen=True)
class Standing:
    """A contender's row for an operation on a device: its fastest that runs."""

    contender: str  # the back end; `BASE` for IREE's default, `BEST` for IREE with other configurations
    row: Row  # has a time
    time_us: float
    speedup: float | None  # over IREE's default; None without it
    interval: tuple[float, float] | None  # of the speedup


@dataclass(frozen=True)
class Gain:
    """A contender against IREE's default, over operations."""

    contender: str
    device: str
    speedup: float  # geometric mean
    operations: int
    # faster, slower: operations whose whole interval is above or below 1
    faster: int
    slower: int

    @property
    def uncertain(self) -> int:
        """Operations with an interval on both sides of 1, or without one."""
        return self.operations - self.faster - self.slower


def contender_of(row: Row) -> str:
    """The page's name of the contender that computed it."""
    return BEST if row.backend == BASE and row.configuration not in _DEFAULTS else row.backend


def standings(rows: Iterable[Row]) -> tuple[Standing, ...]:
    """The fastest row of each device, operation and contender, in their order; of a page's rows."""
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
            contender, device, geometric_mean([each.speedup or 1.0 for each in group]), len(group),
            sum(each.interval is not None and each.interval[0] > 1 for each in group),
            sum(each.interval is not None and each.interval[1] < 1 for each in group),
        )
        for (contender, device), group in groups.items()
    ]  # fmt: skip
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
