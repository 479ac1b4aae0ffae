"""Kernels of 8-bit integers compute what numpy computes, bit by bit: any sizes and knobs, extremes."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from c_objects import examples, not_compiled, run
from hypothesis import example, given
from hypothesis import strategies as st
from integer_problems import arrays, finished, fused, program
from problems import matmul, site_in, sites_in

from iree_tuner.kernels import c_code
from iree_tuner.kernels.c_code import lanes
from iree_tuner.kernels.c_depthwise_i8 import CDepthwiseI8
from iree_tuner.kernels.c_gemm_i8 import CGemmI8
from iree_tuner.kernels.formula import FormulaTerm
from iree_tuner.kernels.kernel import Array, scratch_room
from iree_tuner.targets import parse_target

GEMM, DEPTHWISE = CGemmI8(), CDepthwiseI8()
HOST = parse_target("llvm-cpu:host")
WIDTHS = sorted({width for width in (8, 16) if width <= lanes()} or {lanes()})
FEW = examples(32)

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
    knobs = {"rows": 3, "vectors": 2, "lanes": width, "tiles": 1, "columns": 64, "unroll": 1}
    code = GEMM.make(problem, HOST, knobs)
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


GENERIC = """
    #a = affine_map<(m, n, k) -> (m, k)>
    #b = affine_map<(m, n, k) -> (k, n)>
    #c = affine_map<(m, n, k) -> (m, n)>
    func.func @main(%a: tensor<4x8xi8>, %b: tensor<8x16xi8>) -> tensor<4x16xi32> {
      %zero = arith.constant 0 : i32
      %empty = tensor.empty() : tensor<4x16xi32>
      %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<4x16xi32>) -> tensor<4x16xi32>
      %r = linalg.generic {indexing_maps = [#a, #b, #c],
            iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%a, %b : tensor<4x8xi8>, tensor<8x16xi8>) outs(%init : tensor<4x16xi32>) {
        ^bb0(%x: i8, %y: i8, %o: i32):
          %1 = arith.extui %x : i8 to i32
          %2 = arith.extsi %y : i8 to i32
          %3 = arith.muli %1, %2 : i32
          %4 = arith.addi %o, %3 : i32
          linalg.yield %4 : i32
      } -> tensor<4x16xi32>
      return %r : tensor<4x16xi32>
    }"""


def test_signs_are_those_of_a_body():
    assert site_in(GENERIC).problem.integers.signed == (False, True)
    text = program("matmul", (4, 8), (8, 16), (4, 16), follows=False)
    assert site_in(text).problem.integers.signed == (True, True)


def test_results_without_a_sign(tmp_path):
    """The same steps with limits of 0 and 255."""
    text = program("matmul", (5, 30), (30, 37), (5, 37), residual=True)
    for old, new in (("-128.0", "0.0"), ("127.0", "255.0"), ("fptosi", "fptoui")):
        text = text.replace(old, new)
    text = text.replace("sitofp %x0 : i8", "uitofp %x0 : i8")
    problem = site_in(text).problem
    one, other, scale, offset, more, times = inputs = arrays(problem)
    offset += 100
    sums = (one.astype(np.int64) @ other).astype(np.float32)
    first = np.clip(np.rint(fused(sums, scale, offset)), 0, 255)
    want = np.clip(np.rint(fused(more.view(np.uint8), times, first)), 0, 255).astype(np.uint8)
    assert (want > 127).any()
    code = GEMM.make(problem, HOST, GEMM.variants(problem, HOST)[0])
    found = run(code, inputs, want.shape, tmp_path, np.int8)
    np.testing.assert_array_equal(found.view(np.uint8), want)


FLOATS = [
    ("subf", lambda x, y: x - y), ("divf", lambda x, y: x / y), ("maximumf", np.maximum),
    ("minimumf", np.minimum), ("addf", lambda x, y: x + y), ("mulf", lambda x, y: x * y),
]  # fmt: skip
WHOLE = [
    ("subi", lambda x, y: x - y), ("muli", lambda x, y: x * y), ("maxsi", np.maximum), ("minsi", np.minimum),
    ("addi", lambda x, y: x + y),
]  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("element", ["f32", "i32"])
def test_every_op(element, width, tmp_path):
    """Each of the sums and a vector, a NaN in it too, added up to what came before."""
    problem = site_in(program("matmul", (5, 30), (30, 37), (5, 37), follows=False)).problem
    one, other = arrays(problem)
    sums = (one.astype(np.int64) @ other).astype(np.int32)
    kind = np.float32 if element == "f32" else np.int32
    vector = (np.arange(37) * 100 - 1500).astype(kind)
    ops = FLOATS if element == "f32" else WHOLE
    terms = [FormulaTerm("sum", "i32"), FormulaTerm("input", element, along="last")]
    with np.errstate(all="ignore"):
        if element == "f32":
            vector[5] = np.nan
            terms += [FormulaTerm("arith.sitofp", "f32", (0,)), FormulaTerm("arith.negf", "f32", (2,))]
            terms += [FormulaTerm("math.roundeven", "f32", (3,))]
            want = start = np.rint(-sums.astype(np.float32))
        else:
            terms += [FormulaTerm("arith.trunci", "i8", (0,)), FormulaTerm("arith.extui", "i32", (2,))]
            terms += [FormulaTerm("arith.extsi", "i32", (2,)), FormulaTerm("arith.muli", "i32", (3, 4))]
            narrow = sums.astype(np.int8)
            want = start = narrow.view(np.uint8).astype(np.int32) * narrow
        from_ = len(terms) - 1
        for number, (name, op) in enumerate(ops):
            operands = (from_, 1) if number % 2 else (1, from_)
            terms.append(FormulaTerm(f"arith.{name}", element, operands))
            new = op(start, vector) if number % 2 else op(vector, start)
            last = (len(terms) - 2, len(terms) - 1)
            terms.append(FormulaTerm("arith.addf" if element == "f32" else "arith.addi", element, last))
            want = fused(start, vector, want) if name == "mulf" else want + new
    problem = replace(
        problem, inputs=(*problem.inputs, Array((37,), element)), result=Array((5, 37), element),
        integers=replace(problem.integers, formula=tuple(terms)),
    )  # fmt: skip
    assert GEMM.refuses(problem) == ""
    code = GEMM.make(problem, HOST, chosen(GEMM, problem, 0, width))
    np.testing.assert_array_equal(run(code, [one, other, vector], want.shape, tmp_path, kind), want)


def test_sites_end_at_8_bits():
    """Sums alone, requantized, and with the residual: nothing in between is a problem of its own."""
    ((*sites,),) = sites_in(program("matmul", (4, 8), (8, 16), (4, 16), residual=True))
    assert [str(each.problem.result) for each in sites] == ["4x16xi32", "4x16xi8", "4x16xi8"]
    assert [len(each.problem.inputs) for each in sites] == [2, 4, 6]


def test_refused():
    assert "not 8-bit integers" in GEMM.refuses(site_in(matmul(16, 16, 16)).problem)
    text = program("matmul", (4, 8), (8, 16), (4, 16), widened=True).replace("extsi", "extui")
    assert GEMM.refuses(site_in(text).problem) == "its right operand is unsigned"
    assert "not a depthwise" in DEPTHWISE.refuses(site_in(text).problem)


def test_all_variants_fit_into_the_scratch_memory_of_harnesses(monkeypatch) -> None:
    """The last product of MobileNet-V2 packs 1.25 MiB, more than harnesses had."""
    not_compiled(monkeypatch, "c_gemm_i8")
    problem = site_in(program("matmul", (1, 1280), (1280, 1000), (1, 1000))).problem
    found = GEMM.variants(problem, HOST)
    assert found
    room = scratch_room(problem)
    assert {GEMM.make(problem, HOST, each).scratch_bytes <= room for each in found[:: len(found) // 4]} == {
        True
    }
    assert GEMM.make(problem, HOST, found[0]).scratch_bytes > 1 << 20
