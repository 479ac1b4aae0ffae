"""Convolutions in Triton: found with zeros around images, computed as defined, made without a GPU."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from amounts import some
from kernels.convs import Conv, expected, program
from kernels.problems import site_in, sites_in
from kernels.test_attention_sites import results

from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.executable import build_kernel_here, why_unfit, with_scratch
from iree_tuner.kernels.find import Place, find_here
from iree_tuner.kernels.kernel import KernelError, Problem, scratch_room
from iree_tuner.kernels.shapes import conv_shape
from iree_tuner.kernels.triton_conv import TritonConv, plans, shape_for
from iree_tuner.kernels.triton_depthwise import TritonDepthwise
from iree_tuner.targets import parse_target

KERNEL = TritonConv()
CUDA = parse_target("cuda:sm_90")
PADDED = Conv(low=(1, 1), more=(1, 2), steps=("bias", "relu", "truncf"))

needs_triton = pytest.mark.skipif(bool(KERNEL.missing()), reason=KERNEL.missing())


def problem(conv: Conv = PADDED) -> Problem:
    return site_in(program(conv)).problem


@needs_triton
def test_the_sources_compute_it(tmp_path: Path) -> None:
    """By Triton's interpreter, in a process of its own; see its cases."""
    script = Path(__file__).parent / "interpreted_convs.py"
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_epilogue_comes_without_and_with_padding() -> None:
    (sites,) = sites_in(program(PADDED))
    assert [(bool(each.problem.padding), each.problem.epilogue) for each in sites] == [
        (padded, PADDED.steps[:steps]) for steps in range(4) for padded in (False, True)
    ]
    assert [each.problem.inputs[0].shape for each in sites[-2:]] == [PADDED.padded, (2, 7, 9, 32)]
    assert sites[-1].problem.padding == ((0, 0), (1, 1), (1, 2), (0, 0))
    taken, _ = Place(sites, ("main",)).site_for(KERNEL)
    assert taken is sites[-1]


@pytest.mark.parametrize(
    ("name", "kernel", "inputs", "steps"),
    [
        ("grouped", KERNEL, ((2, 7, 9, 48), (3, 3, 16, 3, 24), (72,)), ("bias", "truncf", "relu")),
        ("grouped_strided", KERNEL, None, ("bias", "truncf", "silu", "residual")),
        ("depthwise", TritonDepthwise(), ((2, 7, 9, 20), (5, 3, 20), (20,)), ("bias", "silu")),
        ("depthwise_tokens", TritonDepthwise(), ((2, 7, 9, 72), (3, 3, 72), (72,)), ("bias", "gelu")),
        ("depthwise_rows", TritonDepthwise(), ((2, 50, 40), (13, 40), (40,)), ("bias", "silu")),
    ],
)
def test_padding_before_groups_and_steps_after_reshapes_are_part_of_it(name, kernel, inputs, steps) -> None:
    """Programs by JAX. The kernel gets arrays as the program has them: groups are joined in its image."""
    text = (Path(__file__).parent / "convolutions" / f"{name}.mlir").read_bytes()
    (place,) = find_here(text, name, parse_target("llvm-cpu:host")).places
    site, why = place.site_for(kernel)
    assert not why
    assert site is not None
    assert site.problem.padding
    assert site.problem.epilogue == steps
    assert inputs is None or tuple(each.shape for each in site.problem.inputs) == inputs


@pytest.mark.parametrize("conv", some([PADDED, replace(PADDED, sums="f16", steps=("bias", "relu"))], 2))
def test_what_is_found_computes_what_the_program_does(conv: Conv) -> None:
    site = site_in(program(conv))
    rng = np.random.default_rng(0)
    kinds = {"f16": np.float16, "f32": np.float32}
    given = [rng.standard_normal(each.shape).astype(kinds[each.element_type]) for each in site.problem.inputs]
    wanted = expected(conv, given[0], given[1], given[2:])
    for text in (site.case, site.alone):
        assert np.abs(results(text, given) - wanted).max() < 2e-2 * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("what", "other"),
    [
        ("tensor.yield %zero_f16", "tensor.yield %one"),
        ("low[0, 1, 1, 0] high[0, 1, 2, 0]", "low[0, 3, 1, 0] high[0, -1, 2, 0]"),
    ],
)
def test_other_padding_is_not_taken(what: str, other: str) -> None:
    text = program(PADDED).replace("%zero_f32 =", "%one = arith.constant 1.0 : f16\n      %zero_f32 =", 1)
    assert what in text
    assert not site_in(text.replace(what, other)).problem.padding


