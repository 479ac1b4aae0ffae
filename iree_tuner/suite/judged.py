"""Rounds of samples, as what rows tell: medians, intervals, speedups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from iree_tuner.measure.statistics import CONFIDENCE_Z, LEAST_PAIRS, Floats, compare_rows
from iree_tuner.suite.row import Row

Interval = tuple[float, float]


def with_time(row: Row, column: int, launches: Sequence[Floats]) -> Row:
    """A row with its own times.

    Args:
        row: of the back end.
        column: its place in the rounds.
        launches: rounds by back ends, in microseconds, one array for each time that all were loaded.
    """
    samples = np.sort(np.concatenate([rows[:, column] for rows in launches]))
    medians = [float(np.median(rows[:, column])) for rows in launches]
    # Of order statistics, which asks nothing of how samples are distributed; launches may differ as a whole.
    reach = CONFIDENCE_Z * math.sqrt(len(samples)) / 2
    first = max(0, math.floor(len(samples) / 2 - reach))
    last = min(len(samples) - 1, math.ceil(len(samples) / 2 + reach))
    interval = min(float(samples[first]), min(medians)), max(float(samples[last]), max(medians))
    taken = np.concatenate([rows[:, column] for rows in launches])
    return replace(
        row, time_us=float(np.median(samples)), interval_us=interval, samples_us=tuple(taken.tolist())
    )


def with_speedup(row: Row, column: int, default: int, launches: Sequence[Floats]) -> Row:
    """A row with how many times as fast as the default it is, of the same rounds."""
    speedup, interval = beside(column, default, launches)
    return replace(row, speedup=speedup, speedup_interval=interval)


def beside(column: int, other: int, launches: Sequence[Floats]) -> tuple[float, Interval | None]:
    """How many times as fast as another it is; too few rounds have no interval."""
    ratio, interval = _ratio([rows[:, [other, column]] for rows in launches])
    if sum(len(rows) for rows in launches) < LEAST_PAIRS:
        return ratio, None
    return ratio, interval


def _ratio(launches: Sequence[Floats]) -> tuple[float, Interval]:
    (found,) = compare_rows(launches)
    return found.speedup, found.interval
