"""The C kernel computes what numpy computes, with every tile, for sizes that tiles do not divide."""

import ctypes
import itertools
import subprocess

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from problems import conv, matmul, site_in

from iree_tuner.kernels.c_gemm import CGemm, compiler
from iree_tuner.kernels.problem import KernelError, conv_of, gemm_of
from iree_tuner.targets import parse_target

KERNEL = CGemm()
HOST = parse_target("llvm-cpu:host")

pytestmark = pytest.mark.skipif(bool(KERNEL.missing()), reason=KERNEL.missing())
FEW = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


CALLER = """
void {entry}({types}long, long, long);
void call({named}long x, long y, long z) {{ {entry}({names}x, y, z); }}
"""  # the entry is hidden, as an executable has no use for it outside


def run(code, inputs, shape, folder):
    """Link the object, and call it for every workgroup on a result full of NaN."""
    path = folder / f"{abs(hash(code.data))}"
    path.with_suffix(".o").write_bytes(code.data)
    path.with_suffix(".c").write_text(_caller(code.entry, len(inputs) + 1))
    files = [path.with_suffix(".o"), path.with_suffix(".c")]
    subprocess.run([compiler(), "-shared", "-fPIC", *files, "-o", path.with_suffix(".so")], check=True)
    call = ctypes.CDLL(path.with_suffix(".so")).call
    result = np.full(shape, np.nan, np.float32)
    pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in (*inputs, result)]
    for place in itertools.product(*map(range, code.launch.workgroups)):
        call(*pointers, *map(ctypes.c_long, place))
    return result


def _caller(entry, bindings):
    names = [f"p{number}, " for number in range(bindings)]
    named = "".join(f"const void *{each}" for each in names)
    return CALLER.format(entry=entry, types="const void *, " * bindings, named=named, names="".join(names))


def arrays(problem):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(each.shape).astype(np.float32) for each in problem.inputs]


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


ADDED = """
      %s = linalg.generic {indexing_maps = [#id, #last, #id], iterator_types = ["parallel", "parallel"]}
          ins(%r, %bias : tensor<20x48xf32>, tensor<48xf32>) outs(%empty : tensor<20x48xf32>) {
        ^bb0(%x: f32, %y: f32, %o: f32):
          %sum = arith.addf %x, %y : f32
          %max = arith.maximumf %sum, %zero : f32
          linalg.yield %max : f32
      } -> tensor<20x48xf32>
      return %s :"""


@pytest.mark.parametrize("variant", [0, -1])
def test_bias_and_relu(variant, tmp_path):
    """Of a NaN, relu makes a NaN; sums in several parts are cut off at the end only."""
    text = (
        matmul(20, 48, 700)
        .replace("return %r :", ADDED)
        .replace(") -> tensor", ", %bias: tensor<48xf32>) -> tensor", 1)
    )
    maps = "#id = affine_map<(m, n) -> (m, n)>\n#last = affine_map<(m, n) -> (n)>\n"
    problem = site_in(maps + text).problem
    assert problem.epilogue == ("bias", "relu")
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
