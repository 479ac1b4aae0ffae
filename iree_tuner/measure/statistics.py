"""Verdicts from paired samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Verdict = Literal["win", "lose", "tie"]

_RESAMPLES = 2000
_CONFIDENCE = 0.95


Pairs = tuple[Sequence[float], Sequence[float]]
"""Samples of the default and of the other, taken in turns; in microseconds."""


@dataclass(frozen=True)
class Comparison:
    """One executable against the default, from paired samples in one or more groups.

    A group is one place of the code in memory (see `build.placement`), or the only one.

    Attributes:
        default_us: median time of the default over all groups, in microseconds.
        candidate_us: median time of the other.
        speedup: geometric mean over the groups of the median of default / candidate.
        interval: 95 % bootstrap interval of the speedup, within these groups.
        floor_speedup: the same mean of the ratios of least times, which nothing disturbed.
        by_group: each group's own median ratio.
        verdict: `win` or `lose` when the interval is wholly beyond `margin` from 1, and the least times
            say the same; else `tie`.
        pairs: how many pairs there were, over all groups.
    """

    default_us: float
    candidate_us: float
    speedup: float
    interval: tuple[float, float]
    floor_speedup: float
    by_group: tuple[float, ...]
    verdict: Verdict
    pairs: int


def compare_pairs(groups: Sequence[Pairs], *, margin: float = 0.01, seed: int = 0) -> Comparison:
    """Judge paired samples. `margin` is the relative difference that is worth a change.

    Pairs are taken a moment apart, so that what disturbs the machine disturbs both; the ratio within a pair
    is what is judged, by its median. A machine that is disturbed in long waves makes neighbouring pairs
    alike and the interval too narrow, which is why the least times have to agree.

    Raises:
        ValueError: no groups, an empty one, or one whose samples are not pairs.
    """
    if not groups or any(len(first) != len(second) or not len(first) for first, second in groups):
        raise ValueError("samples must come in pairs, and there must be some")
    arrays = [(np.asarray(first, float), np.asarray(second, float)) for first, second in groups]
    ratios = [default / candidate for default, candidate in arrays]
    rng = np.random.default_rng(seed)
    logs = np.zeros(_RESAMPLES)
    for group in ratios:
        picks = rng.integers(0, len(group), (_RESAMPLES, len(group)))
        logs += np.log(np.median(group[picks], axis=1)) / len(ratios)
    tail = (1.0 - _CONFIDENCE) / 2.0
    low, high = (float(v) for v in np.exp(np.quantile(logs, (tail, 1.0 - tail))))
    floor = _geometric_mean([float(default.min() / candidate.min()) for default, candidate in arrays])
    by_group = tuple(float(np.median(group)) for group in ratios)
    return Comparison(
        default_us=float(np.median(np.concatenate([default for default, _ in arrays]))),
        candidate_us=float(np.median(np.concatenate([candidate for _, candidate in arrays]))),
        speedup=_geometric_mean(by_group),
        interval=(low, high),
        floor_speedup=floor,
        by_group=by_group,
        verdict=_verdict(low, high, floor, margin),
        pairs=sum(len(group) for group in ratios),
    )


def _verdict(low: float, high: float, floor: float, margin: float) -> Verdict:
    if low > 1.0 + margin and floor > 1.0 + margin:
        return "win"
    if high < 1.0 / (1.0 + margin) and floor < 1.0 / (1.0 + margin):
        return "lose"
    return "tie"


def _geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))
