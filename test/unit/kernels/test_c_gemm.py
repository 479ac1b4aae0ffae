"""The C kernel computes what numpy computes, with any knobs and vectors, for sizes that nothing divides."""

import itertools
import os
from dataclasses import replace

import numpy as np
import pytest
from amounts import ALL, some
from c_objects import arrays, examples, not_compiled, run
from epilogues import with_epilogue
from hypothesis import example, given
from hypothesis import strategies as st
from problems import conv, matmul, site_in

from iree_tuner.kernels.c_code import lanes
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.kernel import KernelError, conv_of
from iree_tuner.targets import parse_target

KERNEL = CGemm()
HOST = parse_target("llvm-cpu:host")

pytestmark = pytest.mark.skipif(bool(KERNEL.missing()), reason=KERNEL.missing())
WIDTHS = sorted({width for width in (8, 16) if width <= lanes()} or {lanes()})
TURNED = matmul(8, 16, 32, transposed=True).replace("(m, k)>", "(k, m)>").replace("8x32", "32x8")
FEW = examples(32)


def expected_conv(image, filter_, found):
    total = np.zeros((found.batch, found.out_h, found.out_w, found.filters))
    for y, x in itertools.product(range(found.window_h), range(found.window_w)):
        down, right = y * found.dilations[0], x * found.dilations[1]
        rows = slice(down, down + (found.out_h - 1) * found.strides[0] + 1, found.strides[0])
        columns = slice(right, right + (found.out_w - 1) * found.strides[1] + 1, found.strides[1])
        total += np.einsum("nyxc,cf->nyxf", image[:, rows, columns].astype(np.float64), filter_[y, x])
    return total


def chosen(problem, pick, **wanted):
    """One of the variants that have some knobs, or of all where none has; with those knobs."""
    variants = KERNEL.variants(problem, HOST)
    found = [each for each in variants if wanted.items() <= each.items()] or variants
    return found[int(pick * len(found))]


@FEW
@given(
    m=st.integers(1, 70), n=st.integers(1, 70), k=st.integers(1, 300), transposed=st.booleans(),
    width=st.sampled_from(WIDTHS), left=st.integers(0, 1), right=st.integers(0, 1), dot=st.integers(0, 1),
    pick=st.floats(0, 0.999),
)  # fmt: skip
@example(m=13, n=33, k=257, transposed=False, width=WIDTHS[-1], left=1, right=1, dot=0, pick=0)
@example(m=13, n=33, k=257, transposed=True, width=WIDTHS[-1], left=0, right=1, dot=0, pick=0)
@example(m=7, n=19, k=37, transposed=True, width=WIDTHS[0], left=0, right=0, dot=1, pick=0.5)
def test_products(m, n, k, transposed, width, left, right, dot, pick, tmp_path):
    problem = site_in(matmul(m, n, k, transposed=transposed)).problem
    assert KERNEL.refuses(problem) == ""
    knobs = chosen(problem, pick, lanes=width, pack_left=left, pack_right=right, dot=dot)
    inputs = arrays(problem)
    want = inputs[0].astype(np.float64) @ (inputs[1].T if transposed else inputs[1])
    found = run(KERNEL.make(problem, HOST, knobs), inputs, want.shape, tmp_path)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)


@FEW
@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 15)), channels=st.sampled_from([1, 3, 16, 40, 130]),
    filters=st.sampled_from([5, 32, 70]), stride=st.integers(1, 2), dilation=st.integers(1, 2),
    more=st.integers(0, 2), width=st.sampled_from(WIDTHS), left=st.integers(0, 1), pick=st.floats(0, 0.999),
)  # fmt: skip
@example(
    size=(5, 13), channels=40, filters=70, stride=2, dilation=1, more=1, width=WIDTHS[-1], left=1, pick=0
)
@example(
    size=(3, 5), channels=130, filters=5, stride=1, dilation=2, more=0, width=WIDTHS[0], left=0, pick=0.5
)
def test_convolutions(size, channels, filters, stride, dilation, more, width, left, pick, tmp_path):
    problem = site_in(conv(size, channels, filters, stride=stride, dilation=dilation, more=more)).problem
    assert KERNEL.refuses(problem) == ""
    code = KERNEL.make(problem, HOST, chosen(problem, pick, lanes=width, pack_left=left))
    image, filter_ = arrays(problem)
    want = expected_conv(image, filter_, conv_of(problem))
    np.testing.assert_allclose(run(code, (image, filter_), want.shape, tmp_path), want, rtol=1e-4, atol=1e-3)


