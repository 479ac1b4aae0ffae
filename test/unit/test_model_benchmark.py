"""benchmarks/models.py without running anything, and the weights of examples/models."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import contenders
import model_tables
from model_tables import DEFAULT, TUNED, Row

from examples.models import CPU_MODELS
from examples.models.weights import Weights

ROOT = Path(__file__).resolve().parents[2]
NAMES = [DEFAULT, TUNED, "other", "broken"]


@pytest.fixture(scope="module")
def models():
    """benchmarks/models.py, whose name is also that of a folder of examples."""
    spec = importlib.util.spec_from_file_location("benchmark_of_models", ROOT / "benchmarks" / "models.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def launches(*centers, count=3, rounds=10):
    """Samples around these microseconds; NaN where there is none."""
    rng = np.random.default_rng(0)
    return [np.array(centers) * rng.uniform(0.99, 1.01, (rounds, len(centers))) for _ in range(count)]


def test_ratios_are_against_the_default_and_against_the_tuned_program(models) -> None:
    times = launches(3000.0, 2000.0, 1000.0, np.nan)
    rows = models.judged("unet", NAMES, times, dict.fromkeys(NAMES, 1e-6), {"broken": "died"})
    default, tuned, other, broken = rows
    assert default.ms == pytest.approx(3.0, rel=0.02)
    assert default.speedup is None
    assert tuned.speedup == pytest.approx(1.5, rel=0.02)
    assert tuned.interval[0] < tuned.speedup < tuned.interval[1]
    assert tuned.against_tuned is None
    assert other.speedup == pytest.approx(3.0, rel=0.02)
    assert other.against_tuned == pytest.approx(2.0, rel=0.02)
    assert broken == Row("unet", "broken", error=1e-6, problem="died")


def test_what_failed_in_a_later_launch_spoils_no_other_ratio(models) -> None:
    times = launches(3000.0, 2000.0, 1000.0, 4000.0)
    times[2][:, 3] = np.nan
    rows = models.judged("unet", NAMES, times, {}, {"broken": "died"})
    assert rows[3].problem == "died"
    assert rows[1].speedup == pytest.approx(1.5, rel=0.02)


def test_without_a_default_there_are_times_and_no_ratios(models) -> None:
    rows = models.judged("unet", [DEFAULT, "other"], launches(np.nan, 1000.0), {}, {DEFAULT: "died"})
    assert rows[1].ms == pytest.approx(1.0, rel=0.02)
    assert rows[1].speedup is None


def test_the_summary_has_the_geometric_mean_and_the_fastest_other() -> None:
    rows = [
        Row("unet", DEFAULT, 8.0, error=0.0),
        Row("unet", TUNED, 2.0, 4.0, (3.9, 4.1), error=0.0),
        Row("unet", "slow", 9.0, 0.9, (0.8, 1.0), 0.2, (0.1, 0.3), 0.0),
        Row("unet", "fast", 4.0, 2.0, (1.9, 2.1), 0.5, (0.4, 0.6), 0.0),
        Row("encoder", TUNED, 1.0, 1.0, (0.9, 1.1), error=0.0),
        Row("encoder", "fast", error=1.0, problem="differs from PyTorch by 1"),
    ]
    text = model_tables.summary(rows)
    assert "fast: 0.50 (0.40 to 0.60) times as fast as tuned |" in text
    assert text.endswith("Geometric mean of the 2 speedups: 2.00")
    assert "| fast | differs from PyTorch by 1 | | | |" in model_tables.table("encoder", rows[-1:])


@pytest.mark.parametrize("found", [[np.full(2, np.nan)], [np.ones(3)], [], [np.full(2, np.inf)]])
def test_results_that_cannot_be_compared_are_wrong(found) -> None:
    assert contenders._error(found, [np.ones(2)]) == float("inf")


def test_a_later_result_that_is_no_number_is_wrong_too() -> None:
    found, expected = [np.ones(2), np.array([1.0, np.nan])], [np.ones(2), np.ones(2)]
    assert contenders._error(found, expected) == float("inf")


def test_the_error_is_relative_to_the_largest_result() -> None:
    assert contenders._error([np.array([1.0, 10.5])], [np.array([1.0, 10.0])]) == pytest.approx(0.05)


def test_weights_do_not_depend_on_the_order_they_are_drawn_in() -> None:
    first, second = Weights("a"), Weights("a")
    first.linear("x", 4, 3)
    first.norm("y", 4)
    second.norm("y", 4)
    second.linear("x", 4, 3)
    assert all(np.array_equal(first[name].draw(), second[name].draw()) for name in first)
    other = Weights("b")
    other.linear("x", 4, 3)
    assert not np.array_equal(first["x_kernel"].draw(), other["x_kernel"].draw())


@pytest.mark.parametrize("name", CPU_MODELS)
def test_models_have_unique_names_and_the_same_inputs_each_time(name) -> None:
    model = CPU_MODELS[name]
    assert model.name == name
    assert all(np.array_equal(*pair) for pair in zip(model.example(), model.example(), strict=True))
