"""Convolutions: ConvTileAndDecomposeExpert for the 2-D ones it can decompose, else DoubleTilingExpert.

The compiler makes the same choice: grouped convolutions, and convolutions of other ranks or layouts,
are tiled as generic ops.
"""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints
from iree_tuner.space.expressions import Integer, any_of, integer, product, require
from iree_tuner.space.llvm_cpu.attributes import pipeline
from iree_tuner.space.llvm_cpu.ladders import require_small_vector
from iree_tuner.space.llvm_cpu.multi_tiling import Tiling
from iree_tuner.targets import CpuLimits

# Loops of each role, and the filter's and the output's dimensions, of what setConvRootConfig in
# LLVMCPU/KernelDispatch.cpp takes: conv_2d_nhwc_hwcf, conv_2d_nchw_fchw, depthwise_conv_2d_nhwc_hwc.
_ROLES = ("batch", "output_image", "output_channel", "filter", "input_channel", "depth")
_DECOMPOSABLE = (
    (((0,), (1, 2), (3,), (4, 5), (6,), ()), (4, 5, 6, 3), (0, 1, 2, 3)),
    (((0,), (2, 3), (1,), (5, 6), (4,), ()), (1, 4, 5, 6), (0, 1, 2, 3)),
    (((0,), (1, 2), (), (4, 5), (), (3,)), (4, 5, 3), (0, 1, 2, 3)),
)


def convolution_constraints(workload: Workload, limits: CpuLimits, context: ir.Context) -> ir.Module:
    """The constraints op of a convolution."""
    # Whether the compiler can rewrite its tiles as one-dimensional ones.
    roles = tuple(workload.role(name) for name in _ROLES)
    decompose = (roles, *(each.dimensions for each in workload.maps[1:])) in _DECOMPOSABLE

    def fill() -> Mapping[str, ir.Attribute]:
        tiling = Tiling(workload, limits, cached=not decompose)
        tiling.declare_tiles()
        if decompose:
            _require_decomposition(tiling)
            _limit_row(tiling)
        else:
            tiling.limit_vector()
            # ConvTileAndDecomposeExpert gives the same bytes with and without it.
            tiling.declare_peeling()
        return tiling.knobs()

    name = "ConvTileAndDecomposeExpert" if decompose else "DoubleTilingExpert"
    return build_constraints(pipeline(name, context), fill, context)


def _require_decomposition(tiling: Tiling) -> None:
    """`verifyConvTileAndDecomposeExpertConfig`: one image dimension must be gone after tiling."""
    images, filters = tiling.workload.role("output_image"), tiling.workload.role("filter")
    gone = [
        product([integer(tiling.vector[loop]) for loop in pair]).equals(1)
        for pair in zip(images, filters, strict=True)
    ]
    require(
        any_of(gone), "can't decompose the conv op: one image loop and its filter loop need vector tiles of 1"
    )


def _limit_row(tiling: Tiling) -> None:
    """A one-dimensional convolution is a contraction for each tap, on slices of a row that it reads whole."""
    workload, vector = tiling.workload, tiling.vector
    filters = workload.role("filter")
    tap = [tile for loop, tile in vector.items() if loop not in filters]
    require_small_vector(tap, tiling.widest, "the vector contraction of a tap", tiling.limits)
    strides = workload.parameter("strides") or (1,) * len(filters)
    dilations = workload.parameter("dilations") or (1,) * len(filters)
    row: list[Integer | int] = [vector[loop] for loop in workload.role("input_channel", "depth")]
    for image, window, stride, dilation in zip(
        workload.role("output_image"), filters, strides, dilations, strict=True
    ):
        row.append((integer(vector[image]) - 1) * stride + (integer(vector[window]) - 1) * dilation + 1)
    require_small_vector(row, workload.types[0], "the row that is read", tiling.limits)
    kernel = [tile for loop, tile in vector.items() if loop not in workload.role("output_image")]
    require_small_vector(kernel, workload.types[1], "the filter that is read", tiling.limits)