def named(op, left, right, result):
    """A function of one named op on zeros."""
    a, b, r = (f"tensor<{'x'.join(map(str, each))}xf32>" for each in (left, right, result))
    return f"""
    func.func @main(%a: {a}, %b: {b}) -> {r} {{
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : {r}
      %init = linalg.fill ins(%zero : f32) outs(%empty : {r}) -> {r}
      %r = linalg.{op} ins(%a, %b : {a}, {b}) outs(%init : {r}) -> {r}
      return %r : {r}
    }}"""


TURNED_BATCH = "batch_matmul indexing_maps = [{}]".format(
    ", ".join(f"affine_map<(b, m, n, k) -> (b, {each})>" for each in ("m, k", "n, k", "m, n"))
)


MORE_BATCHES = [
    ("batch_matmul", "bmk,bkn->bmn", (3, 5, 19), (3, 19, 21), (3, 5, 21)),
    ("batch_vecmat", "bk,bkn->bn", (3, 19), (3, 19, 21), (3, 21)),
] * ALL
"""By default a batch is in the case that is turned, and a row alone in that of `vecmat`."""


def with_picks(cases, one, other):
    """Each case with each pick; by default with one of them in turn."""
    turns = [(one, other), (other, one)]
    every = [(*case, pick) for number, case in enumerate(cases) for pick in turns[number % 2]]
    return some(every, 2)


@pytest.mark.parametrize(
    ("op", "sums", "left", "right", "result", "pick"),
    with_picks(
        [
            ("vecmat", "k,kn->n", (70,), (70, 39), (39,)),
            ("matvec", "mk,k->m", (39, 70), (70,), (39,)),
            (TURNED_BATCH, "bmk,bnk->bmn", (3, 5, 19), (3, 21, 19), (3, 5, 21)),
            *MORE_BATCHES,
        ],
        0.0,
        0.6,
    ),
)
def test_other_products(op, sums, left, right, result, pick, tmp_path):
    problem = site_in(named(op, left, right, result)).problem
    assert KERNEL.refuses(problem) == ""
    inputs = arrays(problem)
    want = np.einsum(sums, *(each.astype(np.float64) for each in inputs))
    found = run(KERNEL.make(problem, HOST, chosen(problem, pick)), inputs, result, tmp_path)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)


def channels_first(size, channels, filters, window, stride, *, bias):
    """A convolution of two images as PyTorch exports it: it starts from its bias, and ends with a relu6."""
    high, wide = ((each - 1) * stride + window for each in size)
    image = f"tensor<2x{channels}x{high}x{wide}xf32>"
    filter_ = f"tensor<{filters}x{channels}x{window}x{window}xf32>"
    result, pair = f"tensor<2x{filters}x{size[0]}x{size[1]}xf32>", "tensor<2xi64>"
    start = f"linalg.fill ins(%zero : f32) outs(%empty : {result}) -> {result}"
    if bias:
        start = (
            f"linalg.broadcast ins(%c : tensor<{filters}xf32>) outs(%empty : {result}) dimensions = [0, 2, 3]"
        )
    four = 'iterator_types = ["parallel", "parallel", "parallel", "parallel"]'
    body = """
        ^bb0(%x: f32, %y: f32, %o: f32):
          %1 = arith.cmpf PREDICATE, %x, %y : f32
          %2 = arith.select %1, %x, %y : f32
          linalg.yield %2 : f32"""
    return f"""
    #id = affine_map<(a, b, c, d) -> (a, b, c, d)>
    #none = affine_map<(a, b, c, d) -> ()>
    func.func @main(%a: {image}, %b: {filter_}{f", %c: tensor<{filters}xf32>" if bias else ""}) -> {result} {{
      %zero = arith.constant 0.0 : f32
      %low = arith.constant dense<0.0> : tensor<f32>
      %high = arith.constant dense<6.0> : tensor<f32>
      %empty = tensor.empty() : {result}
      %start = {start}
      %r = linalg.conv_2d_nchw_fchw {{
            strides = dense<{stride}> : {pair}, dilations = dense<1> : {pair}}}
          ins(%a, %b : {image}, {filter_}) outs(%start : {result}) -> {result}
      %v = linalg.generic {{indexing_maps = [#id, #none, #id], {four}}}
          ins(%r, %low : {result}, tensor<f32>) outs(%empty : {result}) {{{body.replace("PREDICATE", "ogt")}
      }} -> {result}
      %w = linalg.generic {{indexing_maps = [#none, #id, #id], {four}}}
          ins(%high, %v : tensor<f32>, {result}) outs(%empty : {result}) {{{body.replace("PREDICATE", "olt")}
      }} -> {result}
      return %w : {result}
    }}"""


