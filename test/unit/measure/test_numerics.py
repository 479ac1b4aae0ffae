import math

import numpy as np
import pytest

from iree_tuner.measure.data import fill, outputs, random_values
from iree_tuner.measure.numerics import compare, epsilon
from iree_tuner.program.dispatch import Binding, TensorSlice


def matmul_in_two_orders(dtype, k, seed):
    rng = np.random.default_rng(seed)
    a = random_values((32, k), "f32", seed, rng).astype(dtype)
    b = random_values((k, 32), "f32", seed, rng).astype(dtype)
    forward = np.zeros((32, 32), dtype)
    backward = np.zeros((32, 32), dtype)
    for i in range(k):
        forward = forward + np.outer(a[:, i], b[i])
        backward = backward + np.outer(a[:, k - 1 - i], b[k - 1 - i])
    return forward, backward


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("dtype", "kind"), [(np.float32, "f32"), (np.float16, "f16")])
@pytest.mark.parametrize("k", [16, 256, 2048])
def test_another_order_of_addition_agrees(dtype, kind, k, seed):
    forward, backward = matmul_in_two_orders(dtype, k, seed)
    assert compare(forward, backward, kind, kind, k).ok


@pytest.mark.parametrize("seed", [0, 1])
def test_one_missing_product_does_not_agree(seed):
    forward, backward = matmul_in_two_orders(np.float32, 1024, seed)
    rng = np.random.default_rng(seed)
    a = random_values((32, 1024), "f32", seed, rng)
    b = random_values((1024, 32), "f32", seed, rng)
    wrong = forward - np.outer(a[:, 7], b[7])
    found = compare(wrong, backward, "f32", "f32", 1024)
    assert not found.ok
    assert found.worst > 1
    assert "times the tolerance" in found.message


def test_integers_must_be_equal():
    assert compare(np.array([1, 2]), np.array([1, 2]), "i32", "i32", 8).ok
    found = compare(np.array([1, 2]), np.array([1, 3]), "i32", "i32", 8)
    assert not found.ok
    assert "1 integers differ" in found.message


def test_what_was_not_written_is_found_out():
    expected = np.ones(4, np.float32)
    got = expected.copy()
    got[2] = math.nan
    assert not compare(got, expected, "f32", "f32", 1).ok


def test_the_same_nans_in_the_same_places_agree():
    values = np.array([1.0, math.nan, math.inf], np.float32)
    assert compare(values, values.copy(), "f32", "f32", 1).ok


def test_epsilons():
    assert epsilon("f32") == pytest.approx(2**-23)
    assert epsilon("f16") == pytest.approx(2**-10)
    assert epsilon("bf16") == pytest.approx(2**-7)
    assert epsilon("i32") == 0


def test_outputs_are_poisoned_and_inputs_depend_on_the_seed_only():
    bindings = (
        Binding(0, 64, (TensorSlice(0, (16,), "f32", "read"),)),
        Binding(64, 64, (TensorSlice(32, (8,), "f32", "write"),)),
    )
    first, again, other = (fill(bindings, 128, seed) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    ((tensor, written),) = outputs(bindings, first)
    assert tensor.shape == (8,)
    assert np.isnan(written).all()
