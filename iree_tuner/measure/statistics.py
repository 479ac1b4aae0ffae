"""Verdicts from paired samples, and when a comparison has seen enough of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Verdict = Literal["win", "lose", "tie"]

CONFIDENCE_Z = 2.4
"""Standard errors from the estimate to the end of its interval.

More than the usual 1.96, because disturbed samples give rough errors, and because a comparison is decided
several times. Chosen by simulation (docs/measuring.md).
"""

LEAST_PAIRS = 8
"""Fewer pairs do not show their spread: a tie, unless all of them differ far in one direction."""

FAR, FAR_PAIRS = 3.0, 3
"""A factor, and a number of pairs that do not all differ by it because of noise."""

_MARGIN = 0.01  # the relative difference that is worth a change
_TRIMMED = 0.25  # at each end: the mean of the middle half
_BLOCKS = (1, 5, 10)  # values
_JOINED = (1, 8, 20)  # rounds
_LEAST_BLOCKS = 4  # fewer say little about their spread
_LOW = 0.25  # quantile

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """The comparison of an executable with the default, from paired samples in one or more groups.

    The samples of a group are taken with the code at one address in memory (see `measure.candidate`).
    """

    default_us: float  # the median time of the default over all groups, in microseconds
    candidate_us: float  # the median time of the candidate
    speedup: float  # the geometric mean of `by_group`
    # the confidence interval of the speedup: `CONFIDENCE_Z` standard errors to both sides, which is a nominal
    # level of 98 %
    interval: tuple[float, float]
    # the geometric mean over the groups of the ratios of the lower quartiles, which noise affects less than
    # the medians
    floor_speedup: float
    by_group: tuple[float, ...]  # the ratio default / candidate of each group (see `compare_rows`)
    # `win` or `lose` if the whole interval is farther from 1 than one percent, and the lower quartiles agree.
    # Otherwise `tie`.
    verdict: Verdict
    pairs: int  # the number of pairs in all groups

    @property
    def medians_disagree(self) -> bool:
        """Whether the ratio of the median times lies outside of the speedup's interval."""
        low, high = self.interval
        return not low <= self.default_us / self.candidate_us <= high


def times_of(comparison: Comparison | None) -> str:
    """Format a speedup and its confidence interval for a table. Empty without a comparison."""
    if comparison is None:
        return ""
    low, high = comparison.interval
    return f"{comparison.speedup:.2f}x ({low:.2f} to {high:.2f})"


def speedup_of(comparison: Comparison) -> str:
    """Format a speedup and its confidence interval for a sentence."""
    low, high = comparison.interval
    return f"{comparison.speedup:.2f}x (98% CI {low:.2f} to {high:.2f})"


MEDIANS = "the times are medians: other load changed them more than the speedup, which is of pairs"
"""A note for comparisons whose medians disagree with the speedup."""


def comparison_facts(found: Comparison | None) -> dict[str, Any]:
    """A comparison as JSON and records have it. Empty without a comparison."""
    if found is None:
        return {}
    return {
        "speedup": found.speedup, "interval": found.interval, "verdict": found.verdict,
        "default_us": found.default_us, "time_us": found.candidate_us, "pairs": found.pairs,
    }  # fmt: skip


_LOOKS_SLOWER = 0.95
"""Equal versions tie slightly below 1 as often as above. Farther below, a tie is a loss hidden by noise."""


def over_cases(comparisons: Sequence[Comparison]) -> Comparison:
    """The comparison over several cases, such as sizes of a program, by geometric means.

    If one loses, or ties and looks slower, the slowest such case is returned. Otherwise it wins if one wins.
    """
    slower = [each for each in comparisons if each.verdict != "win" and each.speedup < _LOOKS_SLOWER]
    slower = [each for each in comparisons if each.verdict == "lose"] or slower
    if slower or len(comparisons) == 1:
        return min(slower or comparisons, key=lambda each: each.speedup)
    lows, highs = zip(*(each.interval for each in comparisons), strict=True)
    return Comparison(
        geometric_mean([each.default_us for each in comparisons]),
        geometric_mean([each.candidate_us for each in comparisons]),
        geometric_mean([each.speedup for each in comparisons]),
        (geometric_mean(lows), geometric_mean(highs)),
        geometric_mean([each.floor_speedup for each in comparisons]),
        tuple(ratio for each in comparisons for ratio in each.by_group),
        "win" if any(each.verdict == "win" for each in comparisons) else "tie",
        sum(each.pairs for each in comparisons),
    )


