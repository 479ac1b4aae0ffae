"""Kernels of 8-bit integers compute what numpy computes, bit by bit: any sizes and knobs, extremes."""

import itertools

import numpy as np
import pytest
from amounts import amount
from c_objects import run
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from integer_problems import arrays, finished, program
from problems import matmul, site_in, sites_in

from iree_tuner.kernels import c_code
from iree_tuner.kernels.c_code import lanes
from iree_tuner.kernels.c_depthwise_i8 import CDepthwiseI8
from iree_tuner.kernels.c_gemm_i8 import CGemmI8
from iree_tuner.targets import parse_target

GEMM, DEPTHWISE = CGemmI8(), CDepthwiseI8()
HOST = parse_target("llvm-cpu:host")
WIDTHS = sorted({width for width in (8, 16) if width <= lanes()} or {lanes()})
FEW = settings(
    max_examples=amount(2, 32), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

pytestmark = pytest.mark.skipif(bool(GEMM.missing()), reason=GEMM.missing())


def chosen(kernel, problem, pick, width):
    found = [each for each in kernel.variants(problem, HOST) if each["lanes"] == width]
    return found[int(pick * len(found))]


def padded(image, value):
    return np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=value)


def windows(image, size, out, stride, dilation):
    """For each place of a window the pixels that are there: lines, pixels, channels of 64-bit integers."""
    for y, x in itertools.product(range(size), range(size)):
        down, right = y * dilation, x * dilation
        rows = slice(down, down + (out[0] - 1) * stride + 1, stride)
        columns = slice(right, right + (out[1] - 1) * stride + 1, stride)
        yield (y, x), image[:, rows, columns].astype(np.int64)


@FEW
@given(
    m=st.integers(1, 70), n=st.integers(1, 70), k=st.integers(1, 300), unsigned=st.booleans(),
    extremes=st.booleans(), residual=st.booleans(), width=st.sampled_from(WIDTHS), pick=st.floats(0, 0.999),
)  # fmt: skip
@example(m=13, n=33, k=257, unsigned=False, extremes=True, residual=True, width=WIDTHS[-1], pick=0)
@example(m=13, n=33, k=257, unsigned=True, extremes=True, residual=False, width=WIDTHS[0], pick=0)
def test_products(m, n, k, unsigned, extremes, residual, width, pick, tmp_path):
    text = program("matmul", (m, k), (k, n), (m, n), residual=residual, unsigned=unsigned)
    problem = site_in(text).problem
    assert GEMM.refuses(problem) == ""
    one, other, *more = inputs = arrays(problem, extremes=extremes)
    want = finished(one.astype(np.int64) @ other.astype(np.int64), more)
    code = GEMM.make(problem, HOST, chosen(GEMM, problem, pick, width))
    np.testing.assert_array_equal(run(code, inputs, want.shape, tmp_path, np.int8), want)
    packed = GEMM.packed(problem, HOST, code.knobs)
    inputs[1] = packed_by(packed, other)
    np.testing.assert_array_equal(run(packed.code, inputs, want.shape, tmp_path, np.int8), want)


@pytest.mark.parametrize("width", [*WIDTHS, 4])
def test_without_an_instruction_for_four_products(width, monkeypatch, tmp_path):
    """The same bits, on machines that do not have it and on those whose vectors nothing is known of."""
    monkeypatch.setattr(c_code, "_FLAGS", (*c_code._FLAGS, "-DPAIRS"))
    problem = site_in(program("matmul", (5, 130), (130, 37), (5, 37))).problem
    inputs = arrays(problem, extremes=True)
    want = finished(inputs[0].astype(np.int64) @ inputs[1].astype(np.int64), inputs[2:])
    code = GEMM.make(problem, HOST, {**GEMM.variants(problem, HOST)[0], "lanes": width})
    np.testing.assert_array_equal(run(code, inputs, want.shape, tmp_path, np.int8), want)


def packed_by(packed, values):
    """What `packing.build_packed` makes of an array."""
    tiles, others, tile, group = packed.shape
    matrix = values.reshape(packed.matrix)
    matrix = matrix if packed.dimension == 0 else matrix.T
    full = np.zeros((tiles * tile, others * group), np.int8)
    full[: len(matrix), : matrix.shape[1]] = matrix
    return np.ascontiguousarray(full.reshape(tiles, tile, others, group).transpose(0, 2, 1, 3))


@pytest.mark.parametrize("width", WIDTHS)
def test_sums_alone(width, tmp_path):
    """They are 32 bits wide; a vector by a matrix."""
    problem = site_in(program("vecmat", (2001,), (2001, 39), (39,), follows=False)).problem
    inputs = arrays(problem, extremes=True)
    code = GEMM.make(problem, HOST, chosen(GEMM, problem, 0, width))
    want = inputs[0].astype(np.int64) @ inputs[1].astype(np.int64)
    np.testing.assert_array_equal(run(code, inputs, want.shape, tmp_path, np.int32), want)


