"""How much runs of the same code differ, more than their samples' errors: clocks, memory, neighbors."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from iree_tuner.measure.statistics import CONFIDENCE_Z
from iree_tuner.suite.backends.backend import Running
from iree_tuner.suite.history import History
from iree_tuner.suite.results import Results, Row
from iree_tuner.suite.run_facts import RunFacts

USUAL = 0.02
"""Standard deviation of the logarithm of the ratio of two runs, where nothing else is known."""

LEAST_PAIRS = 5
"""Pairs of runs: fewer say too little about a device."""

_Place = tuple[str, str, str, str]  # operation, back end, configuration, name of the device


@dataclass(frozen=True)
class Spreads:
    """Standard deviations of logarithms of ratios of two runs' times, of the same code."""

    # by name: the device of the middle row
    devices: Mapping[str, float] = field(default_factory=dict[str, float])
    # rows that differ more than their device's middle row
    rows: Mapping[_Place, float] = field(default_factory=dict[_Place, float])

    def of(self, row: Row) -> float:
        """Of a row; the usual one where its device is not known."""
        return self.rows.get(_place(row), self.devices.get(row.device_name, USUAL))


def spreads_of(history: History) -> Spreads:
    """From neighboring runs of equal commit, compiler, libraries and conditions, by device.

    A device's spread is the median of its rows', so that a few jumping rows do not count for all; a row above
    it has its own. A spread below the usual one counts together with `LEAST_PAIRS` pairs of the usual spread:
    a few runs that are close together by chance do not prove that they always are.
    """
    squares: dict[str, dict[_Place, list[float]]] = {}
    pairs: dict[str, int] = {}
    for before, after in _equal_runs(history):
        for device in {row.device_name for row in after.rows} & {row.device_name for row in before.rows}:
            pairs[device] = pairs.get(device, 0) + 1
        for place, square in _squares(before, after):
            squares.setdefault(place[-1], {}).setdefault(place, []).append(square)
    devices: dict[str, float] = {}
    rows: dict[_Place, float] = {}
    for device, by_place in squares.items():
        if pairs[device] < LEAST_PAIRS:
            continue
        found = {place: _deviation(each) for place, each in by_place.items()}
        devices[device] = median(found.values())
        rows |= {place: each for place, each in found.items() if each > devices[device]}
    return Spreads(devices, rows)


def _equal_runs(history: History) -> Iterator[tuple[Results, Results]]:
    """Each run with the next of its kind: pairs that share at most one run are nearly independent."""
    kinds: dict[object, list[Results]] = {}
    for each in history.results:
        if each.facts.commit:
            kinds.setdefault(_kind(each.facts), []).append(each)
    for runs in kinds.values():
        yield from pairwise(runs)


def _kind(facts: RunFacts) -> object:
    return facts.commit, facts.compiler, tuple(sorted(facts.versions.items())), facts.conditions


def _squares(before: Results, after: Results) -> Iterator[tuple[_Place, float]]:
    """Squared logarithms of ratios, without the part that the samples' own errors explain."""
    known = {_place(row): row for row in before.rows}
    for row in after.rows:
        one, other = estimate(row), estimate(known.get(_place(row)))
        if one is not None and other is not None:
            yield _place(row), (one[0] - other[0]) ** 2 - one[1] ** 2 - other[1] ** 2


def estimate(row: Row | None) -> tuple[float, float] | None:
    """Logarithm of a row's time, and its standard error from its interval; None without them."""
    if row is None or row.state != "ok" or row.interval_us is None or not row.time_us:
        return None
    low, high = row.interval_us
    if not 0 < low <= high < math.inf or not 0 < row.time_us < math.inf:
        return None
    return math.log(row.time_us), math.log(high / low) / (2 * CONFIDENCE_Z)


def _deviation(squares: list[float]) -> float:
    with_usual = (LEAST_PAIRS * USUAL**2 + sum(squares)) / (LEAST_PAIRS + len(squares))
    return math.sqrt(max(0.0, with_usual, sum(squares) / len(squares)))


def _place(row: Row) -> _Place:
    return row.operation, row.backend, row.configuration, row.device_name


# Several copies of a loaded operation that run at the same time, each in a thread of its own.


class SideBySide:
    """A job that each of several threads runs; for `measure.sampling.Batches`."""

    def __init__(self, running: Sequence[Running]) -> None:
        self._running = running
        self._threads = ThreadPoolExecutor(len(running)) if len(running) > 1 else None

    def run(self, repeats: int) -> float:
        """Run each this many times; seconds until all are done."""
        if self._threads is None:
            return self._running[0].run(repeats)
        start = time.perf_counter()
        for each in [self._threads.submit(running.run, repeats) for running in self._running]:
            each.result()
        return time.perf_counter() - start

    def close(self) -> None:
        """End the threads."""
        if self._threads is not None:
            self._threads.shutdown()
