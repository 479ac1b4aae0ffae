"""The C kernel's epilogues: any of its steps in any order, and how far its functions are off."""

import ctypes
import math
import subprocess

import numpy as np
import pytest
from c_objects import EMULATED, arrays, examples, run
from epilogues import expected, gelu, gelu_tanh, with_epilogue
from hypothesis import example, given
from hypothesis import strategies as st
from problems import site_in

from iree_tuner.kernels.c_code import compiler, lanes
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.code import __file__ as code_file
from iree_tuner.targets import parse_target

KERNEL = CGemm()
HOST = parse_target("llvm-cpu:host")
STEPS = ("bias", "residual", "relu", "gelu", "gelu_tanh")

pytestmark = pytest.mark.skipif(bool(KERNEL.missing()), reason=KERNEL.missing())
FEW = examples(40)


@FEW
@given(
    steps=st.lists(st.sampled_from(STEPS), unique=True, min_size=1), m=st.integers(1, 40),
    n=st.integers(1, 40), k=st.integers(1, 300), together=st.booleans(), inside=st.booleans(),
    pick=st.floats(0, 0.999),
)  # fmt: skip
@example(steps=["residual", "gelu", "bias"], m=13, n=32, k=260, together=True, inside=True, pick=0.0)
@example(
    steps=["bias", "gelu_tanh", "residual", "relu"], m=13, n=37, k=600, together=False, inside=False, pick=0.5
)
def test_steps_in_any_order(steps, m, n, k, together, inside, pick, tmp_path):
    text = with_epilogue(m, n, k, steps, together=together, inside=inside)
    problem = site_in(text).problem
    assert problem.epilogue == tuple(steps)
    assert KERNEL.refuses(problem) == ""
    variants = KERNEL.variants(problem, HOST)
    code = KERNEL.make(problem, HOST, variants[int(pick * len(variants))])
    left, right, *extras = inputs = arrays(problem)
    want = expected(left.astype(np.float64) @ right, steps, extras)
    np.testing.assert_allclose(run(code, inputs, want.shape, tmp_path), want, rtol=1e-4, atol=1e-4)


def test_of_a_nan_every_step_makes_a_nan(tmp_path):
    steps = ("gelu", "relu", "gelu_tanh")
    problem = site_in(with_epilogue(4, 16, 8, steps)).problem
    inputs = arrays(problem)
    inputs[0][2] = np.nan
    found = run(KERNEL.make(problem, HOST, KERNEL.variants(problem, HOST)[0]), inputs, (4, 16), tmp_path)
    assert np.isnan(found).all(axis=1).tolist() == [False, False, True, False]


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (("bias", "silu"), "its epilogue has silu, which is not one of bias, "),
        (("truncf", "gelu"), "its epilogue has gelu in f16"),
    ],
)
def test_refused(steps, why):
    assert KERNEL.refuses(site_in(with_epilogue(16, 16, 16, steps)).problem).startswith(why)


SOURCE = """
#include "{source}"
void many_erf(const float *x, float *y, long n) {{
  for (long i = 0; i < n; i += LANES) *(vector *)(y + i) = erf_of(*(const vector *)(x + i));
}}
void many_tanh(const float *x, float *y, long n) {{
  for (long i = 0; i < n; i += LANES) *(vector *)(y + i) = tanh_of(*(const vector *)(x + i));
}}
"""
EVERY = {"erf": np.vectorize(math.erf, otypes=[float]), "tanh": np.tanh}


@pytest.mark.skipif(EMULATED, reason="calls functions of a source file in this process")
def test_functions_are_as_near_as_the_source_says(tmp_path):
    x = np.concatenate([np.linspace(-12, 12, 400_000), np.geomspace(1e-30, 1e30, 4_000)]).astype(np.float32)
    x = np.concatenate([x, -x, np.array([0, np.inf, -np.inf, 3.92, 9.02] * 16, np.float32)])
    assert len(x) % lanes() == 0
    macros = dict.fromkeys(("LINES", "WIDTH", "LINES_OF_IMAGE", "ROWS", "VECTORS", "TILES", "PLACES"), 1)
    macros |= dict.fromkeys(("IMAGE", "LINE", "PIXEL", "PLACE_OFFSETS"), 0) | {"COLUMNS": lanes(), "DEPTH": 8}
    macros |= {
        "FILTERS": 16,
        "CHANNELS": 8,
        "RIGHT_ROW": 16,
        "RIGHT_COLUMN": 1,
        "RESULT_ROW": 16,
        "LANES": lanes(),
    }
    macros |= {"PACK_LEFT": 0, "PACK_RIGHT": 0, "PACKED": 0, "DOT": 0, "UNROLL": 1, "STRIDE": 16}
    macros |= dict.fromkeys(("BATCH_LEFT", "BATCH_RIGHT", "BATCH_RESULT", "SWAPPED", "WINDOWS"), 0)
    macros |= dict.fromkeys(("GROUPS_X", "GROUPS_Y", "GROUPS_Z", "WORKERS"), 1)
    macros |= {"EXTRAS": "", "STEPS": "", "ENTRY": "kernel", "LEFT": "float", "RIGHT": "float"}
    path = tmp_path / "functions.c"
    path.write_text(SOURCE.format(source=code_file.replace("__init__.py", "gemm_f32.c")))
    flags = [f"-D{key}={value}" for key, value in macros.items()]
    library = path.with_suffix(".so")
    flags += ["-O2", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC", str(path), "-o", str(library)]
    subprocess.run([compiler(), "-std=gnu11", *flags], check=True)
    y = np.empty_like(x)
    pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in (x, y)]
    for name, right in EVERY.items():
        getattr(ctypes.CDLL(library), f"many_{name}")(*pointers, ctypes.c_long(len(x)))
        errors = np.abs(y - right(x.astype(np.float64)))
        assert errors.max() <= 3.6e-7, name
        assert np.abs(y).max() == 1, name


@pytest.mark.parametrize(("name", "right"), [("gelu", gelu), ("gelu_tanh", gelu_tanh)])
def test_what_is_far_below_zero_is_zero(name, right, tmp_path):
    """Where a float's erf is -1, so that results that are all small are not told apart by their rounding."""
    problem = site_in(with_epilogue(64, 16, 1, (name,))).problem
    x = np.linspace(-1000, 20, 64, dtype=np.float32).reshape(64, 1)
    inputs = [x, np.ones((1, 16), np.float32)]
    found = run(KERNEL.make(problem, HOST, KERNEL.variants(problem, HOST)[0]), inputs, (64, 16), tmp_path)
    want = np.repeat(right(x.astype(np.float64)), 16, axis=1)
    np.testing.assert_allclose(found, want, rtol=3e-7, atol=2e-6)
    assert not found[: np.argmax(x > -15)].any()
