"""The changes between two runs, row by row, and whether they are larger than the noise (docs/suite.md)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from iree_tuner.errors import TunerError
from iree_tuner.measure.statistics import CONFIDENCE_Z, LEAST_PAIRS, center_of
from iree_tuner.report.numbers import interval, positive
from iree_tuner.suite.results import Results, Row
from iree_tuner.suite.run_facts import RunFacts
from iree_tuner.suite.spread import Spreads, estimate

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
