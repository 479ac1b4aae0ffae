"""Medians, intervals and speedups of rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from iree_tuner.suite.device_run import beside, judged, with_time
from iree_tuner.suite.results import Row

ROW = Row("matmul", "matmul", {}, "iree")


def rounds(seed: int, count: int, *times_us: float) -> np.ndarray:
    """Samples that spread by 2 %, each round disturbed as a whole by 10 %."""
    rng = np.random.default_rng(seed)
    shared = rng.lognormal(0, 0.1, (count, 1))
    return np.asarray(times_us) * shared * rng.lognormal(0, 0.02, (count, len(times_us)))


def test_a_time_is_the_median_with_an_interval_around_it() -> None:
    row = with_time(ROW, 1, [rounds(0, 48, 100.0, 50.0)])
    assert row.time_us == pytest.approx(50, rel=0.1)
    assert row.interval_us is not None
    low, high = row.interval_us
    assert low < row.time_us < high
    assert len(row.samples_us) == 48


def test_intervals_hold_the_center_in_most_runs() -> None:
    held = 0
    for seed in range(100):
        row = with_time(ROW, 0, [rounds(seed, 40, 100.0)])
        assert row.interval_us is not None
        held += row.interval_us[0] <= 100.0 <= row.interval_us[1]
    assert held >= 90


def test_what_disturbs_a_round_does_not_disturb_a_speedup() -> None:
    launches = [rounds(seed, 16, 100.0, 50.0) for seed in range(3)]
    rows = [replace(ROW, configuration="default"), replace(ROW, backend="numpy")]
    _, row = judged(rows, [{0: each[:, 0], 1: each[:, 1]} for each in launches])
    assert row.speedup == pytest.approx(2.0, rel=0.02)
    assert row.speedup_interval is not None
    assert row.speedup_interval[1] - row.speedup_interval[0] < 0.15


def test_few_rounds_prove_nothing() -> None:
    ratio, interval = beside(1, 0, [rounds(0, 3, 100.0, 50.0)])
    assert ratio == pytest.approx(2.0, rel=0.1)
    assert interval is None