@FEW
@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 40)), channels=st.sampled_from([1, 3, 16, 40]),
    filters=st.sampled_from([5, 32]), window=st.sampled_from([1, 3]), stride=st.integers(1, 2),
    bias=st.booleans(), width=st.sampled_from(WIDTHS), pick=st.floats(0, 0.999),
)  # fmt: skip
@example(size=(9, 7), channels=40, filters=32, window=3, stride=1, bias=True, width=WIDTHS[-1], pick=0)
@example(size=(9, 7), channels=40, filters=32, window=1, stride=1, bias=True, width=WIDTHS[-1], pick=0)
def test_channels_first(size, channels, filters, window, stride, bias, width, pick, tmp_path):
    text = channels_first(size, channels, filters, window, stride, bias=bias)
    problem = site_in(text).problem
    assert problem.epilogue == (*["channel_bias"] * bias, "relu_ordered", "at_most_6")
    assert KERNEL.refuses(problem) == ""
    image, filter_, *extra = arrays(problem)
    image[-1, 0, -1, -1] = np.nan
    windows = np.lib.stride_tricks.sliding_window_view(image.astype(np.float64), (window, window), (2, 3))
    want = np.einsum("ncyxhw,fchw->nfyx", windows[:, :, ::stride, ::stride], filter_)
    want = want + extra[0][:, None, None] if bias else want
    want = np.minimum(np.where(want > 0, want, 0), 6)
    code = KERNEL.make(problem, HOST, chosen(problem, pick, lanes=width))
    found = run(code, (image, filter_, *extra), want.shape, tmp_path)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-3)


def packed_by(packed, values):
    """What `packing.build_packed` makes of an array."""
    tiles, other, tile = packed.shape
    matrix = values.reshape(packed.matrix)
    matrix = matrix if packed.dimension == 0 else matrix.T
    full = np.zeros((tiles * tile, other), np.float32)
    full[: len(matrix)] = matrix
    return np.ascontiguousarray(full.reshape(tiles, tile, other).transpose(0, 2, 1))


TURNED_CONSTANT = [(matmul(1, 70, 33, transposed=True),)] * ALL  # the next test has a larger one
PACKED = [(matmul(13, 39, 300),), (conv((3, 5), 40, 21, stride=2),), *TURNED_CONSTANT]


@pytest.mark.parametrize(("text", "pick"), with_picks(PACKED, 0.0, 0.4))
def test_packed(text, pick, tmp_path):
    """With the right operand packed it is the same, bit for bit."""
    problem = site_in(text).problem
    code = KERNEL.make(problem, HOST, chosen(problem, pick, dot=0))
    inputs, packed = arrays(problem), KERNEL.packed(problem, HOST, code.knobs)
    want = run(code, inputs, problem.result.shape, tmp_path)
    inputs[packed.input] = packed_by(packed, inputs[packed.input])
    np.testing.assert_array_equal(run(packed.code, inputs, problem.result.shape, tmp_path), want)


def test_a_constant_is_packed_in_parts_that_need_not_fit_on_the_stack(tmp_path):
    """Its plans do not pack by themselves. The code for other operands has smaller parts where it packs."""
    problem = replace(site_in(matmul(24, 96, 1500, transposed=True)).problem, constants=(1,))
    for pick in some((0.3, 0.0, 0.9), 3):
        knobs = chosen(problem, pick, depth=750, dot=0)
        inputs, code = arrays(problem), KERNEL.make(problem, HOST, knobs)
        want = inputs[0].astype(np.float64) @ inputs[1].T
        found = run(code, inputs, want.shape, tmp_path)
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)
        packed = KERNEL.packed(problem, HOST, code.knobs)
        inputs[packed.input] = packed_by(packed, inputs[packed.input])
        found = run(packed.code, inputs, want.shape, tmp_path)
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)
    in_order = replace(site_in(matmul(24, 96, 1500)).problem, constants=(1,))
    assert not any(each["pack_right"] for each in KERNEL.variants(in_order, HOST))


