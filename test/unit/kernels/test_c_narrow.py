"""C kernels read and write f16 and bf16, and compute in f32: what numpy gives, rounded where programs do."""

import numpy as np
import pytest
from amounts import amount
from c_objects import TYPES, arrays, run
from epilogues import with_epilogue
from kernels.test_attention_sites import reference
from kernels.test_c_attention import INSIDE, op
from kernels.test_c_depthwise import depthwise
from problems import conv, matmul, site_in

from iree_tuner.kernels.c_attention import CAttention
from iree_tuner.kernels.c_code import floats
from iree_tuner.kernels.c_depthwise import CDepthwise
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.kernel import conv_of
from iree_tuner.targets import parse_target

KERNEL = CGemm()
HOST = parse_target("llvm-cpu:host")

pytestmark = pytest.mark.skipif(bool(KERNEL.missing()), reason=KERNEL.missing())

_F16 = pytest.mark.skipif("f16" not in floats(), reason="no F16C")
F16 = pytest.param("f16", marks=_F16)
NARROW = ["bf16", pytest.param("f16", marks=[_F16, pytest.mark.exhaustive])]
PRODUCTS = [
    pytest.param((1, 90, 515), False, (), marks=pytest.mark.exhaustive),  # convolutions have f32 results, too
    ((1, 90, 515), False, ("truncf",)),
    ((5, 33, 257), True, ("truncf", "residual")),
    ((20, 40, 700), False, ("bias", "relu", "truncf", "residual")),
]
KINDS = [{"stream": 1}, {"dot": 1}, {"pack_left": 1, "pack_right": 1}, {"pack_left": 0, "pack_right": 0}]


def computed(kernel, problem, knobs, inputs, folder):
    code = kernel.make(problem, HOST, knobs)
    return run(code, inputs, problem.result.shape, folder, TYPES[problem.result.element_type])


def stepped(problem, sums, inputs):
    """The epilogue of f64 sums; from a truncation on, each step's result is rounded."""
    further, narrow = list(inputs[2:]), False
    for step in problem.epilogue:
        if step in ("bias", "residual"):
            sums = sums + further.pop(0).astype(np.float64)
        if step == "relu":
            sums = np.maximum(sums, 0)
        narrow = narrow or step == "truncf"
        if narrow:
            kind = TYPES[problem.result.element_type]
            sums = sums.astype(np.float32).astype(kind).astype(np.float64)
    return sums


def assert_near(got, want, *, depth):
    """Sums in another order may round to the next number."""
    wide = {2: 2.0**-7 if got.dtype.name == "bfloat16" else 2.0**-10, 4: 2.0**-20}[got.dtype.itemsize]
    atol = 2.0**-20 * depth**0.5
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=wide, atol=atol)


@pytest.mark.parametrize("narrow", NARROW)
@pytest.mark.parametrize(("sizes", "transposed", "steps"), PRODUCTS)
def test_products(sizes, transposed, steps, narrow, tmp_path):
    """In place and packed, streamed and by dot products, with all of the depth at once and in parts."""
    given = {"element": narrow, "transposed": transposed}
    text = with_epilogue(*sizes, steps, narrow=narrow, **given) if steps else matmul(*sizes, **given)
    problem = site_in(text).problem
    assert KERNEL.refuses(problem) == ""
    inputs = arrays(problem)
    one, other = (each.astype(np.float64) for each in inputs[:2])
    want = stepped(problem, one @ (other.T if transposed else other), inputs)
    variants = KERNEL.variants(problem, HOST)
    found = [next((each for each in variants if kind.items() <= each.items()), None) for kind in KINDS]
    parts = [each for each in variants if each["depth"] < sizes[2] and "stream" not in each][-1:]
    for knobs in [*filter(None, found), *parts]:
        assert_near(computed(KERNEL, problem, knobs, inputs, tmp_path), want, depth=sizes[2])


