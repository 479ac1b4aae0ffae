"""The C kernel computes what numpy computes, with every tile, for sizes that tiles do not divide."""

import itertools

import numpy as np
import pytest
from c_objects import arrays, run
from epilogues import with_epilogue
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from problems import conv, matmul, site_in

from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.problem import KernelError, conv_of, gemm_of
from iree_tuner.targets import parse_target

KERNEL = CGemm()
HOST = parse_target("llvm-cpu:host")

pytestmark = pytest.mark.skipif(bool(KERNEL.missing()), reason=KERNEL.missing())
FEW = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def expected_conv(image, filter_, found):
    total = np.zeros((found.batch, found.out_h, found.out_w, found.filters))
    for y, x in itertools.product(range(found.window_h), range(found.window_w)):
        down, right = y * found.dilations[0], x * found.dilations[1]
        rows = slice(down, down + (found.out_h - 1) * found.strides[0] + 1, found.strides[0])
        columns = slice(right, right + (found.out_w - 1) * found.strides[1] + 1, found.strides[1])
        total += np.einsum("nyxc,cf->nyxf", image[:, rows, columns].astype(np.float64), filter_[y, x])
    return total


@FEW
@given(
    m=st.integers(1, 70),
    k=st.integers(1, 300),
    wide=st.integers(1, 4),
    transposed=st.booleans(),
    pick=st.floats(0, 0.999),
)
def test_products(m, k, wide, transposed, pick, tmp_path):
    problem = site_in(matmul(m, 16 * wide, k, transposed=transposed)).problem
    assert KERNEL.refuses(problem) == ""
    variants = KERNEL.variants(problem, HOST)
    code = KERNEL.make(problem, HOST, variants[int(pick * len(variants))])
    left, right = arrays(problem)
    found = gemm_of(problem)
    want = left.astype(np.float64) @ (right.T if found.transposed else right)
    np.testing.assert_allclose(run(code, (left, right), want.shape, tmp_path), want, rtol=1e-4, atol=1e-4)


@FEW
@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 15)), channels=st.sampled_from([1, 3, 16, 40, 130]),
    stride=st.integers(1, 2), dilation=st.integers(1, 2), more=st.integers(0, 2), pick=st.floats(0, 0.999),
)  # fmt: skip
def test_convolutions(size, channels, stride, dilation, more, pick, tmp_path):
    problem = site_in(conv(size, channels, 32, stride=stride, dilation=dilation, more=more)).problem
    assert KERNEL.refuses(problem) == ""
    variants = KERNEL.variants(problem, HOST)
    code = KERNEL.make(problem, HOST, variants[int(pick * len(variants))])
    image, filter_ = arrays(problem)
    want = expected_conv(image, filter_, conv_of(problem))
    np.testing.assert_allclose(run(code, (image, filter_), want.shape, tmp_path), want, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("variant", [0, -1])
def test_bias_and_relu(variant, tmp_path):
    """Of a NaN, relu makes a NaN; sums in several parts are cut off at the end only."""
    problem = site_in(with_epilogue(20, 48, 700, ("bias", "relu"), together=True)).problem
    left, right, bias = arrays(problem)
    left[3, 5] = np.nan
    code = KERNEL.make(problem, HOST, KERNEL.variants(problem, HOST)[variant])
    want = np.maximum(left.astype(np.float64) @ right + bias, 0)
    assert 0 < np.count_nonzero(want == 0) < want.size
    np.testing.assert_allclose(
        run(code, (left, right, bias), want.shape, tmp_path), want, rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (matmul(16, 20, 16), "20 columns are not a multiple of 16"),
        (matmul(16, 16, 16, element="f16"), "its types are f16, f16, f32, not f32"),
    ],
)
def test_refused(text, why):
    assert why in KERNEL.refuses(site_in(text).problem)


def test_only_for_this_machine():
    problem = site_in(matmul(16, 16, 16)).problem
    with pytest.raises(KernelError, match="not for llvm-cpu:znver4"):
        KERNEL.make(problem, parse_target("llvm-cpu:znver4"), KERNEL.variants(problem, HOST)[0])