@FEW
@given(
    m=st.integers(1, 8), n=st.integers(2, 300), k=st.integers(1, 70), width=st.sampled_from(WIDTHS),
    unroll=st.sampled_from((4, 8)), pick=st.floats(0, 0.999),
)  # fmt: skip
@example(m=1, n=37, k=5, width=WIDTHS[0], unroll=8, pick=0)
@example(m=3, n=64, k=16, width=WIDTHS[-1], unroll=4, pick=0.9)
@example(m=2, n=65, k=9, width=WIDTHS[-1], unroll=8, pick=0.9)
def test_streams(m, n, k, width, unroll, pick, tmp_path):
    """Sums of a few rows stay in the result; depths and columns that the steps divide, and others."""
    problem = site_in(with_epilogue(m, n, k, ("bias", "relu"), together=True)).problem
    knobs = chosen(problem, pick, lanes=width, stream=1, unroll=unroll)
    assert knobs["stream"]
    inputs = arrays(problem)
    want = np.maximum(inputs[0].astype(np.float64) @ inputs[1] + inputs[2], 0)
    found = run(KERNEL.make(problem, HOST, knobs), inputs, want.shape, tmp_path)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)


def test_what_memory_delivers_is_not_packed(monkeypatch):
    """A model's weights for one row take the same time in their place; those that caches keep are packed."""
    not_compiled(monkeypatch, "c_gemm")
    for m, n, packed in ((1, 8192, False), (1, 512, True), (4, 8192, True)):
        problem = replace(site_in(matmul(m, n, 2048)).problem, constants=(1,))
        first = KERNEL.variants(problem, HOST)[0]
        assert (KERNEL.packed(problem, HOST, first) is not None) == packed
        assert bool(first.get("stream")) != packed


def test_what_is_not_packed():
    """Dot products, which read along the depth; batches and images; what zeros would make much larger."""
    for text, wanted in (
        (matmul(4, 70, 64, transposed=True), {"dot": 1}),
        (named("batch_matmul", (3, 5, 19), (3, 19, 21), (3, 5, 21)), {}),
        (channels_first((3, 5), 4, 8, 3, 1, bias=False), {}),
        (matmul(1, WIDTHS[0] * 8 + 1, (1 << 16) // WIDTHS[0]), {"vectors": 8, "lanes": WIDTHS[0], "dot": 0}),
    ):
        problem = site_in(text).problem
        assert KERNEL.packed(problem, HOST, chosen(problem, 0.0, **wanted)) is None


@pytest.mark.parametrize(("lanes", "tiles"), [((16, 8), 3), ((8,), 2)])
def test_the_first_variants_differ_and_use_what_there_is(lanes, tiles, monkeypatch):
    """A search that ends early has tried several tiles, each cut for all workers; on any processor."""
    not_compiled(monkeypatch, "c_gemm")
    monkeypatch.setattr("iree_tuner.kernels.c_gemm.widths", lambda: lanes)
    problem = site_in(matmul(128, 768, 768)).problem
    first = KERNEL.variants(problem, HOST)[:8]
    assert len({(each["rows"], each["vectors"]) for each in first}) >= tiles
    for knobs in first:
        launch = KERNEL.make(problem, HOST, knobs).launch
        assert launch.workgroups[0] * launch.workgroups[1] >= min(2, len(os.sched_getaffinity(0)))


@pytest.mark.exhaustive  # test_c_epilogues has them among other steps, in several parts, and of a NaN
@pytest.mark.parametrize("variant", [-1, 0])
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
        (TURNED, "its operands have a layout that the kernel cannot read in place"),
        (matmul(16, 16, 16, element="f8E4M3FN"), "its types are f8E4M3FN, f8E4M3FN, f32, not f32 or bf16"),
    ],
)
def test_refused(text, why):
    assert why in KERNEL.refuses(site_in(text).problem)


def test_only_for_this_machine():
    problem = site_in(matmul(16, 16, 16)).problem
    with pytest.raises(KernelError, match="not for llvm-cpu:znver4"):
        KERNEL.make(problem, parse_target("llvm-cpu:znver4"), KERNEL.variants(problem, HOST)[0])
