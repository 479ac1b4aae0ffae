"""How far right versions of a program may be apart, and what a comparison says then."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iree_tuner.device.data import step_for, stepped
from iree_tuner.device.numerics import disturbed, partial_sums
from iree_tuner.device.slack import (
    LARGEST,
    TYPICAL,
    ErrorDepth,
    Spread,
    agreement_of,
    arbitrated,
    by_nudges,
    by_widened,
    deviations,
    mlir_name,
    nudged,
    of_any_seed,
    stands_for,
)
from iree_tuner.ops.tolerance import Tolerance

RIGHT = np.linspace(1.0, 2.0, 64, dtype=np.float16)
NUMBERLESS = np.full_like(RIGHT, np.nan)
OURS = RIGHT + np.float16(0.02)
NONE = Spread()


def results_of(*arrays):
    return [[np.asarray(each, np.float32) for each in arrays]]


@pytest.mark.parametrize(("moves", "right"), [(0.05, True), (0.001, False)])
def test_the_processor_says_how_far_results_may_be_off(moves: float, right: bool) -> None:
    """What is not a number does not move, which would leave nothing but the last rounding."""
    spreads = by_nudges(ErrorDepth(dispatches=50), [NUMBERLESS], [NUMBERLESS])
    assert spreads == [NONE]
    found = agreement_of([[OURS]], [[NUMBERLESS]], [spreads])
    assert not found.ok
    known = [Spread(moves, moves)]
    decided = arbitrated(found, [[OURS]], [[NUMBERLESS]], [spreads], lambda _: ([RIGHT], known))
    assert decided.ok == right
    assert decided.note.startswith("by default, the program computes wrong results" if right else "")


def test_what_moves_when_inputs_do_may_be_missed_by_as_much() -> None:
    own = results_of([1.0, 2.0, 4.0])
    (spread,) = by_nudges(ErrorDepth(100, 4), own[0], results_of([1.0, 2.0, 4.0001])[0])
    growth = 1.5 * math.sqrt(4) * math.sqrt(100)
    assert spread.largest == pytest.approx(growth * (1 + 4 / 3) * 1e-4, rel=1e-2)
    assert agreement_of(results_of([1.0, 2.0, 4.01]), own, [[spread]]).ok
    found = agreement_of(results_of([1.0, 2.0, 4.1]), own, [[spread]])
    assert found.message.startswith("seed 0, result 0: at [2]: ")


def test_without_floats_among_the_inputs_long_sums_may_differ() -> None:
    own = results_of([1.0, 2.0])
    (spread,) = by_nudges(ErrorDepth(10_000, 4), own[0], own[0])
    assert spread.largest == pytest.approx(2.0 * (1 + 4 / 2) * 200 * 2**-23)


def test_the_widened_program_says_how_far_the_default_is_off() -> None:
    rng = np.random.default_rng(0)
    exact = rng.standard_normal(4096).astype(np.float32)
    default = exact.astype(np.float16)
    (spread,) = by_widened([([default], [exact])])
    off = np.abs(default.astype(np.float64) - exact)
    assert spread.typical == pytest.approx(math.sqrt(np.mean(off**2)), rel=0.01)
    assert spread.largest == pytest.approx(off.max(), rel=0.01)


def test_independent_roundings_add_up_as_squares() -> None:
    both = Spread(3e-4, 4e-4).and_also(Spread(4e-4, 3e-4, 0.5))
    assert both == Spread(pytest.approx(5e-4), pytest.approx(5e-4), 0.5)


def test_a_widened_program_without_numbers_says_nothing() -> None:
    own = [np.ones(4, np.float16)]
    assert stands_for([np.ones(4, np.float32)], own)
    assert not stands_for([np.full(4, np.nan, np.float32)], own)
    assert not stands_for([np.ones(3, np.float32)], own)
    assert stands_for([np.ones(4, np.float32)], [np.full(4, np.inf, np.float16)]), (
        "f16 overflows, f32 does not"
    )


def test_one_value_is_not_believed_to_be_as_exact_as_it_seems() -> None:
    one = Spread.between([(np.asarray(2.0, np.float32), np.asarray(2.001, np.float32))])
    many = Spread.between([(np.full(4000, 2.0, np.float32), np.full(4000, 2.001, np.float32))])
    assert one.typical == pytest.approx(5 * many.typical, rel=0.01)


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_a_small_shift_of_all_values_is_found_where_outliers_are_wide(kind: type) -> None:
    """Its largest difference is far below that of right versions; the root of the mean square is not."""
    rng = np.random.default_rng(1)
    exact = rng.standard_normal(20_000)
    noise = 0.01 * rng.standard_normal(exact.size)
    noise[::500] *= 100
    default, right = (exact + noise).astype(kind), (exact - noise).astype(kind)
    spread = Spread.between([(default, exact.astype(np.float32))])
    assert agreement_of([[right]], [[default]], [[spread]]).ok
    shifted = (exact - noise + 3.0 * TYPICAL * spread.typical).astype(kind)
    found = agreement_of([[shifted]], [[default]], [[spread]])
    assert "root mean square" in found.message
    assert np.max(np.abs(shifted.astype(np.float64) - default.astype(np.float64))) < LARGEST * spread.largest


def test_one_value_may_move_by_little_by_chance() -> None:
    moves = [[Spread(1e-9, 1e-9)], [Spread(0.02, 0.02)]]
    assert of_any_seed(moves, [*results_of(3.0), *results_of(1.0)]) == [[Spread(0.06, 0.06)], moves[1]]
    many = [*results_of(np.ones(64)), *results_of(np.ones(64))]
    assert of_any_seed(moves, many) == moves


def test_a_comparison_is_loose_only_if_no_seed_says_more() -> None:
    tight, loose, values = Spread(0.001, 0.002), Spread(0.4, 2.0), results_of([-1.0, 0.1, 1.0])[0]
    assert not agreement_of([values] * 2, [values] * 2, [[loose], [tight]]).loose
    found = agreement_of([values] * 2, [values] * 2, [[loose], [loose]])
    assert found.loose
    assert found.note.startswith("comparing result 0 is unreliable: rounding moves it by 1.2, and its ")


@pytest.mark.parametrize("kind", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_eight_bits_are_not_loose(kind) -> None:
    """Their epsilon is an eighth or a quarter; right versions have nearly always the same values."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((16, 16)).astype(kind)
    assert np.array_equal(nudged(values, rng), values)
    deviation = deviations(values, np.zeros(values.shape), mlir_name(values.dtype), Tolerance(), narrow=True)
    moved = disturbed(values, deviation, rng)
    assert np.count_nonzero(moved != values) < 8
    for again in (moved, values):  # as dispatches move it, and as nudged inputs do
        (spread,) = by_nudges(ErrorDepth(), [values], [again])
        found = agreement_of([[moved]], [[values]], [[spread]])
        assert found.ok
        assert not found.loose