@pytest.mark.parametrize("narrow", ["bf16", F16])
def test_numbers_are_rounded_as_numpy_does(narrow, tmp_path):
    """Ties, the largest ones, those that overflow, denormal ones, infinities and NaN."""
    problem = site_in(with_epilogue(40, 40, 40, ["truncf"], narrow=narrow)).problem
    bits = np.random.default_rng(0).integers(0, 2**32, 24, dtype=np.uint32).view(np.float32)
    some = [0.0, -0.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-11, 1 + 3 * 2**-11, 65504, 65519, 65520, 3.39e38]
    some += [6e-8, 2.9e-8, -1e-40, np.inf, -np.inf, np.nan]
    rows, ones = np.zeros((40, 40), np.float32), np.zeros((40, 40), np.float32)
    rows[:, 0], ones[0] = np.float32([*some, *bits]), 1
    got = computed(KERNEL, problem, KERNEL.variants(problem, HOST)[0], [rows, ones], tmp_path)
    with np.errstate(over="ignore", invalid="ignore"):
        want = np.repeat(rows[:, :1], 40, axis=1).astype(TYPES[narrow])
    np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))


@pytest.mark.parametrize("narrow", NARROW)
def test_convolutions(narrow, tmp_path):
    text = conv((5, 9), 16, 24).replace("xf32", f"x{narrow}").replace(f"24x{narrow}", "24xf32")
    text = text.replace("tensor<3x3x16x24xf32>", f"tensor<3x3x16x24x{narrow}>")
    problem = site_in(text).problem
    inputs = arrays(problem)
    found, (image, filter_) = conv_of(problem), (each.astype(np.float64) for each in inputs)
    want = sum(
        np.einsum("nyxc,cf->nyxf", image[:, y : y + found.out_h, x : x + found.out_w], filter_[y, x])
        for y in range(3)
        for x in range(3)
    )
    for left in (0, 1):
        knobs = next(each for each in KERNEL.variants(problem, HOST) if each["pack_left"] == left)
        assert_near(computed(KERNEL, problem, knobs, inputs, tmp_path), want, depth=144)


@pytest.mark.parametrize("narrow", NARROW)
def test_depthwise_convolutions(narrow, tmp_path):
    """With zeros around an image."""
    text = depthwise((4, 7), 21, zeros=(1, 1, 1, 1))
    for wide in (
        "%small: tensor<2x4x7x21xf32>",
        "tensor<3x3x21xf32>",
        "} : tensor<2x4x7x21xf32>",
        "tensor<2x6x9x21xf32>",
    ):
        text = text.replace(wide, wide.replace("f32", narrow))
    text = text.replace("%zero = arith", f"%none = arith.constant 0.0 : {narrow}\n%zero = arith", 1)
    text = text.replace("tensor.yield %zero : f32", f"tensor.yield %none : {narrow}")
    problem = site_in(text).problem
    kernel = CDepthwise()
    assert kernel.refuses(problem) == ""
    inputs = arrays(problem)
    image, filter_, bias = (each.astype(np.float64) for each in inputs)
    image = np.pad(image, [(0, 0), (1, 1), (1, 1), (0, 0)])
    want = sum(image[:, y : y + 4, x : x + 7] * filter_[y, x] for y in range(3) for x in range(3)) + bias
    got = computed(kernel, problem, kernel.variants(problem, HOST)[0], inputs, tmp_path)
    assert_near(got, np.maximum(want, 0), depth=9)


@pytest.mark.parametrize(("queries", "narrow"), [(13, "bf16"), pytest.param(1, "f16", marks=_F16)])
def test_attention(queries, narrow, tmp_path):
    """With all keys at once, and in blocks, whose sums stay on the stack."""
    text = op(2, queries, 270, 33, 37, INSIDE).replace("f32", narrow)
    text = text.replace(f"%scale = arith.constant 0.25 : {narrow}", "%scale = arith.constant 0.25 : f32")
    text = text.replace(f", {narrow}) outs", ", f32) outs").replace(f"^bb0(%x: {narrow})", "^bb0(%x: f32)")
    text = text.replace(f"yield %x : {narrow}", "yield %x : f32")
    problem = site_in(text).problem
    kernel = CAttention()
    assert kernel.refuses(problem) == ""
    inputs = arrays(problem)
    q, k, v = (each.astype(np.float64)[None] for each in inputs)
    want = reference(q, k, v, 0.25)[0]
    variants = kernel.variants(problem, HOST)
    forms = ({"keys": 64}, {"dot": 1}, {"dot": 0, "pack_values": 0}, {"keys": 272})
    for wanted in forms if narrow == "bf16" else forms[: amount(1, 4)]:
        knobs = next((each for each in variants if wanted.items() <= each.items()), variants[0])
        assert_near(computed(kernel, problem, knobs, inputs, tmp_path), want, depth=270)
