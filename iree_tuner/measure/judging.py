"""When a comparison has seen enough: rounds are asked for in installments, until all are decided."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from iree_tuner.measure.statistics import (
    CONFIDENCE_Z,
    FAR,
    FAR_PAIRS,
    LEAST_PAIRS,
    Comparison,
    Floats,
    compare_rows,
)

Rows = Sequence[Sequence[float]]
"""Rounds of samples: the default's, then one of each candidate."""

Take = Callable[[int], Sequence[Rows]]
"""Takes a number of further rounds at each place of the code; returns the new rows of each place."""

_HOPE_Z = 3.0
_LONG_S = 0.25  # a round


@dataclass(frozen=True)
class JudgePlan:
    """How a comparison is made.

    Attributes:
        rounds: the most pairs for each candidate, over all places.
        margin: the relative difference that is worth a change.
        first: pairs before the first decision; it is repeated at twice as many, and so on.
        seconds: time limit; the pace of the rounds so far decides how many fit. `LEAST_PAIRS` are taken in
            any case, or `FAR_PAIRS` if rounds are long and these decide about the fastest candidate.
        hope: a gain that is not given up while it is possible; smaller ones may be.
        fixed: all rounds are taken at each place, whatever they show.
    """

    rounds: int
    margin: float = 0.01
    first: int = 64
    seconds: float = 120.0
    hope: float = 0.03
    fixed: bool = False


def judge(
    take: Take, candidates: int, plan: JudgePlan, clock: Callable[[], float] = time.monotonic
) -> list[Comparison]:
    """Compare each candidate with the default, until all are decided or the plan's limits are reached.

    Deciding repeatedly finds chance gains; `CONFIDENCE_Z` is high enough for all decisions together. Giving
    up only ends in ties.
    """
    if plan.fixed:
        groups = [_array(rows, candidates) for rows in take(plan.rounds)]
        return compare_rows(groups, margin=plan.margin)
    end = clock() + plan.seconds
    start = clock()
    groups = [_array(rows, candidates) for rows in take(1)]  # which shows how many places there are
    each_s = clock() - start
    taken, places, look = 1, len(groups), plan.first
    comparisons = compare_rows(groups, margin=plan.margin)
    long = each_s > _LONG_S and any(max(each.speedup, 1.0 / each.speedup) > FAR for each in comparisons)
    while taken == 1 or not all(_decided(each, plan) for each in comparisons):
        first = taken == 1 and long
        wanted = _share(FAR_PAIRS if first else min(look, plan.rounds), places) - taken
        if each_s > 0:
            fastest = max(comparisons, key=lambda each: each.speedup)
            few = first or (long and fastest.verdict != "tie")
            least = _share(FAR_PAIRS if few else LEAST_PAIRS, places) - taken
            wanted = min(wanted, max(least, int((end - clock()) / each_s)))
        if wanted <= 0:
            break
        start = clock()
        new = [_array(rows, candidates) for rows in take(wanted)]
        each_s = (clock() - start) / wanted
        groups = [np.concatenate(both) for both in zip(groups, new, strict=True)]
        taken += wanted
        look *= 1 if first else 2
        comparisons = compare_rows(groups, margin=plan.margin)
    return comparisons


def _array(rows: Rows, candidates: int) -> Floats:
    return np.asarray(rows, float).reshape(-1, 1 + candidates)


def _share(rounds: int, places: int) -> int:
    return max(1, -(-rounds // places))


def _decided(found: Comparison, plan: JudgePlan) -> bool:
    """Whether more rounds are unlikely to change the verdict, except to a gain that is not worth them."""
    if found.verdict != "tie":
        return True
    error = math.log(found.interval[1] / found.speedup) / CONFIDENCE_Z
    return math.log(found.speedup) + _HOPE_Z * error < math.log1p(plan.hope)
