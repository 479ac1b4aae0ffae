"""The spaces of root ops of each family: generic ops, attention, contractions, packed too, convolutions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from iree.compiler import ir

from iree_tuner.ops.attention import AttentionLoops
from iree_tuner.ops.contraction import packed_name
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.family import ROOT
from iree_tuner.ops.generic import MASKED_ATTENTION
from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import build_constraints, level
from iree_tuner.space.expressions import Integer, any_of, integer, product, require
from iree_tuner.space.llvm_cpu.attributes import LOWERING_CONFIG, pipeline
from iree_tuner.space.llvm_cpu.multi_tiling import Tiling, coarseness_for, require_small_vector, tile_knob
from iree_tuner.targets import CpuLimits

# Reductions, softmax and elementwise ops, with the other compute ops of their dispatch.


def generic_constraints(workload: Workload, limits: CpuLimits) -> ir.Module:
    """The constraints op of a generic op and its companions.

    A dispatch that only copies is bufferized before specs run (BufferizeCopyOnlyDispatches), and is
    lowered by BufferOpsTileAndVectorize. Masked attention is attention, which no other pipeline takes apart.
    """
    if workload.op == MASKED_ATTENTION:
        return attention_constraints(workload, limits)
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
    return build_constraints(pipeline(name), fill)


# Online attention through LinalgExtTileAndVectorize.


# Scores and the running output are kept in f32, whatever the operands' types.
_ACCUMULATOR = ElementType.named("f32")


def attention_constraints(workload: Workload, limits: CpuLimits) -> ir.Module:
    """The constraints op of online attention, which becomes two contractions after tiling."""

    def fill() -> Mapping[str, ir.Attribute]:
        tiling = Tiling(workload, limits)
        tiling.declare_tiles()
        loops = AttentionLoops.of(workload)
        for loop in loops.k1:
            # A smaller tile makes a softmax of parts of the scores (docs/upstream/attention_k1_tile.md).
            tile, size = tiling.vector[loop], tiling.workload.loops[loop]
            if not isinstance(tile, int):
                require(tile.equals(size), f"vector_{loop} ({{}}) must be the whole of k1 ({size})", tile)
        for left_out, what in (
            (loops.n, "the contraction of query and key"),
            (loops.k1, "the contraction with value"),
        ):
            tiles = [t for loop, t in tiling.vector.items() if loop not in left_out]
            require_small_vector(tiles, _ACCUMULATOR, what, limits)
        return tiling.knobs()

    return build_constraints(pipeline("LinalgExtTileAndVectorize"), fill)


# Contractions through DoubleTilingExpert: distribution, then vector tiles within it; packed ones: mmt4d.


_LONGEST_SCALAR_REDUCTION = 512
_MOST_VECTORS = 512


def contraction_constraints(workload: Workload, limits: CpuLimits) -> ir.Module:
    """The constraints op of a contraction."""
    if packed_name(workload.maps):
        return mmt4d_constraints(workload, limits)

    def fill() -> Mapping[str, ir.Attribute]:
        tiling = Tiling(workload, limits, cached=True)
        tiling.declare_tiles()
        tiling.limit_contract()
        _limit_unrolling(tiling)
        _limit_vectors(tiling)
        tiling.declare_peeling()
        return tiling.knobs()

    return build_constraints(pipeline("DoubleTilingExpert"), fill)


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


def convolution_constraints(workload: Workload, limits: CpuLimits) -> ir.Module:
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
    return build_constraints(pipeline(name), fill)


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


# Data-tiled contractions through Mmt4dTilingExpert: how many of their tiles go together.
#
# `linalg.mmt4d` multiplies matrices of tiles: its outer loops m1, n1, k1 walk the tiles, its inner loops m0,
# n0, k0 the elements of one. How large a tile is, the compiler decides when it chooses encodings, before
# there are dispatches. Source: getMmt4dLoweringConfig in LLVMCPU/KernelDispatch.cpp, and
# addMmt4dTilingExpertPassPipeline in LLVMCPU/Passes.cpp.
#
# Where the target's microkernel takes the types, it is called on the tiles that `vector_common_parallel` puts
# together, with the loop over k1 inside. Elsewhere the tiles are vectorized.
#
# Attributes without a knob are refused by the compiler, or change no byte of code:
#
# * the inner loops. With smaller vector tiles a workgroup's result is not unpacked tile by tile but in one
#   vector as large as itself, which the compiler refuses from 32 KiB on.
# * the batch's vector tile: unpacking 2 x 3 x 3 tiles of 16x16 compiles for more than a minute.
# * `vector_reduction`, where the microkernel is called.
# * cache tiles, `vector_inner_parallel` and peeling: the pipeline does not look at them.


_INNER = 3  # m0, n0, k0: the last loops
_MICROKERNEL_TYPES = {
    ("f32", "f32", "f32"), ("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32"),
    ("bf16", "bf16", "bf16"), ("i8", "i8", "i32"), ("i8", "i4", "i32"), ("i16", "i16", "i32"),
    ("i16", "i8", "i32"),
}  # fmt: skip
"""Source: matchDAGForUKernel of Mmt4DOp, Common/CPU/CPULowerToUKernels.cpp."""

_UNROLLED = 64
"""Vector multiplications that may be unrolled: 64 compile in up to 5 s, 256 in up to 28 s, 496 in
more than a minute (f32 tiles of 16x16)."""


def mmt4d_constraints(workload: Workload, limits: CpuLimits) -> ir.Module:
    """The constraints op of a contraction on packed operands."""
    count = len(workload.loops) - _INNER
    k1 = count - 1
    spread = range(k1)  # the distributed loops: a batch, m1, n1
    vectorized = not (limits.mmt4d_microkernel and tuple(map(str, workload.types)) in _MICROKERNEL_TYPES)
    grouped = [*workload.role("m")[:1], *workload.role("n")[:1], *([k1] if vectorized else [])]

    def fill() -> Mapping[str, ir.Attribute]:
        coarseness = _coarseness(workload, [*spread, *([k1] if vectorized else [])], limits)
        vector = _declare(workload, "vector", grouped, coarseness)
        distribution = _declare(workload, "distribution", spread, coarseness)
        for loop in distribution.keys() & vector.keys():
            message = f"vector_{loop} ({{}}) must not exceed distribution_{loop} ({{}})"
            require(vector[loop] <= distribution[loop], message, vector[loop], distribution[loop])
        # The tiles of the result that go together are unpacked as one vector.
        together: list[Integer | int] = [tile for loop, tile in vector.items() if loop != k1]
        together += workload.loops[-_INNER:-1]
        require_small_vector(together, workload.types[-1], "the accumulator", limits)
        if vectorized:
            _limit_products(workload, list(vector.values()), limits)
        return {LOWERING_CONFIG: ir.DictAttr.get(_levels(workload, distribution, vector))}

    return build_constraints(pipeline("Mmt4dTilingExpert"), fill)


def _coarseness(workload: Workload, loops: Sequence[int], limits: CpuLimits) -> int:
    outer = replace(
        workload,
        loops=tuple(workload.loops[loop] for loop in loops),
        iterators=tuple(workload.iterators[loop] for loop in loops),
    )
    m0, n0, _ = workload.loops[-_INNER:]
    tile_bytes = m0 * n0 * workload.types[-1].bytes
    return coarseness_for(outer, max(2, limits.max_stack_bytes // tile_bytes))


def _declare(workload: Workload, level: str, loops: Sequence[int], coarseness: int) -> dict[int, Integer]:
    """A knob for each of the loops that has more than one step."""
    sizes = {loop: workload.loops[loop] for loop in loops if workload.loops[loop] > 1}
    return {loop: tile_knob(f"{level}_{loop}", size, coarseness) for loop, size in sizes.items()}


def _levels(
    workload: Workload, distribution: Mapping[int, Integer], vector: Mapping[int, Integer]
) -> dict[str, ir.Attribute]:
    """The knobs, 1 on the other outer loops, and the inner loops whole."""
    count = len(workload.loops) - _INNER

    def of(
        name: str, knobs: Mapping[int, Integer], loops: Sequence[int], inner: Sequence[int]
    ) -> ir.Attribute:
        tiles = {loop: f"{name}_{loop}" if loop in knobs else 1 for loop in loops}
        return level(tiles | {loop: workload.loops[loop] for loop in inner}, len(workload.loops))

    spread = range(count - 1)
    return {
        "distribution": of("distribution", distribution, spread, ()),
        "vector_common_parallel": of("vector", vector, spread, (count, count + 1)),
        "vector_reduction": of("vector", vector, (count - 1,), (count + 2,)),
    }


def _limit_products(workload: Workload, tiles: Sequence[Integer], limits: CpuLimits) -> None:
    """Without the microkernel every multiplication of the vector tile is unrolled."""
    inner = math.prod(workload.loops[-_INNER:])
    once = inner * workload.types[-1].bytes
    limit = max(once, min(_UNROLLED * limits.native_vector_bytes, limits.max_stack_bytes - 1))
    size = product([*tiles, once])
    require(size <= limit, f"{{}} bytes of products compile for too long: at most {limit} are unrolled", size)
