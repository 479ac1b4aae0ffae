"""The reference, against definitions written out loop by loop."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from iree_tuner.device.numerics import compare
from iree_tuner.suite.backends.in_numpy import convolve_windows
from iree_tuner.suite.exact import Exact, reference, rounded
from iree_tuner.suite.kinds.registry import KINDS, make
from iree_tuner.suite.operation import ConvLayer

EXACT = Exact()


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def convolved(layer, image, filters):
    """One element after the other, of channels before places."""
    (sh, sw), (dh, dw), (ph, pw) = layer.strides, layer.dilations, layer.padding
    image = np.pad(image, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    count, of_group, kh, kw = filters.shape
    oh, ow = (image.shape[2] - 1 - dh * (kh - 1)) // sh + 1, (image.shape[3] - 1 - dw * (kw - 1)) // sw + 1
    result = np.zeros((image.shape[0], count, oh, ow))
    for n, f, y, x in np.ndindex(*result.shape):
        first = f // (count // layer.groups) * of_group
        result[n, f, y, x] = sum(
            image[n, first + c, y * sh + i * dh, x * sw + j * dw] * filters[f, c, i, j]
            for i, j, c in np.ndindex(kh, kw, of_group)
        )
    return result


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize(
    ("strides", "dilations", "groups", "padding", "count"),
    [
        ((1, 1), (1, 1), 1, (0, 0), 3),
        ((2, 3), (1, 2), 1, (1, 0), 5),
        ((1, 1), (1, 1), 2, (0, 0), 6),
        ((1, 2), (1, 1), 4, (0, 2), 4),
        ((1, 1), (2, 1), 4, (0, 0), 8),
    ],
)
def test_convolution(last, strides, dilations, groups, padding, count, rng):
    layer = ConvLayer("forward", (7, 8), (3, 2), strides, padding, dilations, groups)
    image, filters = rng.standard_normal((2, 4, 7, 8)), rng.standard_normal((count, 4 // groups, 3, 2))
    if last:  # in memory
        image = np.ascontiguousarray(image.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    expected = convolved(layer, image, filters)
    for found in (EXACT.layer(layer, image, filters, "f32"), convolve_windows(layer, image, filters)):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_attention(causal, masked, rng):
    q, k, v = (rng.standard_normal(shape) for shape in ((2, 4, 3, 5), (2, 2, 6, 5), (2, 2, 6, 7)))
    mask = rng.standard_normal((3, 6)) if masked else None
    found = EXACT.attention(q, k, v, mask, causal, 0.3)
    for b, h, i in itertools.product(range(2), range(4), range(3)):
        keys = range(i + 4 if causal else 6)
        added = np.zeros((3, 6)) if mask is None else mask
        weights = [math.exp(0.3 * q[b, h, i] @ k[b, h // 2, j] + added[i, j]) for j in keys]
        mixed = sum(weight * v[b, h // 2, j] for weight, j in zip(weights, keys, strict=True))
        np.testing.assert_allclose(found[b, h, i], mixed / sum(weights), rtol=1e-12)


def test_functions():
    x = np.array([-2.0, -0.5, 0.0, 1.5])
    for kind, each in {
        "relu": lambda x: max(x, 0.0),
        "gelu": lambda x: x * 0.5 * math.erfc(-x / math.sqrt(2)),
        "silu": lambda x: x / (1 + math.exp(-x)),
        "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    }.items():
        np.testing.assert_allclose(EXACT.unary(kind, x), [each(value) for value in x], rtol=1e-12, atol=0)
    # The approximation is within 5e-4 of the function that it stands for, and is not it.
    difference = np.abs(EXACT.unary("gelu_tanh", x) - EXACT.unary("gelu", x))
    assert 1e-6 < difference.max() < 5e-4


def test_softmax_of_large_values():
    found = EXACT.softmax(np.array([[1e4, 1e4, 0.0], [0.0, math.log(3), -1e4]]), 1)
    np.testing.assert_allclose(found, [[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]], atol=1e-12)


def test_casts_round_to_nearest_and_saturate():
    halves = np.array([0.5, 1.5, 2.5, -0.5, 1e3, -1e3])
    assert EXACT.cast(halves, "i8").tolist() == [0, 2, 2, 0, 127, -128]
    assert rounded(np.array([1e6]), "f16").tolist() == [math.inf]
    assert rounded(np.array([1.0]), "bf16").dtype == ml_dtypes.bfloat16


def test_products_of_integers_are_exact():
    operation = make(KINDS["matmul"], {"m": 2, "n": 2, "k": 4096, "lhs": "i8", "rhs": "i8", "out": "i32"})
    worst = [np.full((2, 4096), -128, np.int8), np.full((4096, 2), -128, np.int8)]
    assert reference(operation, worst).tolist() == [[2**26] * 2] * 2


def test_column_major_factors_lie_transposed(rng):
    operation = make(KINDS["matmul"], {"m": 2, "n": 3, "k": 4, "layout": "nn", "accumulate": True})
    a, b, c = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 4), (4, 3), (2, 3)))
    found = reference(operation, [np.ascontiguousarray(a.T), np.ascontiguousarray(b.T), c])
    np.testing.assert_allclose(found, a @ b + c, rtol=1e-6)


def test_an_epilogue_takes_its_inputs_in_order(rng):
    arguments = {"h": 3, "w": 3, "c": 1, "f": 2, "kh": 1, "kw": 1, "layout": "nchw"}
    operation = make(KINDS["convolution"], {**arguments, "epilogue": "bias+relu+residual"})
    shapes = [each.shape for each in operation.inputs]
    image, filters, bias, residual = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    expected = np.maximum(image * filters[:, 0, 0, 0].reshape(2, 1, 1) + bias.reshape(2, 1, 1), 0) + residual
    np.testing.assert_allclose(reference(operation, [image, filters, bias, residual]), expected, rtol=1e-6)


def test_long_operations_are_computed_in_single_precision(monkeypatch):
    used = []
    monkeypatch.setattr(Exact, "matmul", lambda self, a, b, kind: used.append(a.dtype) or a @ b)
    inputs = [np.zeros((1, 2), np.float32), np.zeros((2, 1), np.float32)]
    operation = make(KINDS["matmul"], {"m": 1, "n": 1, "k": 2})
    reference(operation, inputs)
    monkeypatch.setattr("iree_tuner.suite.exact._MOST_FLOPS", 3.0)
    reference(operation, inputs)
    assert used == [np.float64, np.float32]


@pytest.mark.parametrize("element_type", ["f16", "bf16"])
def test_libraries_may_round_sums_before_they_go_on(element_type, rng):
    arguments = {"m": 64, "n": 64, "k": 64, "epilogue": "bias+gelu+residual"}
    operation = make(KINDS["matmul"], {**arguments, **KINDS["matmul"].of_type(element_type)})
    inputs = [rounded(rng.standard_normal(each.shape) / 2, element_type) for each in operation.inputs]
    a, b, bias, residual = inputs

    def stored(x):
        return rounded(x, element_type).astype(float)

    sums = stored(stored(EXACT.matmul(a.astype(float), b.astype(float), "f32")) + bias)
    got = rounded(stored(EXACT.unary("gelu", sums)) + residual, element_type)
    told, expected = operation.tolerance, reference(operation, inputs)
    assert compare(got, expected, element_type, told).ok
    assert not compare(got, expected, element_type, replace(told, factor_type="")).ok
    without = reference(operation, [a, b, np.zeros_like(bias), residual])
    assert not compare(without, expected, element_type, told).ok