@FEW
@given(
    size=st.tuples(st.integers(2, 9), st.integers(2, 15)), channels=st.sampled_from([1, 3, 16, 70]),
    filters=st.sampled_from([5, 32, 70]), stride=st.integers(1, 2), dilation=st.integers(1, 2),
    padding=st.sampled_from([None, 0, -7]), width=st.sampled_from(WIDTHS), pick=st.floats(0, 0.999),
)  # fmt: skip
@example(size=(5, 7), channels=3, filters=32, stride=2, dilation=1, padding=-7, width=WIDTHS[-1], pick=0)
@example(size=(5, 7), channels=3, filters=32, stride=2, dilation=1, padding=None, width=WIDTHS[-1], pick=0)
def test_convolutions(size, channels, filters, stride, dilation, padding, width, pick, tmp_path):
    around = 0 if padding is None else 1
    image = (2, *((each - 1) * stride + 2 * dilation + 1 - 2 * around for each in size), channels)
    pair = "tensor<2xi64>"
    op = f"conv_2d_nhwc_hwcf {{strides = dense<{stride}> : {pair}, dilations = dense<{dilation}> : {pair}}}"
    if min(image) < 1:
        return
    problem = site_in(
        program(op, image, (3, 3, channels, filters), (2, *size, filters), padding=padding)
    ).problem
    assert GEMM.refuses(problem) == ""
    assert problem.inputs[0].shape == image
    one, other, *more = inputs = arrays(problem)
    one = one if padding is None else padded(one, padding)
    sums = sum(
        np.einsum("nyxc,cf->nyxf", pixels, other[place].astype(np.int64))
        for place, pixels in windows(one, 3, size, stride, dilation)
    )
    want = finished(sums, more)
    code = GEMM.make(problem, HOST, chosen(GEMM, problem, pick, width))
    np.testing.assert_array_equal(run(code, inputs, want.shape, tmp_path, np.int8), want)


@FEW
@given(
    size=st.tuples(st.integers(2, 9), st.integers(2, 17)), channels=st.integers(1, 70),
    window=st.sampled_from([3, 5]), stride=st.integers(1, 2), dilation=st.integers(1, 2),
    padding=st.sampled_from([None, 0, -128]), unsigned=st.booleans(), extremes=st.booleans(),
    width=st.sampled_from(WIDTHS), pick=st.floats(0, 0.999),
)  # fmt: skip
@example(
    size=(5, 13), channels=37, window=3, stride=2, dilation=1, padding=-128, unsigned=False, extremes=True,
    width=WIDTHS[-1], pick=0,
)  # fmt: skip
def test_depthwise(
    size, channels, window, stride, dilation, padding, unsigned, extremes, width, pick, tmp_path
):
    around = 0 if padding is None else 1
    image = (2, *((each - 1) * stride + (window - 1) * dilation + 1 - 2 * around for each in size), channels)
    value = padding if not unsigned or padding is None else abs(padding)
    pair = "tensor<2xi64>"
    how = f"strides = dense<{stride}> : {pair}, dilations = dense<{dilation}> : {pair}"
    op = f"depthwise_conv_2d_nhwc_hwc {{{how}}}"
    text = program(
        op,
        image,
        (window, window, channels),
        (2, *size, channels),
        unsigned=unsigned,
        widened=True,
        padding=value,
    )
    problem = site_in(text).problem
    assert DEPTHWISE.refuses(problem) == ""
    one, other, *more = inputs = arrays(problem, extremes=extremes)
    one = one if value is None else padded(one, value)
    sums = sum(pixels * other[place] for place, pixels in windows(one, window, size, stride, dilation))
    want = finished(sums, more)
    code = DEPTHWISE.make(problem, HOST, chosen(DEPTHWISE, problem, pick, width))
    np.testing.assert_array_equal(run(code, inputs, want.shape, tmp_path, np.int8), want)


def test_sites_end_at_8_bits():
    """Sums alone, requantized, and with the residual: nothing in between is a problem of its own."""
    ((*sites,),) = sites_in(program("matmul", (4, 8), (8, 16), (4, 16), residual=True))
    assert [str(each.problem.result) for each in sites] == ["4x16xi32", "4x16xi8", "4x16xi8"]
    assert [len(each.problem.inputs) for each in sites] == [2, 4, 6]


def test_refused():
    assert "not 8-bit integers" in GEMM.refuses(site_in(matmul(16, 16, 16)).problem)
    text = program("matmul", (4, 8), (8, 16), (4, 16), widened=True).replace("extsi", "extui")
    assert GEMM.refuses(site_in(text).problem) == "its right operand has no sign"
    assert "not a depthwise" in DEPTHWISE.refuses(site_in(text).problem)
