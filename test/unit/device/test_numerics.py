"""The tolerance lets every legal order of a sum pass, and no wrong one; the data that results are made of."""

import math

import ml_dtypes
import numpy as np
import pytest
from amounts import ALL, amount, some
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iree_tuner.check.expected import kept
from iree_tuner.device.data import Image, _drawn, fill, kind_of, magnitudes_of, random_values, values_in
from iree_tuner.device.numerics import compare, epsilon, halting_error, sum_error
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.bindings import Binding, TensorSlice

TYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
SUMS = 64
LENGTHS = {"f32": (16, 512, 4096, 65536), "f16": (16, 512, 65536), "bf16": (16, 256, 65536)}
EVERY = [(kind, k, seed) for kind in TYPES for k in LENGTHS[kind] for seed in (0, 1, 2)]
LEGAL = [case for case in some(EVERY, 3) if ALL or case[1] < 65536 or case[0] == "f16"]


def factors(k, seed, kind="f32"):
    rng = np.random.default_rng(seed)
    return [random_values((SUMS, k), kind, seed, rng).astype(TYPES[kind]) for _ in range(2)]


def in_order(a, b, dtype):
    """One after the other, each product and each sum rounded."""
    total = np.zeros(SUMS, dtype)
    with np.errstate(all="ignore"):
        for i in range(a.shape[1]):
            total = (total + (a[:, i] * b[:, i]).astype(dtype)).astype(dtype)
    return total


def in_blocks(a, b, dtype, lanes=16):
    """As vectorised code: a sum in each lane, then a tree over the lanes."""
    totals = np.zeros((SUMS, lanes), dtype)
    with np.errstate(all="ignore"):
        for i in range(0, a.shape[1], lanes):
            totals = (totals + (a[:, i : i + lanes] * b[:, i : i + lanes]).astype(dtype)).astype(dtype)
        while totals.shape[1] > 1:
            half = totals.shape[1] // 2
            totals = (totals[:, :half] + totals[:, half:]).astype(dtype)
    return totals[:, 0]


def fused(a, b, dtype):
    """The products are not rounded; from the last to the first."""
    total = np.zeros(SUMS, dtype)
    wide = np.float64 if dtype == np.float32 else np.float32
    with np.errstate(all="ignore"):
        for i in reversed(range(a.shape[1])):
            total = (total.astype(wide) + a[:, i].astype(wide) * b[:, i].astype(wide)).astype(dtype)
    return total


def exact(a, b):
    return (a.astype(np.float64) * b.astype(np.float64)).sum(axis=1)


def magnitudes(a, b):
    return exact(np.abs(a), np.abs(b))


@pytest.mark.parametrize(("kind", "k", "seed"), LEGAL)
def test_legal_orders_agree_with_each_other(kind, k, seed):
    dtype = TYPES[kind]
    a, b = factors(k, seed, kind)
    orders = (in_order, in_blocks, fused)
    found = [order(a, b, dtype) for order in orders]
    scales = [order(np.abs(a), np.abs(b), dtype) for order in orders] if seed else found
    for got in found:
        for expected, scale in zip(found, scales, strict=True):
            outcome = compare(got, expected, kind, Tolerance(kind, k), scale)
            assert outcome.ok, outcome.message


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("k", [16, 512, 4096])
def test_legal_orders_agree_with_double_precision(k, seed):
    a, b = factors(k, seed)
    for order in (in_order, in_blocks, fused):
        assert compare(order(a, b, np.float32), exact(a, b), "f32", Tolerance("f32", k), magnitudes(a, b)).ok