def test_nothing_but_nan_is_nothing_compared() -> None:
    own = results_of([math.nan, math.nan])
    assert agreement_of(own, own, [[NONE]]).note.startswith("nothing was compared: all results are NaN")


def test_integers_are_not_rounded() -> None:
    """Unless the floats that they come from are: as many as those of the widened program may differ."""
    own = [np.arange(100, dtype=np.int32)]
    other = [own[0].copy()]
    other[0][3] += 1
    (none,) = by_nudges(ErrorDepth(1000, 1000), own, own)
    assert none == NONE
    assert agreement_of([own], [own], [[none]]).note == ""
    assert not agreement_of([other], [own], [[none]]).ok
    (some,) = by_widened([(own, other)])
    assert agreement_of([other], [own], [[some]]).ok
    assert not agreement_of([[own[0] + 1]], [own], [[some]]).ok


@pytest.mark.parametrize("limit", [lambda x: x, np.tanh, np.sin, lambda x: 0.5 + 0.5 * np.tanh(x / 2)])
@pytest.mark.parametrize("outliers", [False, True])
def test_sums_are_measured_behind_what_limits_them(limit, outliers) -> None:
    """Any two orders of a sum differ by less than the tolerance, and by more than a thousandth of it."""
    rng, length = np.random.default_rng(2), 512
    left, right = rng.standard_normal((64, length)) * 0.5, rng.standard_normal((length, 64)) * 0.5
    if outliers:
        left[rng.random(left.shape) < 1 / 256] *= 45
    left, right = left.astype(np.float32), right.astype(np.float32)

    def ordered(order):
        sums = np.zeros((64, 64), np.float32)
        for k in order:
            sums += np.outer(left[:, k], right[k])
        return limit(sums)

    own, other = ordered(range(length)), ordered(range(length - 1, -1, -1))
    step = step_for(["f32"])
    moved = limit(stepped(left, np.random.default_rng(3), step) @ right)
    sums = partial_sums(own, moved, step)
    apart = np.abs(own.astype(np.float64) - other)
    assert (apart <= 3 * math.sqrt(length) * 2**-23 * sums + 1e-6).all()
    deviation = deviations(own, sums, "f32", Tolerance("f32", length), narrow=True)
    assert 0.1 < math.sqrt(np.mean(apart**2)) / math.sqrt(np.mean(deviation**2)) < 2.0


