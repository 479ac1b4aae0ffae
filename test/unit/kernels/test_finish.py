"""Ops without names after sums: found as one further step, and taken by kernels that compute it."""

import numpy as np
import pytest
from kernels.after_abi import results
from kernels.convs import Conv, program
from kernels.epilogues import with_epilogue
from kernels.finished import (
    ELU,
    GATE,
    LEAKY,
    NORM,
    UPSAMPLED,
    depthwise,
    finished,
    of_weights,
    two_added,
)
from kernels.problems import einsum, form_of, matmul, site_in, sites_in
from kernels.weights_given import arrays_of

from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.find import Place, find_here
from iree_tuner.kernels.kernel import why_not
from iree_tuner.kernels.nest import SUMS
from iree_tuner.kernels.product_shape import product_shape
from iree_tuner.kernels.triton_conv import TritonConv, finish_of
from iree_tuner.kernels.triton_depthwise import TritonDepthwise
from iree_tuner.kernels.triton_gemm import TritonGemm
from iree_tuner.kernels.variants import tolerance_for
from iree_tuner.targets import parse_target

CHANNELS = [((1,), "f32")] * 4
CUDA = parse_target("cuda:sm_90")
KERNEL = TritonGemm()

needs_triton = pytest.mark.skipif(bool(TritonConv().missing()), reason=TritonConv().missing())


def test_the_norm_of_channels_is_one_step() -> None:
    """Its loops are those of the result, whatever its layout; a kernel's are pixels, then filters."""
    site = site_in(finished(program(Conv(first=True)), NORM, CHANNELS))
    nest, pixels = site.problem.finish, finish_of(site.problem)
    assert site.problem.name == "conv_2x24x5x7x32x3x3_f16_f16_f32_truncf_computed"
    assert nest is not None
    assert nest.sizes == (2, 24, 5, 7)
    assert [each.input for each in nest.accesses] == [SUMS, 2, 3, 4, 5]
    assert pixels is not None
    assert (pixels.sizes, pixels.accesses[1].strides) == ((2, 5, 7, 24), (0, 0, 0, 1))


@pytest.mark.parametrize("kernel", [TritonConv(), TritonDepthwise(), TritonGemm()])
def test_only_kernels_that_say_so_are_asked(kernel) -> None:
    programs = {
        "triton_conv": program(Conv()), "triton_depthwise": depthwise(2, 4, 5, 16),
        "triton_gemm": einsum("mk,kn->mn", {"m": 16, "n": 32, "k": 64}),
    }  # fmt: skip
    (sites,) = sites_in(finished(programs[kernel.name], LEAKY))
    taken, why = Place(sites, ("main",)).site_for(kernel)
    assert (taken, why) == (sites[-1], "")
    assert taken.problem.finish is not None
    assert why_not(CGemm(), taken.problem) == "it computes only steps that have names"


def test_steps_with_names_come_before_it() -> None:
    (sites,) = sites_in(finished(program(Conv(steps=("bias", "truncf"))), GATE, [((3,), "f16")] * 2))
    steps = [each.problem.epilogue for each in sites]
    assert steps[-2:] == [("bias", "truncf"), ("bias", "truncf", "computed")]
    assert [each.element_type for each in sites[-1].problem.inputs] == ["f16", "f16", "f32", "f16", "f16"]


def test_of_two_products_that_are_added_one_takes_the_addition() -> None:
    """The other one ends with its own gate, and is read."""
    one, other = sites_in(two_added(20, 24, 16))
    assert [len(each[-1].problem.inputs) for each in (one, other)] == [3, 4]
    assert one[-1].problem.finish is not None
    assert one[-1].problem.finish.terms[-1].op == "arith.mulf"
    assert other[-1].problem.finish is not None
    assert other[-1].problem.finish.terms[-1].op == "arith.addf"


def test_what_others_use_is_no_part_of_it() -> None:
    text = finished(matmul(16, 32, 64), ELU)
    used = text.replace("return %finished0 :", "return %finished0, %r :")
    used = used.replace("tensor<16x32xf32> {\n", "(tensor<16x32xf32>, tensor<16x32xf32>) {\n", 1)
    (sites,) = sites_in(used.replace("-> (tensor", "-> (tensor").replace(
        "return %finished0, %r : tensor<16x32xf32>",
        "return %finished0, %r : tensor<16x32xf32>, tensor<16x32xf32>",
    ))  # fmt: skip
    assert [each.problem.epilogue for each in sites] == [()]


def test_integers_and_wider_results_are_none_of_it() -> None:
    """The result would be written with more bits than the sums have."""
    wide = "    %v = arith.extf {x} : {t} to f32"
    (sites,) = sites_in(finished(program(Conv()), wide, result="f32"))
    assert sites[-1].problem.epilogue == ("truncf",)
    test = "    %v = arith.cmpf ogt, {x}, %nought : {t}"
    (sites,) = sites_in(finished(program(Conv()), test, result="i1"))
    assert sites[-1].problem.epilogue == ("truncf",)