@pytest.mark.parametrize("seed", [0, 1])
def test_one_lost_product_of_4096_does_not_agree(seed):
    a, b = factors(4096, seed)
    right = in_blocks(a, b, np.float32)
    lost = a.copy()
    lost[:, 1234] = 0
    found = compare(in_blocks(lost, b, np.float32), right, "f32", Tolerance("f32", 4096), magnitudes(a, b))
    assert not found.ok
    assert found.worst > 2


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("k", [512, 4096])
@pytest.mark.parametrize("result", ["f32", "f16"])
def test_an_accumulator_of_f16_is_not_one_of_f32(k, seed, result):
    a, b = factors(k, seed, "f16")
    right = in_blocks(a.astype(np.float32), b.astype(np.float32), np.float32).astype(TYPES[result])
    wrong = in_order(a, b, np.float16).astype(TYPES[result])
    assert not compare(wrong, right, result, Tolerance("f32", k), magnitudes(a, b)).ok


def test_only_sums_that_grow_come_to_a_halt():
    assert halting_error("f16", 1024) == halting_error("bf16", 128) == halting_error("f32", 1 << 20) == 0
    assert halting_error("f16", 2048) == halting_error("bf16", 256) == 1
    assert sum_error("f32", 1 << 20) < 1e-3


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_long_sums_in_narrow_types_are_still_told_from_others(kind):
    a, b = factors(4096, 1, kind)
    right = in_order(a, b, TYPES[kind])
    other = in_order(a, np.roll(b, 1, axis=0), TYPES[kind])
    assert not compare(other, right, kind, Tolerance(kind, 4096), magnitudes(a, b)).ok


def test_without_magnitudes_the_largest_value_stands_for_them():
    expected = np.array([0.0, 1.0, 1.0, 100.0], np.float32)
    got = expected + np.float32(1e-3)
    assert compare(got, expected, "f32", Tolerance("f32", 4096)).ok
    assert not compare(got, expected, "f32", Tolerance("f32", 4096), np.abs(expected)).ok


def test_integers_must_be_equal():
    assert compare(np.array([1, 2]), np.array([1, 2]), "i32", Tolerance("i32", 8)).ok
    found = compare(np.array([[1, 2], [3, 5]]), np.array([[1, 2], [3, 4]]), "i32", Tolerance("i32", 8))
    assert found.message == "at [1, 1]: got 5, expected 4, tolerance 0; 1 of 4 differ"
    assert found.worst == math.inf


def test_the_message_says_where_and_what():
    expected = np.ones((2, 3), np.float32)
    got = expected.copy()
    got[1, 2] = 1.5
    found = compare(got, expected, "f32", Tolerance("f32", 1))
    assert found.message.startswith("at [1, 2]: got 1.5, expected 1, tolerance ")
    assert found.message.endswith("; 1 of 6 differ")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_found_out(value):
    expected = np.ones(4, np.float32)
    got = expected.copy()
    got[2] = value
    assert compare(got, expected, "f32", Tolerance("f32", 1)).worst == math.inf
    assert compare(expected, got, "f32", Tolerance("f32", 1)).worst == math.inf


def test_the_same_nans_and_infinities_in_the_same_places_agree():
    values = np.array([1.0, math.nan, math.inf, -math.inf], np.float32)
    assert compare(values + np.float32(1e-7), values, "f32", Tolerance("f32", 1)).ok
    assert not compare(-values, values, "f32", Tolerance("f32", 1)).ok


def test_a_sum_may_overflow_in_one_order_only():
    expected = np.array([math.inf, 1.0], np.float16)
    assert compare(np.array([65504, 1.0], np.float16), expected, "f16", Tolerance("f16", 64)).ok
    assert not compare(np.array([1000, 1.0], np.float16), expected, "f16", Tolerance("f16", 64)).ok


def test_both_parts_of_complex_numbers_count():
    expected = np.array([1 + 1j], np.complex64)
    assert compare(expected + np.complex64(1e-7j), expected, "complex<f32>", Tolerance("complex<f32>", 1)).ok
    assert not compare(
        expected + np.complex64(1e-3j), expected, "complex<f32>", Tolerance("complex<f32>", 1)
    ).ok


def test_epsilons():
    assert epsilon("f32") == pytest.approx(2**-23)
    assert epsilon("f16") == pytest.approx(2**-10)
    assert epsilon("bf16") == pytest.approx(2**-7)
    assert epsilon("i32") == 0