@given(st.integers(1, 200), st.sampled_from([np.float32, np.complex64, ml_dtypes.bfloat16]), st.booleans())
def test_spreads_are_of_finite_values_and_of_any_shape(count, kind, flat):
    rng = np.random.default_rng(count)
    a = rng.standard_normal(count).astype(kind)
    b = (a.astype(np.complex128 if a.dtype.kind == "c" else np.float64) + 0.25).astype(kind)
    b[count // 2] = np.nan
    if count == 1 and flat:
        a, b = a.reshape(()), b.reshape(())
    found = Spread.between([(a, b)])
    assert found.largest <= 0.27 * (1 + 4 / count)
    assert (found.largest > 0) == (count > 1)
    assert agreement_of([[a]], [[a]], [[found]]).ok


@pytest.mark.parametrize("limit", [lambda x: x, np.sin])
def test_sums_of_one_sign_are_as_large_as_they_grow(limit) -> None:
    rng, length, step = np.random.default_rng(4), 2048, step_for(["f32"])
    left, right = (rng.uniform(0.1, 1.0, shape).astype(np.float32) for shape in ((16, length), (length, 16)))
    total = left.astype(np.float64) @ right
    moved = limit(stepped(left, rng, step).astype(np.float64) @ right)
    measured = partial_sums(limit(total), moved, step, length)
    typical = math.sqrt(np.mean(measured**2)) / (1.0 if limit is not np.sin else math.sqrt(0.5))
    assert 0.8 < typical / (math.sqrt(2) * total.mean()) < 1.6


def test_a_result_is_one_of_its_partial_sums() -> None:
    """Addends of one sign move it by less than they make of it."""
    own, tolerance = np.full(8, 1000.0, np.float32), Tolerance("f32", 4096)
    found = deviations(own, np.full(8, 10.0), "f32", tolerance, narrow=True)
    assert found == pytest.approx(0.2 * 64 * 2**-23 * 1000, rel=0.05)


@pytest.mark.parametrize("kind", ["positive", "signed"])
@pytest.mark.parametrize("length", [64, 1024, 8192])
def test_other_orders_of_a_sum_are_right(kind, length) -> None:
    """By the spread that moving a dispatch's results gives, also where sums are long and only grow."""
    rng = np.random.default_rng(length)
    draw = (lambda shape: rng.uniform(0.1, 1, shape)) if kind == "positive" else rng.standard_normal
    left, right = (draw((64, length)).astype(np.float32) for _ in range(2))
    products = left * right
    default = np.add.accumulate(products, axis=1)[:, -1]
    lanes = np.add.accumulate(products.reshape(64, -1, 16), axis=1)[:, -1].sum(axis=1)
    backwards = np.add.accumulate(products[:, ::-1], axis=1)[:, -1]
    step = step_for(["f32"])
    alike = length if kind == "positive" else 1
    moved = np.sum(stepped(left, rng, step).astype(np.float64) * right, axis=1)
    sums = partial_sums(default, moved, step, alike)
    off = deviations(default, sums, "f32", Tolerance("f32", length), narrow=True)
    spread = Spread.between([(default, disturbed(default, off, rng))])
    for other in (lanes, backwards):
        assert agreement_of([[other]], [[default]], [[spread]]).ok
    missing = default - products[:, length // 2]
    assert not agreement_of([[missing]], [[default]], [[spread]]).ok
