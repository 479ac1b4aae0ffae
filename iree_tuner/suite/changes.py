"""The changes between two runs, row by row, and whether they are larger than the noise (docs/suite.md).

Runs of the same code differ by more than their samples' errors: clocks, memory, neighbors.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from statistics import median
from typing import Literal, get_args

from iree_tuner.errors import TunerError
from iree_tuner.measure.statistics import CONFIDENCE_Z, LEAST_PAIRS, center_of
from iree_tuner.report.numbers import interval, positive
from iree_tuner.suite.results import History, Results, Row, RunFacts

USUAL = 0.02
"""Standard deviation of the logarithm of the ratio of two runs, where nothing else is known."""

_RUN_PAIRS = 5
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
    it has its own. A spread below the usual one counts together with `_RUN_PAIRS` pairs of the usual spread:
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
        if pairs[device] < _RUN_PAIRS:
            continue
        found = {place: _deviation(each) for place, each in by_place.items()}
        devices[device] = median(found.values())
        rows |= {place: each for place, each in found.items() if each > devices[device]}
    return Spreads(devices, rows)


def _equal_runs(history: History) -> Iterator[tuple[Results, Results]]:
    """Each run with the next of its kind: pairs that share at most one run are nearly independent."""
    kinds: dict[object, list[Results]] = {}  # by what must be equal
    for each in history.results:
        if each.facts.commit:
            facts = each.facts
            kind = facts.commit, facts.compiler, tuple(sorted(facts.versions.items())), facts.conditions
            kinds.setdefault(kind, []).append(each)
    for runs in kinds.values():
        yield from pairwise(runs)


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
    with_usual = (_RUN_PAIRS * USUAL**2 + sum(squares)) / (_RUN_PAIRS + len(squares))
    return math.sqrt(max(0.0, with_usual, sum(squares) / len(squares)))


def _place(row: Row) -> _Place:
    return row.operation, row.backend, row.configuration, row.device_name


Verdict = Literal["BROKEN", "FIXED", "SLOWER", "FASTER", "AMBIGUOUS", "NEW", "GONE", "SAME"]
"""In the order of reports."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

WORTH = 0.03
"""Relative difference that counts as a change."""

ALIKE = 0.06
"""Relative difference up to which times count as equal, if the whole interval is within."""

Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Change:
    """The change of a row."""

    key: Key  # operation, back end, configuration, device
    before: Row | None  # the row in the earlier run; None for a new one
    after: Row | None  # the row in the later run; None for one that is gone
    ratio: float | None  # speedup over the earlier run; None if it was not timed in both runs
    interval: tuple[float, float] | None  # of the ratio, `CONFIDENCE_Z` standard errors to both sides
    # `FIXED` and `BROKEN` for rows that work in one run only, `NEW` and `GONE` for rows that only one run
    # has; the others are about times
    verdict: Verdict
    paired: bool = False  # the earlier run's code took turns with the later one's


def changes(
    before: Results, after: Results, *, worth: float = WORTH, alike: float = ALIKE,
    spreads: Spreads | None = None,
) -> tuple[Change, ...]:  # fmt: skip
    """The changes, in the order of the later run's rows, followed by missing ones.

    Rows that work in no run are left out.

    Args:
        before, after: the runs.
        worth, alike: see `WORTH` and `ALIKE`.
        spreads: how much two runs of the same code differ, for rows that did not take turns.

    Raises:
        TunerError: the runs have no row in common.
    """
    old, new = ({row.key: row for row in each.rows} for each in (before, after))
    if not old.keys() & new.keys():
        raise TunerError(
            f"the runs {before.facts.id} and {after.facts.id} have no rows in common",
            hint="rows match if operation, back end, configuration and device are equal",
        )
    took_turns = bool(before.facts.id) and after.facts.against == before.facts.id
    found: list[Change] = []
    for key in dict.fromkeys((*new, *old)):
        one, other = old.get(key), new.get(key)
        if one is None or other is None or one.state != "ok" or other.state != "ok":
            state = _of_states(one, other)
            if state is not None:
                found.append(Change(key, one, other, None, None, state))
            continue
        compared = positive(other.change), interval(other.change_interval)
        paired = took_turns and None not in compared
        compared = compared if paired else ratio_of(one, other, spreads)
        if one == other and one.time_us:  # one measurement, not two
            compared = 1.0, (1.0, 1.0)
        found.append(Change(key, one, other, *compared, verdict_of(compared[1], worth, alike), paired))
    return tuple(found)


def _of_states(before: Row | None, after: Row | None) -> Verdict | None:
    if before is None:
        return "NEW"
    if after is None:
        return "GONE"
    if before.state == after.state or "ok" not in (before.state, after.state):
        return None
    return "FIXED" if after.state == "ok" else "BROKEN"


def ratio_of(
    before: Row, after: Row, spreads: Spreads | None = None
) -> tuple[float | None, tuple[float, float] | None]:
    """Speedup and its interval, of rows of two runs that did not take turns.

    From the samples, if both have enough, else from times and intervals. The errors of both and the spread
    between runs are added as independent errors.
    """
    one, other = _estimates(before, after)
    if one is None or other is None:
        before_us, after_us = positive(before.time_us), positive(after.time_us)
        return (before_us / after_us if before_us and after_us else None), None
    spread = (spreads or Spreads()).of(after)
    log = one[0] - other[0]
    reach = CONFIDENCE_Z * math.hypot(one[1], other[1], spread)
    return math.exp(log), (math.exp(log - reach), math.exp(log + reach))


def _estimates(before: Row, after: Row) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """Of both in the same way, since centers of samples are not medians."""
    both = (before.samples_us, after.samples_us)
    if all(len(each) >= LEAST_PAIRS and all(0 < time < math.inf for time in each) for each in both):
        return center_of(before.samples_us), center_of(after.samples_us)
    return estimate(before), estimate(after)


def verdict_of(ends: tuple[float, float] | None, worth: float, alike: float) -> Verdict:
    """The verdict of a ratio's interval; without one it is ambiguous."""
    if ends is None:
        return "AMBIGUOUS"
    low, high = ends
    if low > 1 + worth:
        return "FASTER"
    if high < 1 / (1 + worth):
        return "SLOWER"
    return "SAME" if 1 / (1 + alike) <= low and high <= 1 + alike else "AMBIGUOUS"


def counts(found: Sequence[Change]) -> dict[Verdict, int]:
    """The number of changes of each existing verdict, in the order of `Verdict`."""
    taken = Counter(each.verdict for each in found)
    return {each: taken[each] for each in VERDICTS if taken[each]}


def cautions(before: RunFacts, after: RunFacts) -> tuple[str, ...]:
    """Differences between two runs other than code, which make their times hard to compare; one line each."""
    devices = [
        f"{device} was {before.devices[device]} and is {name}"
        for device, name in after.devices.items()
        if before.devices.get(device, name) != name
    ]
    old = asdict(before.conditions)
    differing = [
        f"{name} was {old[name]} and is {value}"
        for name, value in asdict(after.conditions).items()
        if old[name] != value
    ]
    return (*devices, *(f"the conditions differ: {each}" for each in differing))