@pytest.mark.parametrize(("how", "last"), [("turned", ("computed", "moved")), ("bytes", ("computed",))])
def test_operands_may_be_moved_or_computed(how: str, last) -> None:
    text = finished(of_weights(20, 24, 32, how), GATE, [((1,), "f32"), ((0,), "f32")])
    (place,) = find_here(text.encode(), "p.mlir", CUDA).places
    site, why = place.site_for(TritonGemm())
    assert site is not None, why
    shape = product_shape(site.problem)
    assert site.problem.epilogue == last
    assert bool(site.problem.operands) == (how == "bytes")
    assert shape is not None
    assert [each.iterations for each in shape.finishes] == [20 * 24] * 2
    given = arrays_of(site.problem)
    x, w, gate, less = (each.astype(np.float32) for each in given)
    wanted = x @ (w.T if how == "turned" else w) / (1 + np.exp(-gate)) - less[:, None]
    for alone in (site.case, site.one_op):
        assert np.abs(results(alone, given)[0] - wanted).max() < 1e-3 * np.abs(wanted).max()


def test_what_is_repeated_behind_reshapes_is_read_where_it_is() -> None:
    (place,) = find_here(UPSAMPLED.encode(), "p.mlir", CUDA).places
    site, why = place.site_for(TritonGemm())
    assert site is not None, why
    assert [each.shape for each in site.problem.inputs][2:] == [(2, 3, 5, 48)]
    assert site.problem.finish is not None
    nest = site.problem.finish
    (read,) = (each for each in nest.accesses if each.input != SUMS)
    loops = np.indices(nest.sizes).reshape(len(nest.sizes), -1)
    small = np.arange(2 * 3 * 5 * 48).reshape(2, 3, 5, 48)
    np.testing.assert_array_equal(
        read.offset + np.array(read.strides) @ loops, small.repeat(2, axis=1).repeat(2, axis=2).ravel()
    )
    named, why = place.site_for(CGemm())  # other kernels read the whole as a residual
    assert named is not None, why
    assert named.problem.epilogue == ("truncf", "residual")


@needs_triton
@pytest.mark.parametrize("name", ["boxed", "gathered", "first", "groups", "rows", "depthwise"])
def test_it_is_made_without_a_gpu(name: str) -> None:
    convs = {
        "boxed": Conv(1, 16, 16, 64, 320, low=(1, 1), more=(1, 1)), "gathered": Conv(channels=20),
        "first": Conv(first=True), "groups": Conv(groups=4, channels=16, filters=16),
        "rows": Conv(2, 1, 50, 32, 48, window=(1, 1)),
    }  # fmt: skip
    text, kernel = depthwise(2, 4, 5, 32), TritonDepthwise()
    if name in convs:
        text, kernel = program(convs[name]), TritonConv()
    channel = 1 if name == "first" else 3
    arrays = [((channel,), "f32")] * 4
    if name == "groups":
        arrays = [((3, 4), "f32")] * 4
    elif name == "depthwise":
        text = finished(text, "    %v = arith.truncf {x} : {t} to f16", result="f16")
    problem = site_in(finished(text, NORM, arrays)).problem
    assert problem.finish is not None
    boxed = [each for each in kernel.variants(problem, CUDA) if bool(each.get("boxed")) == (name == "boxed")]
    code = kernel.make(problem, CUDA, boxed[0])
    assert b".entry" in code.data


def test_what_it_rounds_counts_for_tolerances() -> None:
    """A norm rounds once, to f16; a gate of f32 is as exact as sums."""
    narrow = site_in(finished(program(Conv(steps=("truncf",))), NORM, [((3,), "f32")] * 4)).problem
    assert (tolerance_for(narrow).factor_type, tolerance_for(narrow).factors) == ("f16", 288)
    gated = site_in(finished(program(Conv(sums="f16", steps=())), GATE, [((3,), "f16")] * 2)).problem
    assert (tolerance_for(gated).factor_type, tolerance_for(gated).factors) == ("f16", 288 // 5**2)
    wide = site_in(finished(program(Conv(steps=())), GATE, [((3,), "f32")] * 2)).problem
    assert tolerance_for(wide).factor_type == ""


@needs_triton
@pytest.mark.parametrize("form", ["plain", "split", "persistent", "parts", "one_row"])
def test_all_forms_of_products_are_made(form: str) -> None:
    rows = {"one_row": 1, "parts": 4096}.get(form, 64)
    arrays = [((1,) if form == "parts" else (0, 1), "f16"), ((0,), "f16")]
    text = finished(with_epilogue(rows, 512, 512, ("truncf",), element="f16", narrow="f16"), GATE, arrays)
    found = site_in(text).problem
    assert found.finish is not None
    wanted = "persistent" if form == "parts" else form
    own = [each for each in KERNEL.variants(found, CUDA) if form_of(each) == wanted]
    knobs = next(each for each in own if form != "parts" or each["parts"] == 2)
    assert b".entry" in KERNEL.make(found, CUDA, knobs).data
