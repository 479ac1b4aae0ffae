"""Verdicts from paired samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Verdict = Literal["win", "lose", "tie"]

_RESAMPLES = 2000
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Comparison:
    """One executable against the default, from paired samples.

    Attributes:
        default_us: median time of the default, in microseconds.
        candidate_us: median time of the other.
        speedup: median over the pairs of default / candidate.
        interval: 95 % bootstrap interval of the speedup.
        floor_speedup: the same ratio of the least times; what disturbs a machine only makes runs longer.
        verdict: `win` or `lose` when the interval is wholly beyond `margin` from 1, and the least times
            say the same; else `tie`.
        pairs: how many pairs there were.
    """

    default_us: float
    candidate_us: float
    speedup: float
    interval: tuple[float, float]
    floor_speedup: float
    verdict: Verdict
    pairs: int


def compare_pairs(
    default_us: Sequence[float], candidate_us: Sequence[float], *, margin: float = 0.01, seed: int = 0
) -> Comparison:
    """Judge paired samples. `margin` is the relative difference that is worth a change.

    Pairs are taken a moment apart, so that what disturbs the machine disturbs both; the ratio within a pair
    is what is judged, by its median. A machine that is disturbed in long waves makes neighbouring pairs
    alike and the interval too narrow, which is why the least times have to agree.
    """
    default, candidate = np.asarray(default_us, float), np.asarray(candidate_us, float)
    if len(default) != len(candidate) or len(default) == 0:
        raise ValueError("samples must come in pairs, and there must be some")
    ratios = default / candidate
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, len(ratios), (_RESAMPLES, len(ratios)))
    medians = np.median(ratios[picks], axis=1)
    tail = (1.0 - _CONFIDENCE) / 2.0
    low, high = (float(v) for v in np.quantile(medians, (tail, 1.0 - tail)))
    floor = float(default.min() / candidate.min())
    verdict: Verdict = "tie"
    if low > 1.0 + margin and floor > 1.0 + margin:
        verdict = "win"
    elif high < 1.0 / (1.0 + margin) and floor < 1.0 / (1.0 + margin):
        verdict = "lose"
    return Comparison(
        default_us=float(np.median(default)),
        candidate_us=float(np.median(candidate)),
        speedup=float(np.median(ratios)),
        interval=(low, high),
        floor_speedup=floor,
        verdict=verdict,
        pairs=len(ratios),
    )
