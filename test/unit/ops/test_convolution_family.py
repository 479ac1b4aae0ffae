import pytest
from op_samples import named, only, prepare, sample, workloads

from iree_tuner.ops.check import check_op_family
from iree_tuner.ops.convolution import Convolution

NHWC = ["tensor<2x11x13x5xf32>", "tensor<3x3x5x7xf32>", "tensor<2x9x11x7xf32>"]
STRIDED = "{strides = dense<[2, 1]> : tensor<2xi64>}"
DILATED = "{dilations = dense<2> : tensor<2xi64>}"
KINDS = {
    "nhwc": (named("conv_2d_nhwc_hwcf", NHWC), "conv", (1, 1), (1, 1)),
    "strided": (
        named("conv_2d_nhwc_hwcf", [*NHWC[:2], "tensor<2x5x11x7xf32>"], STRIDED), "conv", (2, 1), (1, 1),
    ),
    "dilated": (
        named("conv_2d_nhwc_hwcf", [*NHWC[:2], "tensor<2x7x9x7xf32>"], DILATED), "conv", (1, 1), (2, 2),
    ),
    "nchw": (
        named("conv_2d_nchw_fchw", ["tensor<2x5x11x13xf16>", "tensor<7x5x3x3xf16>", "tensor<2x7x9x11xf32>"]),
        "conv", (1, 1), (1, 1),
    ),
    "grouped": (
        named(
            "conv_2d_nhwgc_gfhwc",
            ["tensor<2x11x13x4x5xf32>", "tensor<4x7x3x3x5xf32>", "tensor<2x9x11x4x7xf32>"],
        ),
        "grouped_conv", (1, 1), (1, 1),
    ),
    "depthwise": (
        named(
            "depthwise_conv_2d_nhwc_hwc",
            ["tensor<2x11x13x5xf32>", "tensor<3x3x5xf32>", "tensor<2x9x11x5xf32>"],
        ),
        "depthwise_conv", (1, 1), (1, 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_describe(kind):
    payload, name, strides, dilations = KINDS[kind]
    workload = only(payload)
    assert (workload.family, workload.op) == ("convolution", name)
    assert workload.parameter("strides") == strides
    assert workload.parameter("dilations") == dilations
    assert workload.sizes("batch") == (2,)
    assert workload.sizes("filter") == (3, 3)


def test_roles_of_an_nhwc_convolution():
    workload = only(KINDS["nhwc"][0])
    assert workload.sizes("output_image") == (9, 11)
    assert workload.sizes("output_channel") == (7,)
    assert workload.sizes("input_channel") == (5,)
    assert workload.sizes("depth") == ()


@pytest.mark.parametrize("kind", KINDS)
def test_the_generic_form_is_the_same_workload(kind):
    payload = KINDS[kind][0]
    assert only(prepare(payload, "linalg-generalize-named-ops")) == only(payload)


def test_pooling_is_no_convolution():
    pooling = named("pooling_nhwc_sum", ["tensor<2x11x13x5xf32>", "tensor<3x3xf32>", "tensor<2x9x11x5xf32>"])
    assert only(pooling).family == "generic"


def test_a_dynamic_channel_is_not_described():
    dynamic = [each.replace("13x5x", "13x?x").replace("3x5x7", "3x?x7") for each in NHWC]
    assert workloads(named("conv_2d_nhwc_hwcf", dynamic)) == []


def test_contract():
    unstrided, strided = KINDS["nhwc"][0], KINDS["strided"][0]
    taller = strided.replace("11x13", "12x13")  # same loops, another image
    samples = [sample(payload) for payload, *_ in KINDS.values()] + [sample(strided, unstrided)]
    assert only(taller) == only(strided)
    assert check_op_family(Convolution(), samples) == []
