"""Rounds of samples, as what rows tell: medians, intervals, speedups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from iree_tuner.measure.statistics import LEAST_PAIRS, Floats, compare_rows
from iree_tuner.suite.row import Row

Interval = tuple[float, float]


def with_time(row: Row, column: int, launches: Sequence[Floats]) -> Row:
    """A row with its own times.

    Args:
        row: of the back end.
        column: its place in the rounds.
        launches: rounds by back ends, in microseconds, one array for each time that all were loaded.
    """
    samples = np.concatenate([rows[:, column] for rows in launches])
    median = float(np.median(samples))
    center, interval = _ratio([_ones(rows[:, column]) for rows in launches])
    # The interval is of the samples' center, which is near their median, not at it.
    scale = median / center if center else 1.0
    low, high = interval[0] * scale, interval[1] * scale
    return replace(row, time_us=median, interval_us=(low, high), samples_us=tuple(samples.tolist()))


def with_speedup(row: Row, column: int, default: int, launches: Sequence[Floats]) -> Row:
    """A row with how many times as fast as the default it is, of the same rounds."""
    speedup, interval = beside(column, default, launches)
    return replace(row, speedup=speedup, speedup_interval=interval)


def beside(column: int, other: int, launches: Sequence[Floats]) -> tuple[float, Interval]:
    """How many times as fast as another it is; too few rounds have an interval that says nothing."""
    ratio, interval = _ratio([rows[:, [other, column]] for rows in launches])
    if sum(len(rows) for rows in launches) < LEAST_PAIRS:
        interval = (0.0, float("inf"))
    return ratio, interval


def _ones(samples: Floats) -> Floats:
    """Samples beside a candidate that always takes a microsecond: the ratio is their time."""
    return np.stack([samples, np.ones_like(samples)], axis=1)


def _ratio(launches: Sequence[Floats]) -> tuple[float, Interval]:
    (found,) = compare_rows(launches)
    return found.speedup, found.interval