@settings(
    max_examples=amount(15, 40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_blocks_of_large_harnesses_are_those_of_the_whole(data, monkeypatch):
    shapes = data.draw(st.lists(st.integers(1, 90), min_size=1, max_size=3))
    kinds = data.draw(st.lists(st.sampled_from(["f32", "f16", "i8"]), min_size=3, max_size=3))
    bindings, place = [], 0
    for size, kind in zip(shapes, kinds, strict=False):
        access = data.draw(st.sampled_from(["read", "write", "read_write"]))
        bindings.append(Binding(place, 4 * size + 64, (TensorSlice(32, (size,), kind, access),)))
        place += 4 * size + 64
    size, seed = place + data.draw(st.integers(0, 65)), data.draw(st.sampled_from([0, 1, 2, -2]))
    monkeypatch.setattr("iree_tuner.device.data.PERIOD", data.draw(st.sampled_from([7, 1000])))
    whole = fill.__wrapped__(tuple(bindings), size, seed)
    monkeypatch.setattr("iree_tuner.device.data.LARGE", 0)
    monkeypatch.setattr("iree_tuner.device.data._BLOCK", data.draw(st.integers(1, 50)))
    image, written = Image(tuple(bindings), size, seed), np.zeros(size, np.uint8)
    image.write(written)
    assert np.array_equal(written, whole)
    start = data.draw(st.integers(0, size))
    for at, block in image.blocks(start, size):
        assert np.array_equal(block, whole[at : at + block.size])
    assert sum(block.size for _, block in image.blocks(start, size)) == size - start
    _drawn.cache_clear()


BINDINGS = (
    Binding(0, 64, (TensorSlice(0, (16,), "f32", "read"),)),
    Binding(64, 64, (TensorSlice(32, (8,), "f32", "write"),)),
)


def test_what_is_not_an_input_is_poisoned_and_differently_so_for_the_next_seed():
    first, again, other = (fill(BINDINGS, 160, seed) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first[:64], other[:64])
    for image in (first, other):
        written = values_in(image, BINDINGS[1], BINDINGS[1].tensors[0])
        assert written.shape == (8,)
        assert np.isnan(written).all()
        assert np.isnan(image[128:].view(np.float32)).all()
        assert np.isnan(image[64:].view(np.float16)).all()
    assert (first[64:] != other[64:]).any()


def test_inputs_and_gaps_are_to_be_kept():
    found = [(each.start, each.end, each.tensor) for each in kept(BINDINGS, 160)]
    assert found == [(0, 64, 0), (64, 96, None), (128, 160, None)]


def test_bindings_of_which_not_all_is_known_may_change():
    unknown = (Binding(0, 64, ()), Binding(64, 64, (TensorSlice(0, (8,), "f4E2M1FN", "write"),)))
    assert [(each.start, each.end) for each in kept(unknown, 160)] == [(128, 160)]
    assert not fill(unknown, 160, 0)[:128].any()


def test_seeds_stand_for_kinds_of_values():
    rng = np.random.default_rng(0)
    assert [kind_of(seed) for seed in range(4)] == ["positive", "signed", "outliers", "positive"]
    positive = random_values((4096,), "f32", 0, rng)
    assert 0.1 <= positive.min() < positive.max() < 1
    signed = random_values((4096,), "f32", 1, rng)
    assert signed.min() < -1 < 1 < signed.max() < 5
    wide = np.abs(random_values((4096,), "f32", 2, rng))
    assert wide.max() > 20
    assert np.median(wide) < 1
    small = random_values((4096,), "i8", 0, rng)
    assert (small.min(), small.max()) == (-128, 127)


def test_magnitudes_are_of_the_same_values():
    seed = fill(BINDINGS, 160, 1)[:64].view(np.float32)
    assert np.array_equal(fill(BINDINGS, 160, magnitudes_of(1))[:64].view(np.float32), np.abs(seed))


KEYS = 384


def attended(scores, values, tile):
    """Online softmax over tiles of keys: probabilities are rounded relative to the largest score so far."""
    largest = np.full((SUMS, 1), -np.inf)
    total, result = np.zeros((SUMS, 1)), np.zeros((SUMS, values.shape[1]), np.float32)
    for start in range(0, KEYS, tile):
        part = scores[:, start : start + tile]
        higher = np.maximum(largest, part.max(axis=1, keepdims=True))
        rescale = np.exp(largest - higher)
        probabilities = np.exp(part - higher)
        total = total * rescale + probabilities.sum(axis=1, keepdims=True)
        rounded = probabilities.astype(np.float16).astype(np.float32)
        result = result * rescale + rounded @ values[start : start + tile].astype(np.float32)
        largest = higher
    return (result / total).astype(np.float16)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_probabilities_are_rounded(seed):
    """Tiles of any size agree; one key left out is found."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((SUMS, KEYS))
    values = random_values((KEYS, 256), "f16", seed, rng).astype(np.float16)
    scale = attended(scores, np.abs(values), 64)
    known = Tolerance("f32", 64 * KEYS, "f16", KEYS)
    expected = attended(scores, values, 64)
    for tile in (16, 32, 96, 128, 384):
        found = compare(attended(scores, values, tile), expected, "f16", known, scale)
        assert found.ok, (tile, found.message)
    fewer = scores.copy()
    fewer[:, 7] = -100.0
    assert not compare(attended(fewer, values, 64), expected, "f16", known, scale).ok


def test_among_scores_with_outliers_few_probabilities_count():
    """Two of keys, whose values cancel: the result is small, the rounding of its addends is not."""
    rng = np.random.default_rng(0)
    scores = np.full((SUMS, KEYS), -20.0)
    scores[:, 100] = rng.uniform(2, 6, 64)
    scores[:, 300] = scores[:, 100] + rng.uniform(-1, 1, 64)
    values = np.zeros((KEYS, 256), np.float16)
    values[100] = rng.uniform(20, 30, 256)
    values[300] = -values[100] * rng.uniform(0.8, 1.2, 256)
    values[7] = 30.0
    expected, other = attended(scores, values, 32), attended(scores, values, KEYS)
    scale = np.abs(expected)  # other keys count for the absolute values
    tolerance = Tolerance("f32", 64 * KEYS, "f16", KEYS, softmax=True)

    def compared(got, own):
        return compare(got, expected, "f16", own, scale)

    assert not compared(other, tolerance).ok
    assert compared(other, tolerance.on("outliers")).ok
    assert tolerance.on("signed") == tolerance
    scores[3, 300] += 0.05
    assert not compared(attended(scores, values, 32), tolerance.on("outliers")).ok


def _gelu_by_tanh(x, at):
    inner = at(at(x + at(at(at(x * x) * x) * at(0.044715))) * at(0.7978845608))
    return at(x * at(at(at(np.tanh(inner)) + at(1.0)) * at(0.5)))


def _gelu_by_erf(x, at):
    erf = np.array([math.erf(each) for each in at(x * at(0.7071067812)).astype(float)])
    return at(at(x * at(0.5)) * at(at(erf) + at(1.0)))


def _silu(x, at):
    return at(x / at(at(1.0) + at(np.exp(-x))))


@pytest.mark.parametrize("function", [_gelu_by_tanh, _gelu_by_erf, _silu], ids=lambda each: each.__name__)
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_functions_that_round_at_each_op_are_hardly_further_off_than_others(kind, function):
    """`check.parts` allows for half an epsilon of what the absolute values give."""

    def rounded(value):
        return np.asarray(value).astype(TYPES[kind]).astype(np.float64)

    x = rounded(np.linspace(-8, 8, 40_001))
    exact, absolute = (np.abs(function(each, np.asarray)) for each in (x, np.abs(x)))
    off = np.abs(function(x, rounded) - function(x, np.asarray))
    others = 2 * epsilon(kind) * exact + 16 * epsilon("f32") * exact.max()
    further = (off - others) / (epsilon(kind) * np.maximum(np.maximum(exact, absolute), 1e-30))
    assert further.max() < 0.15
