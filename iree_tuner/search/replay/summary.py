"""Summaries of many runs: medians over seeds, and over recordings."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from iree_tuner.search.replay.run import Run

WITHIN = (0.02, 0.10)
"""How near to the best one counts evaluations to."""

SHOWN_AFTER = 16
"""Evaluations after which one asks how much of the best was reached."""


@dataclass(frozen=True)
class ReplaySummary:
    """The runs of one strategy on one recording.

    Attributes:
        recording: its name.
        strategy: its name.
        seeds: how many runs.
        members: of the recording.
        evaluations: for each of `WITHIN`, the median of the evaluations until the best so far was that near;
            infinite where half of the runs never came there.
        share: median of the part of the best one's speed that was reached after `SHOWN_AFTER` evaluations.
    """

    recording: str
    strategy: str
    seeds: int
    members: int
    evaluations: tuple[float, ...]
    share: float


@dataclass(frozen=True)
class Overall:
    """A strategy on all recordings; each counts the same.

    Attributes:
        strategy: its name.
        recordings: how many.
        evaluations: medians of the recordings' medians.
        share: likewise.
        near: part of the recordings whose median run was within the last of `WITHIN` after `SHOWN_AFTER`.
    """

    strategy: str
    recordings: int
    evaluations: tuple[float, ...]
    share: float
    near: float


def summarize(recording: str, runs: Sequence[Run]) -> ReplaySummary:
    """Runs of one strategy on one recording, at least one."""
    evaluations = tuple(median_to(runs, within) for within in WITHIN)
    share = statistics.median(run.share_after(SHOWN_AFTER) for run in runs)
    return ReplaySummary(recording, runs[0].strategy, len(runs), runs[0].size, evaluations, share)


def overall(summaries: Sequence[ReplaySummary]) -> Overall:
    """Summaries of one strategy on several recordings, at least one."""
    columns = zip(*(each.evaluations for each in summaries), strict=True)
    near = sum(each.evaluations[-1] <= SHOWN_AFTER for each in summaries) / len(summaries)
    return Overall(
        summaries[0].strategy,
        len(summaries),
        tuple(statistics.median(column) for column in columns),
        statistics.median(each.share for each in summaries),
        near,
    )


def median_to(runs: Sequence[Run], within: float) -> float:
    """Median of the evaluations to that part of the best; a run that never came there counts as infinite."""
    counts = (run.evaluations_to(within) for run in runs)
    return statistics.median(math.inf if count is None else count for count in counts)


def finite(value: float) -> float | None:
    """For JSON, which has no infinity."""
    return value if math.isfinite(value) else None
