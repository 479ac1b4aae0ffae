"""The spaces of root ops of each family: generic ops, attention, contractions and convolutions."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from iree_tuner.ops.contraction import packed_name
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.family import ROOT
from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints
from iree_tuner.space.expressions import Integer, any_of, integer, product, require
from iree_tuner.space.llvm_cpu.attributes import pipeline
from iree_tuner.space.llvm_cpu.mmt4d import mmt4d_constraints
from iree_tuner.space.llvm_cpu.multi_tiling import Tiling, require_small_vector
from iree_tuner.targets import CpuLimits

# Reductions, softmax and elementwise ops, with the other compute ops of their dispatch.


def generic_constraints(workload: Workload, limits: CpuLimits, context: ir.Context) -> ir.Module:
    """The constraints op of a generic op and its companions.

    A dispatch that only copies is bufferized before specs run (BufferizeCopyOnlyDispatches), and is
    lowered by BufferOpsTileAndVectorize.
    """
    buffers = facts_of(workload.dag).on_buffers

    def fill() -> Mapping[str, ir.Attribute]:
        tiling = Tiling(workload, limits, cached=not buffers)
        tiling.declare_tiles()
        tiling.limit_vector()
        if not buffers:
            tiling.declare_peeling()
            labels = facts_of(workload.dag).labels
            before = labels[: labels.index(ROOT)] if ROOT in labels else ()  # in the dispatch
            for companion in workload.companions:
                # Fills are fused into the ops whose initial values they write, and get no tiles.
                if "fill" not in companion.op:
                    tiling.declare_companion(companion, companion.label in before)
        return tiling.knobs()

    name = "BufferOpsTileAndVectorize" if buffers else "DoubleTilingExpert"
    return build_constraints(pipeline(name, context), fill, context)


# Online attention through LinalgExtTileAndVectorize.


# Scores and the running output are kept in f32, whatever the operands' types.
_ACCUMULATOR = ElementType.named("f32")


def attention_constraints(workload: Workload, limits: CpuLimits, context: ir.Context) -> ir.Module:
    """The constraints op of online attention, which becomes two contractions after tiling."""

    def fill() -> Mapping[str, ir.Attribute]:
        tiling = Tiling(workload, limits)
        tiling.declare_tiles()
        for loop in workload.role("k1"):
            # A smaller tile makes a softmax of parts of the scores (docs/upstream/attention_k1_tile.md).
            tile, size = tiling.vector[loop], tiling.workload.loops[loop]
            if not isinstance(tile, int):
                require(tile.equals(size), f"vector_{loop} ({{}}) must be the whole of k1 ({size})", tile)
        for left_out, what in (
            ("n", "the contraction of query and key"),
            ("k1", "the contraction with value"),
        ):
            tiles = [t for loop, t in tiling.vector.items() if loop not in workload.role(left_out)]
            require_small_vector(tiles, _ACCUMULATOR, what, limits)
        return tiling.knobs()

    return build_constraints(pipeline("LinalgExtTileAndVectorize", context), fill, context)


# Contractions through DoubleTilingExpert: distribution, then vector tiles within it; packed ones: mmt4d.


_LONGEST_SCALAR_REDUCTION = 512
_MOST_VECTORS = 512


def contraction_constraints(workload: Workload, limits: CpuLimits, context: ir.Context) -> ir.Module:
    """The constraints op of a contraction."""
    if packed_name(workload.maps):
        return mmt4d_constraints(workload, limits, context)

    def fill() -> Mapping[str, ir.Attribute]:
        tiling = Tiling(workload, limits, cached=True)
        tiling.declare_tiles()
        tiling.limit_contract()
        _limit_unrolling(tiling)
        _limit_vectors(tiling)
        tiling.declare_peeling()
        return tiling.knobs()

    return build_constraints(pipeline("DoubleTilingExpert", context), fill, context)


def _limit_vectors(tiling: Tiling) -> None:
    """A tile becomes a multiply-add of vectors along the result's rows for each of its other elements.

    Each takes five to twelve operations before LLVM. Of 100 sampled tiles of a 512x768x1024 f32 matmul, the
    10 of more than 1024 vectors had 8,000 to 29,000 of these, 8 times what the default has, or were not
    unrolled within a minute. In 11 recorded contractions (recordings/llvm-cpu, taken with that limit) half
    of the 237 with more than 512 were given up, and the others reach 7 to 49 % of the best one's speed.
    """
    workload, limits = tiling.workload, tiling.limits
    if not workload.role("n") or not workload.role("m"):
        return
    row = workload.role("n")[-1]
    if workload.maps[-1].dimensions[-1] != row:
        return
    lanes = max(1, limits.native_vector_bytes // workload.types[-1].bytes)
    along = (integer(tiling.vector[row]) + (lanes - 1)) // lanes
    count = product([along, *(integer(tile) for loop, tile in tiling.vector.items() if loop != row)])
    message = (
        f"a tile of {{}} vector multiplications compiles for too long: at most {_MOST_VECTORS} are unrolled"
    )
    require(count <= _MOST_VECTORS, message, count)


def _limit_unrolling(tiling: Tiling) -> None:
    """A long reduction to one element, along an operand that is not contiguous there, compiles for minutes.

    It is unrolled into scalar loads, which LLVM takes more than linear time for: 3 s for 512 elements,
    12 s for 1024, over a minute for 4096 (1x1024x4096 f32; with two results instead of one, 6 s for 2048).
    """
    workload = tiling.workload
    reduced = workload.reduced
    # Operands that are read along a reduction loop, which may be their innermost dimension.
    walked = [each.dimensions for each in workload.maps[:-1] if {*each.dimensions} & {*reduced}]
    if all(dimensions[-1] in reduced for dimensions in walked):
        return
    results = product([integer(tile) for loop, tile in tiling.vector.items() if loop not in reduced])
    length = product([integer(tiling.vector[loop]) for loop in reduced])
    message = "a reduction of {} elements to one is unrolled into scalars, and compiles for too long"
    require((results > 1) | (length <= _LONGEST_SCALAR_REDUCTION), message, length)


# Convolutions: ConvTileAndDecomposeExpert for the 2-D ones it can decompose, else DoubleTilingExpert.
#
# The compiler makes the same choice: grouped convolutions, and convolutions of other ranks or layouts,
# are tiled as generic ops.


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