def test_a_row_for_each_image_may_have_sizes_of_one() -> None:
    """As PyTorch exports them: `t[:, :, None, None]`."""
    text = program(Conv(first=True, steps=("truncf", "image_channel_bias", "relu")))
    for what, other in (("d3) -> (d0, d1)>", "d3) -> (d0, d1, 0, 0)>"), ("<2x24xf16>", "<2x24x1x1xf16>")):
        assert what in text
        text = text.replace(what, other)
    assert site_in(text).problem.epilogue == ("truncf", "image_channel_bias", "relu")
    moved = text.replace("(d0, d1, 0, 0)", "(d1 - d1, d1, 0, 0)").replace("<2x24x1x1xf16>", "<1x24x1x1xf16>")
    assert site_in(moved).problem.epilogue == ("truncf", "channel_bias", "relu")


def test_others_take_the_padded_image() -> None:
    (sites,) = sites_in(program(replace(PADDED, element="f32", steps=("bias", "relu"))))
    assert CGemm().refuses(sites[-1].problem) == "it cannot pad the image"
    taken, _ = Place(sites, ("main",)).site_for(CGemm())
    assert taken is sites[-2]
    assert not sites[-2].problem.padding


@pytest.mark.parametrize(
    ("conv", "why"),
    [
        (Conv(element="f32", steps=()), "its types are f32, f32, f32"),
        (Conv(steps=("channel_bias",)), "its epilogue has channel_bias"),
        (Conv(first=True, steps=("bias",)), "its epilogue has bias"),
        (Conv(steps=("image_channel_bias",)), "its epilogue has image_channel_bias"),
        (Conv(groups=2, steps=("bias",)), "its epilogue has bias"),
    ],
)
def test_refused(conv: Conv, why: str) -> None:
    assert why in KERNEL.refuses(problem(conv))


def test_an_unknown_step_is_refused() -> None:
    assert "its epilogue has tanh" in KERNEL.refuses(replace(problem(), epilogue=("tanh",)))


def test_other_targets() -> None:
    with pytest.raises(KernelError, match="does not compute"):
        KERNEL.make(problem(), parse_target("hip:gfx942"), KERNEL.variants(problem(), CUDA)[0])


@pytest.mark.parametrize(
    ("conv", "boxed"),
    [
        (Conv(16, 14, 14, 256, 256, low=(1, 1), more=(1, 1)), True),
        (Conv(16, 28, 28, 256, 256, stride=2, low=(0, 0), more=(1, 1)), True),
        (Conv(16, 27, 28, 256, 256, stride=2, low=(1, 0), more=(1, 1)), False),  # 2 does not divide 27
        (Conv(16, 56, 56, 64, 256, (1, 1)), True),
        (Conv(16, 14, 14, 256, 255, low=(1, 1), more=(1, 1)), False),  # lines of the filter are not aligned
        (Conv(16, 28, 28, 3, 64, (7, 7), stride=2, low=(2, 2), more=(3, 3)), False),
        (Conv(16, 14, 14, 256, 256, first=True, low=(1, 1), more=(1, 1)), False),
    ],
)
def test_variants(conv: Conv, boxed: bool) -> None:
    """All different; boxes are for what the copy engine reads."""
    found = KERNEL.variants(problem(conv), CUDA)
    assert len(found) == len({tuple(sorted(each.items())) for each in found}) > 10
    assert any(each["boxed"] for each in found) == boxed
    assert conv.channels > 3 or all(each["flat"] for each in found)