def compare_rows(groups: Sequence[Floats]) -> list[Comparison]:
    """Judge several candidates that took turns with one default.

    Pairs are taken a moment apart, so that disturbances affect both samples. The ratio within a pair is
    judged, by the mean of the middle half of its logarithms, which spikes do not change.

    Where times are long or short at random (another tenant's load, modes), the lower quartiles of several
    rounds are more precise than single pairs; they are paired and averaged likewise. The estimate with the
    smallest error is used.

    Its standard error is the largest of several. Long disturbances, and modes of an executable that last for
    a while, make neighboring pairs alike, so that errors are also estimated from blocks of pairs. A mode that
    lasts as long as the executable stays loaded shows only in the differences between groups, because each
    group loads its own.

    Args:
        groups: for each group an array of rounds by (default, candidates), in microseconds.
    """
    shortest = min(len(rows) for rows in groups)  # enough values must be left in each group
    lengths = [length for length in _JOINED if length == 1 or shortest // length >= _LEAST_BLOCKS]
    estimates = [_estimate(groups, length) for length in lengths]
    errors = np.stack([error for _, error in estimates])
    surest = errors.argmin(axis=0)
    every = np.arange(len(surest))
    errors = errors[surest, every]
    centers = np.stack([center for center, _ in estimates])[surest, :, every].T
    speedups = centers.mean(axis=0)
    lows, highs = np.exp(speedups - CONFIDENCE_Z * errors), np.exp(speedups + CONFIDENCE_Z * errors)
    # Each is a sample, not a value between two.
    lower = [np.sort(rows, axis=0)[int(_LOW * (len(rows) - 1))] for rows in groups]
    quartiles = np.log(np.stack(lower))
    floors = np.exp((quartiles[:, :1] - quartiles[:, 1:]).mean(axis=0))
    medians = np.median(np.concatenate(groups), axis=0)
    pairs = sum(len(rows) for rows in groups)
    return [
        Comparison(
            default_us=float(medians[0]),
            candidate_us=float(medians[1 + index]),
            speedup=float(np.exp(speedups[index])),
            interval=(float(lows[index]), float(highs[index])),
            floor_speedup=float(floors[index]),
            by_group=tuple(np.exp(centers[:, index]).tolist()),
            verdict=_verdict(float(lows[index]), float(highs[index]), float(floors[index]))
            if pairs >= LEAST_PAIRS
            else _far_verdict(groups, index, pairs),
            pairs=pairs,
        )
        for index in range(len(speedups))
    ]


def center_of(samples_us: Sequence[float]) -> tuple[float, float]:
    """Mean of the middle half of the logarithms of one executable's samples, and its standard error.

    As in `compare_rows`, the error is the largest one of single samples and blocks of them; it does not
    include effects that last longer than the samples took. Raises ValueError for no samples, or one that is
    not above 0.
    """
    found = np.asarray(samples_us, float)
    if not found.size or not (found > 0).all():
        raise ValueError("samples must be above 0, and there must be some")
    centers, variances = _centers(np.log(found)[None, :, None])
    return float(centers[0, 0]), float(np.sqrt(variances.max()))


def _estimate(groups: Sequence[Floats], length: int) -> tuple[Floats, Floats]:
    """Centers of the groups by candidates, and the standard error of each candidate's mean of them."""
    alike = all(len(rows) == len(groups[0]) for rows in groups)
    stacks = [np.stack(groups)] if alike else [rows[None] for rows in groups]
    found = [_centers(_joined(stack, length)) for stack in stacks]
    centers = np.concatenate([center for center, _ in found])
    count = len(centers)
    within = np.concatenate([variances for _, variances in found], axis=1)
    variance = (within.sum(axis=1) / count**2).max(axis=0)
    if count > 1:
        variance = np.maximum(variance, centers.var(axis=0, ddof=1) / count)
    return centers, np.sqrt(variance)


def _joined(stack: Floats, length: int) -> Floats:
    """Logarithms of default / candidate, of the lower quartiles of `length` rounds each.

    `stack` is groups by rounds by (default, candidates); remaining rounds at the end are not used.
    """
    low = stack
    if length > 1:
        count = stack.shape[1] // length
        blocks = stack[:, : count * length].reshape(len(stack), count, length, -1)
        low = np.partition(blocks, int(_LOW * (length - 1)), axis=2)[:, :, int(_LOW * (length - 1))]
    logs = np.log(low)
    return logs[:, :, :1] - logs[:, :, 1:]


def _centers(logs: Floats) -> tuple[Floats, Floats]:
    """Centers of values (groups by values by candidates), and their variances by each block length.

    A variance is 0 if there are too few values for it.
    """
    groups, count, candidates = logs.shape
    cut = int(_TRIMMED * count)
    ordered = np.sort(logs, axis=1)
    middle = ordered[:, cut : count - cut]
    # The trimmed mean moves with a sample as the mean of clipped samples does, except for the factor.
    pulls = np.clip(logs, middle[:, :1], middle[:, -1:])
    pulls = (pulls - pulls.mean(axis=1, keepdims=True)) * (count / middle.shape[1])
    variances = np.zeros((len(_BLOCKS), groups, candidates))
    for index, length in enumerate(_BLOCKS):
        blocks = count // length
        if count < 2 or (length > 1 and blocks < _LEAST_BLOCKS):
            continue
        used = pulls[:, : blocks * length]
        means = used.reshape(groups, blocks, length, candidates).mean(axis=2) if length > 1 else used
        variances[index] = (means * means).sum(axis=1) / (blocks * (blocks - 1)) * (blocks * length / count)
    return middle.mean(axis=1), variances


def _far_verdict(groups: Sequence[Floats], candidate: int, pairs: int) -> Verdict:
    ratios = np.concatenate([rows[:, 0] / rows[:, 1 + candidate] for rows in groups])
    if pairs < FAR_PAIRS or (ratios.min() < FAR and ratios.max() > 1.0 / FAR):
        return "tie"
    return "win" if ratios.min() >= FAR else "lose"


def _verdict(low: float, high: float, floor: float) -> Verdict:
    if low > 1.0 + _MARGIN and floor > 1.0:
        return "win"
    if high < 1.0 / (1.0 + _MARGIN) and floor < 1.0:
        return "lose"
    return "tie"


# Rounds are asked for in installments, until all candidates are decided.


Rows = Sequence[Sequence[float]]
"""Rounds of samples: the default's, then one of each candidate."""

Take = Callable[[int], Sequence[Rows]]
"""Takes a number of further rounds at each place of the code; returns the new rows of each place."""

_HOPE_Z = 3.0
_LONG_S = 0.25  # a round
_FIRST = 64  # pairs before the first decision; it is repeated at twice as many, and so on


@dataclass(frozen=True)
class JudgePlan:
    """How a comparison is made."""

    rounds: int  # the most pairs for each candidate, over all places
    # time limit; the pace of the rounds so far decides how many fit. `LEAST_PAIRS` are taken in any case, or
    # `FAR_PAIRS` if rounds are long and these decide about the fastest candidate.
    seconds: float = 120.0
    hope: float = 0.03  # a gain that is not given up while it is possible; smaller ones may be
    fixed: bool = False  # all rounds are taken at each place, whatever they show


def judge(
    take: Take, candidates: int, plan: JudgePlan, clock: Callable[[], float] = time.monotonic,
    *, rival: int | None = None,
) -> list[Comparison]:  # fmt: skip
    """Compare each candidate with the default, until all are decided or the plan's limits are reached.

    With a `rival`, the index of a candidate, comparisons of all candidates with it follow, in their order.

    Deciding repeatedly finds chance gains; `CONFIDENCE_Z` is high enough for all decisions together. Giving
    up only ends in ties.
    """
    if plan.fixed:
        groups = [_array(rows, candidates) for rows in take(plan.rounds)]
        return _compared(groups, rival)
    end = clock() + plan.seconds
    start = clock()
    groups = [_array(rows, candidates) for rows in take(1)]  # which shows how many places there are
    each_s = clock() - start
    taken, places, look = 1, len(groups), _FIRST
    comparisons = _compared(groups, rival)
    long = each_s > _LONG_S and any(max(each.speedup, 1.0 / each.speedup) > FAR for each in comparisons)
    while taken == 1 or not all(_decided(each, plan) for each in comparisons):
        first = taken == 1 and long
        wanted = _share(FAR_PAIRS if first else min(look, plan.rounds), places) - taken
        if each_s > 0:
            fastest = max(comparisons[:candidates], key=lambda each: each.speedup)
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
        comparisons = _compared(groups, rival)
    return comparisons


def _compared(groups: Sequence[Floats], rival: int | None) -> list[Comparison]:
    found = compare_rows(groups)
    if rival is None:
        return found
    columns = [1 + rival, *range(1, 1 + len(found))]
    return [*found, *compare_rows([rows[:, columns] for rows in groups])]


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
