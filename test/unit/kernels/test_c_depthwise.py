"""Depthwise convolutions in C compute what numpy computes, with any tile, for sizes that nothing divides."""

from dataclasses import replace

import numpy as np
import pytest
from c_objects import arrays, examples, run
from hypothesis import example, given
from hypothesis import strategies as st
from problems import conv, matmul, site_in

from iree_tuner.kernels.c_code import lanes
from iree_tuner.kernels.c_depthwise import CDepthwise
from iree_tuner.targets import parse_target

KERNEL = CDepthwise()
HOST = parse_target("llvm-cpu:host")

pytestmark = pytest.mark.skipif(bool(KERNEL.missing()), reason=KERNEL.missing())
WIDTHS = sorted({width for width in (8, 16) if width <= lanes()} or {lanes()})
ZEROS = (0, 0, 0, 0)
FEW = examples(32)


def depthwise(size, channels, *, stride=1, dilation=1, more=0, first=False, zeros=ZEROS):
    """A 3x3 convolution of two images with a bias and a relu.

    `more` rows are not read. `zeros` are added above, below, before and after the image's pixels.
    """
    high, wide = ((each - 1) * stride + 2 * dilation + 1 for each in size)
    image, filter_ = f"tensor<2x{high + more}x{wide}x{channels}xf32>", f"tensor<3x3x{channels}xf32>"
    above, below, before, after = zeros
    small = f"tensor<2x{high + more - above - below}x{wide - before - after}x{channels}xf32>"
    pad = f"""
      %zero = arith.constant 0.0 : f32
      %a = tensor.pad %small low[0, {above}, {before}, 0] high[0, {below}, {after}, 0] {{
      ^bb0(%p: index, %q: index, %r: index, %s: index):
        tensor.yield %zero : f32
      }} : {small} to {image}"""
    result, pair = f"tensor<2x{size[0]}x{size[1]}x{channels}xf32>", "tensor<2xi64>"
    op = "depthwise_conv_2d_nhwc_hwc"
    if first:
        image, filter_ = f"tensor<2x{channels}x{high}x{wide}xf32>", f"tensor<{channels}x3x3xf32>"
        result, op = f"tensor<2x{channels}x{size[0]}x{size[1]}xf32>", "depthwise_conv_2d_nchw_chw"
    return f"""
    #id = affine_map<(a, b, c, d) -> (a, b, c, d)>
    #last = affine_map<(a, b, c, d) -> (d)>
    func.func @main(%{"small" if any(zeros) else "a"}: {small if any(zeros) else image}, %b: {filter_},
                    %c: tensor<{channels}xf32>) -> {result} {{
      {pad if any(zeros) else "%zero = arith.constant 0.0 : f32"}
      %empty = tensor.empty() : {result}
      %init = linalg.fill ins(%zero : f32) outs(%empty : {result}) -> {result}
      %r = linalg.{op} {{strides = dense<{stride}> : {pair}, dilations = dense<{dilation}> : {pair}}}
          ins(%a, %b : {image}, {filter_}) outs(%init : {result}) -> {result}
      %v = linalg.generic {{indexing_maps = [#id, #last, #id],
            iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
          ins(%r, %c : {result}, tensor<{channels}xf32>) outs(%empty : {result}) {{
        ^bb0(%x: f32, %y: f32, %o: f32):
          %1 = arith.addf %x, %y : f32
          %2 = arith.maximumf %1, %zero : f32
          linalg.yield %2 : f32
      }} -> {result}
      return %v : {result}
    }}"""


@FEW
@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 17)), channels=st.integers(1, 70),
    stride=st.integers(1, 2), dilation=st.integers(1, 2), more=st.integers(0, 2),
    zeros=st.sampled_from([ZEROS, (1, 1, 1, 1), (0, 1, 0, 1), (2, 0, 1, 0)]),
    width=st.sampled_from(WIDTHS), pick=st.floats(0, 0.999),
)  # fmt: skip
@example(size=(5, 13), channels=37, stride=2, dilation=1, more=1, zeros=ZEROS, width=WIDTHS[-1], pick=0)
@example(size=(4, 17), channels=40, stride=1, dilation=2, more=0, zeros=(2, 1, 1, 2), width=16, pick=0)
@example(size=(7, 7), channels=33, stride=1, dilation=1, more=0, zeros=(1, 1, 1, 1), width=16, pick=0.1)
def test_convolutions(size, channels, stride, dilation, more, zeros, width, pick, tmp_path):
    text = depthwise(size, channels, stride=stride, dilation=dilation, more=more, zeros=zeros)
    problem = site_in(text).problem
    assert problem.epilogue == ("bias", "relu")
    assert bool(problem.padding) == any(zeros)
    assert KERNEL.refuses(problem) == ""
    fit = [each for each in KERNEL.variants(problem, HOST) if each["lanes"] == min(width, WIDTHS[-1])]
    given = image, filter_, bias = arrays(problem)
    image[1, 0, 0, 0] = np.nan
    image = np.pad(image, ((0, 0), zeros[:2], zeros[2:], (0, 0)))
    want = np.zeros(problem.result.shape)
    for y, x in np.ndindex(3, 3):
        rows = slice(y * dilation, y * dilation + (size[0] - 1) * stride + 1, stride)
        columns = slice(x * dilation, x * dilation + (size[1] - 1) * stride + 1, stride)
        want += image[:, rows, columns].astype(np.float64) * filter_[y, x]
    code = KERNEL.make(problem, HOST, fit[int(pick * len(fit))])
    found = run(code, given, want.shape, tmp_path)
    np.testing.assert_allclose(found, np.maximum(want + bias, 0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (matmul(16, 16, 16), "it is not a depthwise convolution of nhwc by hwc"),
        (conv((3, 3), 4, 4), "it is not a depthwise convolution of nhwc by hwc"),
        (depthwise((3, 5), 5, first=True), "it is not a depthwise convolution of nhwc by hwc"),
        (depthwise((3, 5), 4).replace("f32", "f64"), "its types are f64, f64, f64, not f32 or bf16"),
    ],
)
def test_refused(text, why):
    assert KERNEL.refuses(site_in(text).problem).startswith(why)


def test_only_images_are_padded():
    problem = site_in(depthwise((3, 5), 4, zeros=(1, 1, 1, 1))).problem
    padded = replace(problem, padding=((0, 0), (1, 1), (1, 1), (0, 2)))
    assert KERNEL.refuses(padded) == "its padding is not only around the pixels of an image"