def test_full_waves_come_first() -> None:
    """Of one size of tile what leaves fewer multiprocessors idle: 98 workgroups rather than 49."""
    shape = conv_shape(problem(Conv(16, 14, 14, 256, 256, low=(1, 1), more=(1, 1))))
    assert shape is not None
    first, *others = [each for each in plans(shape) if each.split == 1]
    assert 66 < first.tiles <= 132
    assert first.cycles <= min(each.cycles for each in others)


def test_tiles_are_no_powers_of_two_where_that_fills_a_wave() -> None:
    """112 tiles of 192 filters are one wave, of three quarters of the work of one of 80 tiles of 256."""
    shape = conv_shape(problem(Conv(2, 34, 34, 1280, 1280)))
    assert shape is not None
    first = plans(shape)[0]
    assert (first.across, first.bm, first.tiles) == (192, 128, 112)
    assert first.knobs["warps"] == 4, "eight read more shared memory"


def test_few_tiles_with_long_sums_are_also_split() -> None:
    """Long ones early, as measured: 72 steps rather than 32. Partial sums fit into scratch memory."""
    deep = problem(Conv(16, 7, 7, 512, 512, low=(1, 1), more=(1, 1)))
    shape = shape_for(deep)
    assert shape is not None
    found = plans(shape)
    split = [place for place, each in enumerate(found) if each.split > 1]
    assert split[0] < 8
    assert not any(
        each.split > 1 for each in plans(shape_for(problem(Conv(16, 7, 7, 2048, 512, (1, 1)))))[:8]
    )
    for each in (found[place] for place in split):
        assert each.workgroups == each.tiles * each.split <= 264
        assert each.bm * each.knobs["bn"] * 4 * each.workgroups == each.partial_bytes <= scratch_room(deep)
    assert not any(each.split > 1 for each in plans(shape_for(problem(Conv(16, 56, 56, 64, 256, (1, 1))))))


@needs_triton
def test_a_cluster_adds_up() -> None:
    """Partial sums are in the scratch memory, which is bound after the result."""
    deep = problem(Conv(16, 7, 7, 2048, 512, (1, 1), steps=("bias", "relu", "truncf")))
    knobs = next(each for each in KERNEL.variants(deep, CUDA) if each.get("split", 1) > 1)
    code = KERNEL.make(deep, CUDA, knobs)
    text = code.data.decode()
    assert f".explicitcluster\n.reqnctapercluster {knobs['split']}, 1, 1" in text
    assert "barrier.cluster.arrive.release.aligned" in text
    listed = text.partition("(")[2].partition(")")[0]
    assert [each.split()[-1].rpartition("_")[2] for each in listed.split(",")] == ["0", "1", "2", "8", "9"]
    assert code.scratch_bytes == code.launch.workgroups[0] * knobs["bm"] * knobs["bn"] * 4


@needs_triton
@pytest.mark.parametrize("boxed", [0, 1])
def test_made(boxed: int) -> None:
    """Parameters are the bindings; what the copy engine reads goes from shared memory to the product."""
    conv = Conv(2, 16, 16, 64, 128, low=(1, 1), more=(1, 1), steps=("bias", "residual", "truncf"))
    found = replace(problem(conv), epilogue=("bias", "gelu_tanh", "residual", "truncf"))
    wanted = (boxed, 1)
    knobs = next(
        each
        for each in KERNEL.variants(found, CUDA)
        if (each["boxed"], each.get("split", 1)) == wanted and each["bn"] >= 64
    )
    code = KERNEL.make(found, CUDA, knobs)
    listed = code.data.decode().partition("(")[2].partition(")")[0]
    numbers = [each.split()[-1].rpartition("_")[2] for each in listed.split(",")]
    assert numbers == ["0", "1", "2", "3", "8", *(["10"] if boxed else [])]
    assert bool(code.scratch_bytes) == bool(boxed)
    assert 0 < code.launch.shared_bytes <= 227 * 1024
    assert (b"cp.async.bulk.tensor" in code.data) == bool(boxed)
    assert b"ldmatrix" not in code.data or not boxed


