"""The sources of convolutions, run by Triton's interpreter as variants have them, beside numpy."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import sys
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import triton
import triton.language as tl

sys.path.insert(0, str(Path(__file__).parents[1]))

from amounts import some
from kernels.after_abi import results
from kernels.convs import Conv, expected, program
from kernels.epilogues import gelu
from kernels.finished import CLAMP, ELU, GATE, HARD_SWISH, LEAKY, MISH, NORM, depthwise, finished
from kernels.interpreted_tensors import Tensor
from kernels.problems import site_in

from iree_tuner.kernels import triton_conv_source, triton_depthwise, triton_source
from iree_tuner.kernels.find import find_here
from iree_tuner.kernels.shapes import conv_shape
from iree_tuner.kernels.triton_conv import ConvTiling, TritonConv, constants_of, shape_for
from iree_tuner.targets import parse_target

KERNEL = TritonConv()
CUDA, HOST = parse_target("cuda:sm_90"), parse_target("llvm-cpu:host")
GUARD = 4096

PAD = {"low": (1, 1), "more": (1, 1)}


@triton.jit
def alone():
    """Workgroups are interpreted one after the other: the second time, what all have stored is there."""
    tl.static_assert(True)


triton_source.cluster_waits = alone

CASES = [
    Conv(low=(1, 1), more=(1, 1), channels=256, filters=96, steps=("bias", "relu", "truncf")),
    Conv(**PAD, steps=("bias", "relu", "truncf")),
    Conv(low=(1, 2), more=(0, 1), window=(2, 3), dilation=2, steps=("gain", "bias", "residual", "relu")),
    Conv(1, 16, 16, 64, 320, **PAD, steps=("bias", "residual", "truncf")),  # tiles of 128 and 64 filters
    Conv(high=8, wide=6, stride=2, more=(1, 1), steps=("truncf", "minus", "image_bias")),
    Conv(high=6, wide=8, stride=2, low=(3, 1), more=(2, 2), window=(5, 3), filters=40, steps=("bias",)),
    Conv(window=(1, 1), channels=64, steps=("residual",)),
    Conv(window=(1, 1), stride=2, high=8, wide=8, steps=("bias", "truncf", "residual", "relu")),
    Conv(images=1, high=15, wide=13, channels=3, window=(7, 7), stride=2, low=(3, 3), more=(3, 3)),
    Conv(window=(1, 1), steps=("truncf", "image_bias", "relu")),
    Conv(channels=20, filters=17, **PAD, steps=("bias", "truncf")),
    Conv(first=True, **PAD, steps=("channel_bias", "relu", "truncf")),
    Conv(
        first=True, window=(1, 1), stride=2, channels=40, steps=("truncf", "image_channel_bias", "residual")
    ),
    Conv(first=True, channels=3, stride=2, dilation=2, low=(2, 2), more=(2, 1), steps=("channel_gain",)),
    Conv(groups=3, channels=8, filters=16, stride=2, steps=("relu", "truncf")),
    Conv(element="bf16", channels=16, **PAD, steps=("bias", "truncf")),
    Conv(window=(1, 1), sums="f16", steps=("image_bias",)),
    Conv(sums="f16", **PAD, steps=("bias", "relu")),
]


def guarded(shape, element, value):
    """An array in the middle of memory that is full of NaN, and that memory."""
    kinds = {"f16": np.float16, "f32": np.float32, "bf16": np.uint16}
    size = int(np.prod(shape))
    memory = np.full(size + 2 * GUARD, np.nan, np.float32)
    memory[GUARD:-GUARD] = np.asarray(value, np.float32).ravel()
    memory = (
        (memory.view(np.uint32) >> 16).astype(np.uint16)
        if element == "bf16"
        else memory.astype(kinds[element])
    )
    return memory[GUARD:-GUARD].reshape(shape), memory


def floats(array):
    """Of bfloat16, the numbers that they are."""
    return (array.astype(np.uint32) << 16).view(np.float32) if array.dtype == np.uint16 else array


def run(problem, knobs):
    """What the source computes of random inputs, and these; nothing may be written before or behind it."""
    rng = np.random.default_rng(0)
    arrays = [
        guarded(each.shape, each.element_type, rng.standard_normal(each.shape)) for each in problem.inputs
    ]
    out, memory = guarded(problem.result.shape, problem.result.element_type, np.nan)
    before = memory.copy()
    images, filter_, *extras = (each for each, _ in arrays)
    given = [images, filter_, *extras, *[images] * (6 - len(extras)), out]
    if "boxed" in knobs:
        plan = ConvTiling(shape_for(problem), knobs)
        function = triton_conv_source.boxed if knobs["boxed"] else triton_conv_source.gathered
        constants, tiles, partial_bytes = constants_of(problem, plan), plan.workgroups, plan.partial_bytes
        grid, times = (tiles, plan.shape.groups, 1), 2 if plan.split > 1 else 1
    else:
        shape, function, partial_bytes, times = conv_shape(problem), triton_conv_source.depthwise, 0, 1
        constants = triton_depthwise.constants_of(problem, shape, knobs)
        grid = -(-shape.pixels // knobs["bm"]), -(-shape.groups // knobs["bn"]), 1
    partial = np.full(max(1, partial_bytes // 4), np.nan, np.float32)
    for _ in range(times):
        function[grid](*map(Tensor, [*given, partial]), **constants)
    assert np.array_equal(before[:GUARD], memory[:GUARD], equal_nan=True), (problem.name, knobs)
    assert np.array_equal(before[-GUARD:], memory[-GUARD:], equal_nan=True), (problem.name, knobs)
    return out, images, filter_, extras


def check(conv, problem, knobs):
    out, images, filter_, extras = run(problem, knobs)
    if images.ndim == 3:  # of one line
        images, filter_ = images[:, None], filter_[None]
    wanted = expected(conv, floats(images), floats(filter_), [floats(each) for each in extras])
    near = 2.0 ** (-7 if conv.element == "bf16" else -9)
    equal(out, wanted, near, (conv, knobs))


def equal(out, wanted, near, about):
    wanted = wanted.reshape(out.shape)
    error = np.abs(floats(out) - wanted).max()
    assert error <= near * np.abs(wanted).max(), (about, error, np.abs(wanted).max())


ROWS = Conv(2, 1, 50, 32, 48, window=(1, 5), dilation=3, low=(0, 6), more=(0, 6), steps=("bias", "truncf"))
DILATED = Path(__file__).parent / "convolutions" / "dilated_rows.mlir"  # by JAX 0.10

for conv in (ROWS, *some(CASES, 3)):
    text = DILATED.read_bytes() if conv == ROWS else b""
    (place,) = find_here(text, "p.mlir", HOST).places if text else (None,)
    problem = place.sites[-1].problem if place else site_in(program(conv)).problem
    assert problem.epilogue == conv.steps, problem.epilogue
    assert bool(problem.padding) == any((*conv.low, *conv.more))
    assert KERNEL.refuses(problem) == "", KERNEL.refuses(problem)
    ways = {}
    for knobs in sorted(KERNEL.variants(problem, CUDA), key=lambda each: each["bn"] * each["bk"]):
        way = knobs["boxed"], knobs.get("flat", 0), knobs.get("split", 1) > 1, "more" in knobs
        ways.setdefault(way, knobs)
    for knobs in ways.values():
        check(conv, problem, knobs)

# Steps that `program` does not write, with the operands of others.
for steps in (("silu", "factor", "gelu", "truncf"), ("relu_ordered", "residual", "at_most_6", "truncf")):
    conv = Conv(steps=steps)
    problem = site_in(program(replace(conv, steps=("relu", "residual", "truncf")))).problem
    check(conv, replace(problem, epilogue=steps), KERNEL.variants(problem, CUDA)[0])


def in_groups(images, filter_, low, high, stride=1):
    """A convolution of nhwc in groups by hwio, also over one dimension, in double precision."""
    if images.ndim == 3:
        found = in_groups(images[:, None], filter_[None], (0, *low), (0, *high), (1, stride))
        return found[:, 0]
    strides = stride if isinstance(stride, tuple) else (stride, stride)
    around = [(0, 0), (low[0], high[0]), (low[1], high[1]), (0, 0)]
    padded, (tall, wide, depth, filters) = np.pad(images.astype(np.float64), around), filter_.shape
    groups = images.shape[-1] // depth
    padded = padded.reshape(*padded.shape[:3], groups, depth)
    own = filter_.reshape(tall, wide, depth, groups, filters // groups).astype(np.float64)
    sizes = [(padded.shape[1] - tall) // strides[0] + 1, (padded.shape[2] - wide) // strides[1] + 1]
    ends = [(size - 1) * step + 1 for size, step in zip(sizes, strides, strict=True)]
    total = 0.0
    for y, x in np.ndindex(tall, wide):
        part = padded[:, y : y + ends[0] : strides[0], x : x + ends[1] : strides[1]]
        total = total + np.einsum("nyxgc,cgf->nyxgf", part, own[y, x])
    return total.reshape(*total.shape[:3], filters)


def transposed(images, filter_, strides, low, size):
    """A transposed convolution of nhwc by hwio as its gradient is: with zeros between the pixels."""
    if images.ndim == 3:
        strides, low, size = ((each[0], *each[1]) for each in ((1, strides), (0, low), (1, size)))
        return transposed(images[:, None], filter_[None], strides, low, size)[:, 0]
    count, high, wide, depth = images.shape
    ends = [(own - 1) * step + 1 for own, step in zip((high, wide), strides, strict=True)]
    apart = np.zeros((count, *ends, depth))
    apart[:, :: strides[0], :: strides[1]] = images
    sides = zip(size, filter_.shape[:2], ends, low, strict=True)
    more = [own + window - 1 - end - at for own, window, end, at in sides]
    return in_groups(apart, filter_.astype(np.float64), low, more)


def silu(x):
    return x / (1 + np.exp(-x))


GROUPED = {  # by JAX 0.10: the arguments of `in_groups`, and what follows the sums
    "grouped": (((1, 1), (1, 1)), lambda x, b: np.maximum(x + b, 0)),
    "grouped_strided": (((0, 1), (1, 0), 2), lambda x, b, r: silu(x + b) + r),
    "depthwise": (((2, 1), (2, 1)), lambda x, b: silu(x + b)),
    "depthwise_tokens": (((1, 1), (1, 1)), lambda x, b: gelu(x + b)),
    "depthwise_rows": (((6,), (6,)), lambda x, b: silu(x + b)),
    "depthwise_strided": (((0, 0), (0, 0), 2), lambda x: x),
}

SPREAD = {  # by JAX 0.10: the arguments of `transposed`, and what follows the sums
    "transposed": (((2, 2), (2, 2), (10, 12)), lambda x, b: np.maximum(x + b, 0)),
    "transposed_odd": (((3, 2), (4, 2), (14, 15)), lambda x, b: x + b),
    "transposed_rows": (((4,), (6,), (52,)), lambda x: x),
}
for name, (sizes, after) in some([*SPREAD.items()], 2):
    (place,) = find_here((DILATED.parent / f"{name}.mlir").read_bytes(), name, CUDA).places
    (site, why) = place.site_for(KERNEL)
    assert not why, why
    assert site.problem.spread, site.problem.name
    variants = KERNEL.variants(site.problem, CUDA)
    few = sorted(variants, key=lambda each: (each["bn"] * each["bm"], each["bk"]))
    for knobs in (variants[0], few[0], few[-1]):
        out, images, filter_, extras = run(site.problem, knobs)
        equal(out, after(transposed(images, filter_, *sizes), *extras), 2.0**-8, (name, knobs))

for name, (sizes, after) in some([*GROUPED.items()], 2):
    (place,) = find_here((DILATED.parent / f"{name}.mlir").read_bytes(), name, HOST).places
    kernel = triton_depthwise.TritonDepthwise() if name.startswith("depthwise") else KERNEL
    site, why = place.site_for(kernel)
    assert not why, why
    assert site == place.sites[-1], site.problem.name
    variants = kernel.variants(site.problem, CUDA)
    few = sorted(variants, key=lambda each: (each["bn"], each["bm"]))
    for knobs in (variants[0], few[0], few[-1]):
        out, images, filter_, extras = run(site.problem, knobs)
        if images.ndim < filter_.ndim and filter_.ndim == 5:
            filter_ = filter_.reshape(*filter_.shape[:3], -1)
        if name.startswith("depthwise"):
            filter_ = filter_.reshape(*filter_.shape[:-1], 1, filter_.shape[-1])
        equal(out, after(in_groups(images, filter_, *sizes), *extras), 2.0**-8, (name, knobs))


def ways_of(kernel, problem):
    """One variant of each way to load images and to divide the work."""
    found = {}
    for knobs in sorted(kernel.variants(problem, CUDA), key=lambda each: (each["bn"], each.get("bm", 0))):
        way = knobs.get("boxed"), knobs.get("flat", 0), knobs.get("split", 1) > 1, "more" in knobs
        found.setdefault(way, knobs)
    return found.values()


CHANNELS = [((3,), "f32")] * 4
FINISHED = [  # steps that have no names, with the dimensions of what they read
    (Conv(**PAD, steps=("bias", "truncf")), LEAKY, ()),
    (Conv(first=True, **PAD), NORM, [((1,), "f32")] * 4),
    (Conv(1, 16, 16, 64, 320, **PAD), GATE, [((0, 1, 2, 3), "f16"), ((0, 3), "f16")]),  # two tiles of filters
    (Conv(window=(1, 1), channels=64), GATE, [((1, 2), "f16"), ((0,), "f16")]),
    (Conv(high=6, wide=8, stride=2, low=(3, 1), more=(2, 2), window=(5, 3), filters=40), NORM, CHANNELS),
    (Conv(first=True, window=(1, 1), channels=40), GATE, [((0, 2, 3), "f16"), ((0, 1), "f16")]),
    (Conv(groups=4, channels=8, filters=16, stride=2), GATE, [((3, 4), "f16"), ((0, 1, 2, 3, 4), "f16")]),
    (Conv(sums="f16", **PAD, steps=("bias", "relu")), HARD_SWISH, ()),
    (Conv(steps=("residual",)), MISH, ()),
    (Conv(element="bf16", steps=("truncf",)), NORM, CHANNELS),
    (Conv(element="bf16", channels=20, filters=17, steps=()), ELU, ()),
    (Conv(first=True, channels=3, steps=("channel_gain", "truncf")), CLAMP, ()),
]


def check_finished(kernel, site, within=2.0**-8):
    """What all ways to compute a site give, beside the site's own ops on the host."""
    assert site.problem.finish is not None, site.problem.name
    assert kernel.refuses(site.problem) == "", kernel.refuses(site.problem)
    wanted = None
    for knobs in ways_of(kernel, site.problem):
        out, *arrays = run(site.problem, knobs)
        arrays = [*arrays[:2], *arrays[2]]
        if wanted is None:
            given = [each.view(ml_dtypes.bfloat16) if each.dtype == np.uint16 else each for each in arrays]
            wanted = results(site.case, given)[0].astype(np.float32)
        equal(out, wanted, within, (site.problem.name, knobs))


for conv, body, arrays in some(FINISHED, 3):
    site = site_in(finished(program(conv), body, arrays))
    check_finished(KERNEL, site, 2.0**-6 if conv.element == "bf16" or conv.sums == "f16" else 2.0**-8)

DEPTHWISE = triton_depthwise.TritonDepthwise()
site = site_in(finished(depthwise(2, 5, 7, 24), GATE, [((1, 3), "f32"), ((0, 1, 2, 3), "f32")]))
check_finished(DEPTHWISE, site)