def test_rows_are_images_of_one_line() -> None:
    """A dilated convolution over time, with its padding and bias."""
    text = (Path(__file__).parent / "convolutions" / "dilated_rows.mlir").read_bytes()
    (place,) = find_here(text, "p.mlir", parse_target("llvm-cpu:host")).places
    problem = place.sites[-1].problem
    assert (problem.epilogue, problem.padding) == (("bias", "truncf"), ((0, 0), (6, 6), (0, 0)))
    assert KERNEL.refuses(problem) == ""
    shape = shape_for(problem)
    assert (shape.in_h, shape.in_w, shape.out_h, shape.out_w) == (1, 50, 1, 50)
    assert (shape.window_h, shape.window_w, shape.low, shape.dilations) == (1, 5, (0, 6), (1, 3))
    assert (shape.image, shape.result) == ((1600, 1600, 32, 1, 0), (2400, 2400, 48, 1, 0))
    assert {each["boxed"] for each in KERNEL.variants(problem, CUDA)} == {0, 1}


@needs_triton
def test_timed_alone_as_one_dispatch(only_dispatch) -> None:
    """Of the program the compiler makes two dispatches; the kernel takes the place of one that has both."""
    site = site_in(program(PADDED))
    harness = only_dispatch(site.alone.decode(), CUDA).harness
    assert why_unfit(harness, site.problem) == ""
    code = KERNEL.make(site.problem, CUDA, KERNEL.variants(site.problem, CUDA)[0])
    roomy = with_scratch(harness, max(code.scratch_bytes, 64), CUDA.flags)
    built = build_kernel_here(roomy, CUDA.flags, site.problem, code)
    assert (built.outcome, built.message) == ("ok", "")


@pytest.mark.parametrize(
    ("window", "images", "sizes", "windows", "low"),
    [
        ((1, 3, 3), 8, (6, 5), (3, 3), (1, 1)),
        ((3, 1, 1), 2, (4, 30), (3, 1), (1, 0)),
        ((1, 1, 1), 8, (6, 5), (1, 1), (0, 0)),
        ((1, 1, 3), 8, (6, 5), (1, 3), (0, 1)),
    ],
)
def test_three_dimensions_are_two_where_windows_are_flat(window, images, sizes, windows, low) -> None:
    """The frames of a film are images, or the pixels of an image are a line."""
    pads = ", ".join(f"[{each // 2}, {each // 2}]" for each in window)
    filter_ = f"{'x'.join(map(str, window))}x16x8"
    text = f"""
    func.func @main(%x: tensor<2x4x6x5x16xf16>, %w: tensor<{filter_}xf16>) -> tensor<2x4x6x5x8xf32> {{
      %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f],
          window = {{pad = [{pads}]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
          : (tensor<2x4x6x5x16xf16>, tensor<{filter_}xf16>) -> tensor<2x4x6x5x8xf32>
      return %0 : tensor<2x4x6x5x8xf32>
    }}"""
    (place,) = find_here(text.encode(), "p.mlir", CUDA).places
    problem = place.sites[-1].problem
    assert KERNEL.refuses(problem) == ""
    shape = conv_shape(problem)
    assert shape is not None
    assert (shape.images, shape.in_h, shape.in_w) == (images, *sizes) == (images, shape.out_h, shape.out_w)
    assert (shape.window_h, shape.window_w) == windows
    assert shape.low == low
    assert shape.image == (16 * sizes[0] * sizes[1], 16 * sizes[1], 16, 1, 0)
    assert shape.result == (8 * sizes[0] * sizes[1], 8 * sizes[1], 8, 1, 0)
    assert shape.filter == (128, 8, 1, 0)


def test_windows_of_three_dimensions_are_refused() -> None:
    text = """
    func.func @main(%x: tensor<2x4x6x5x16xf16>, %w: tensor<3x3x3x16x8xf16>) -> tensor<2x2x4x3x8xf32> {
      %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f],
          window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
          : (tensor<2x4x6x5x16xf16>, tensor<3x3x3x16x8xf16>) -> tensor<2x2x4x3x8xf32>
      return %0 : tensor<2x2x4x3x8xf32>
    }"""
    (place,) = find_here(text.encode(), "p.mlir", CUDA).places
    assert "not a convolution of rows or images" in KERNEL.refuses(place.sites[-1].problem)
