"""Supplements to the compiler's convolution constraints.

The compiler emits three spaces for a dense convolution: TileAndFuse on the convolution as it is ("direct"),
TileAndFuse on a matrix multiplication of gathered patches (IGEMM), and VectorDistribute.
"""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.ops.structure import ACCUMULATES
from iree_tuner.space.constraints import (
    divides_or_covers,
    integers,
    level,
    next_power,
    padded_to,
    powers,
    require_equal,
)
from iree_tuner.space.expressions import Integer, any_of, constant, product, require
from iree_tuner.space.gpu.constraints_draft import Draft, Supplement
from iree_tuner.space.gpu.contraction import (
    ADDED_AFTERWARDS,
    PADDED_SUMS,
    PADDING,
    PADDING_CONV,
    REGISTERS,
    RESULT_TYPE,
    adds_in_place,
    limit_shared_memory,
)
from iree_tuner.space.gpu.instructions import divides, needs_separate_accumulation
from iree_tuner.space.gpu.matrix_problem import (
    Roles,
    batch_inside,
    channels_inside,
    channels_outside,
    fuses_reductions,
    overpadded,
    pads,
    roles_of,
)
from iree_tuner.space.gpu.options import COPY_BITS, OPTION_SUPPLEMENTS, thread_layouts

# Images and channels that no tile divides: IGEMM pads them, before it gathers patches or after it.


PAD_DEPTH = "pad_k"
PAD_CHANNELS = "pad_c"
_DEPTHS = (16, 32, 64, 128, 256, 512)
"""Reduction tiles that are offered although they do not divide."""


def _pad(draft: Draft) -> None:
    """Tiles divide the size as instructions fill it up or as the compiler pads it, or are usual.

    The compiler makes workgroup tiles of numbers of subgroups, and pads a loop of 3 for two of them.
    """
    roles = roles_of(draft)
    rows, columns, step = draft.mma_shape()
    steps = {roles.rows[-1]: rows, roles.columns[-1]: columns}
    for loop in roles.parallel:
        size = draft.workload.loops[loop]
        draft.remove(f"dim_{loop} must be divisible by wg_{loop}")
        draft.remove(f"wg_{loop} <= ")
        tile = draft.value(f"wg_{loop}")
        wide = constant(overpadded(size))
        fits = [(wide % tile).equals(0), tile.is_one_of(powers(next_power(size)))]
        if loop in steps:
            fits.append((padded_to(size, steps[loop]) % tile).equals(0))
        message = f"wg_{loop} ({{}}) must divide {size}, padded, or be a power of two up to it, padded"
        require(any_of(fits), message, tile)
    for start in ("aligned inner k dim", f"red_{roles.depth_loop} * mma_k <= aligned"):
        draft.remove(start)
    padded = draft.declare_derived(PAD_DEPTH)
    filled = padded_to(roles.depth, step)
    tile = draft.value(f"red_{roles.depth_loop}") * step
    require_equal(PAD_DEPTH, padded, tile, "the reduction tile")
    usual = tile.is_one_of(_DEPTHS) & (tile < filled * 2)
    message = f"the reduction tile ({{}}) must divide {roles.depth} or be a power of two"
    require(any_of([(filled % tile).equals(0), usual]), message, tile)
    draft.set_entries(**{PADDING: integers([*(f"wg_{loop}" for loop in roles.parallel), PAD_DEPTH])})
    _pad_before(draft, roles, padded)


def _pad_before(draft: Draft, roles: Roles, depth: Integer) -> None:
    """Pad the image before patches are gathered (GPUPadConvs), as the compiler does.

    With channels inside, the tiled loops of the image and the filters, and channels to the reduction tile or
    not at all: where they grow by it, results on CUDA are no numbers (docs/upstream/cuda_padded_channels.md).
    The batch alone where that is inside.

    Not where the result is read first: nothing compiles then (docs/upstream/padded_conv_adds.md).
    """
    workload = draft.workload
    if workload.parameter(ACCUMULATES):
        return
    if not channels_inside(workload):
        if batch_inside(workload):
            inner = workload.role("batch")[-1]
            tiles = [f"wg_{loop}" if loop == inner else 0 for loop in range(len(workload.loops))]
            draft.set_entries(**{PADDING_CONV: integers(tiles)})
        return
    channels = draft.declare_derived(PAD_CHANNELS)
    size = workload.loops[roles.depth_loop]
    choice = any_of([channels.equals(0), channels.equals(depth)])
    require(choice, f"{PAD_CHANNELS} ({{}}) must be 0 or the reduction tile ({{}})", channels, depth)
    if not draft.limits.codegen.pads_reductions:
        same = any_of([channels.equals(0), (constant(size) % depth).equals(0)])
        message = f"{PAD_CHANNELS} ({{}}) must divide {size}: with more channels, results are no numbers"
        require(same, message, channels)
    sizes: list[int | str] = []
    for loop in range(len(workload.loops)):
        tile = f"wg_{loop}" if draft.has(f"wg_{loop}") else int(loop in workload.role("depth"))
        sizes.append(PAD_CHANNELS if loop == roles.depth_loop else tile)
    draft.set_entries(**{PADDING_CONV: integers(sizes)})


def _pads_groups(draft: Draft) -> bool:
    """Whether the compiler pads images of a grouped convolution before it gathers their patches."""
    workload = draft.workload
    if not (fuses_reductions(draft) and PADDING in draft.entries and workload.role("depth")):
        return False
    return not (channels_inside(workload) and channels_outside(workload))


def _divide(draft: Draft) -> None:
    roles = roles_of(draft)
    shape = draft.mma_shape()
    for loop in roles.parallel:
        size, tile = draft.workload.loops[loop], draft.value(f"wg_{loop}")
        require((constant(size) % tile).equals(0), f"wg_{loop} ({{}}) must divide {size}", tile)
    depth = draft.value(f"red_{roles.depth_loop}") * shape[2]
    whole = (constant(roles.depth) % depth).equals(0)
    require(whole, f"the reduction tile ({{}}) must divide {roles.depth}", depth)


PADDED_GROUPS = Supplement(
    name="padding of groups",
    reason="the compiler itself sets padding_conv for groups as for other convolutions with channels or "
    "batch inside (getPaddingConvSizes, ConfigUtils.cpp); the emitter crashes on groups",
    applies=_pads_groups,
    extend=lambda draft: _pad_before(draft, roles_of(draft), draft.value(PAD_DEPTH)),
)


# The parts of a convolution that must fit in shared memory, and how they get there.


_SCATTERED = 512
"""Elements of the filter that one thread may read one by one in a step: each is unrolled."""
_GATHERS = 128
"""Reads of patches that one thread may do in a step: each is unrolled, and divides by image sizes."""


def _limit_shared_memory(draft: Draft) -> None:
    roles = roles_of(draft)
    limit_shared_memory(draft, roles.rows, roles.columns, roles.depth_loop, "result")


def _limit_gathers(draft: Draft) -> None:
    """A thread reads its part of a tile of patches element by element, or in vectors of inner channels."""
    workload, roles = draft.workload, roles_of(draft)
    vector = COPY_BITS // workload.types[0].bits
    channels = workload.loops[roles.depth_loop]
    width = vector if channels_inside(workload) and channels % vector == 0 else 1
    pixels = workload.role("batch") + workload.role("output_image")
    depth = draft.mma_shape()[2]
    patches = product([*(draft.value(f"wg_{loop}") for loop in pixels), depth])
    elements = patches * draft.value(f"red_{roles.depth_loop}")
    message = f"a thread gathers {{}} elements of patches, and may gather {_GATHERS * width}"
    most = draft.value("wg_size_x") * (_GATHERS * width)
    require(elements <= most, message, elements // draft.value("wg_size_x"))


def _limit_scattered(draft: Draft) -> None:
    """With the window inside, neighbors along the channels are apart in memory, and read one by one."""
    roles, threads = roles_of(draft), draft.value("wg_size_x")
    filters = draft.workload.role("output_channel")[-1]
    read = product([draft.value(f"wg_{filters}"), draft.value(f"red_{roles.depth_loop}")]) // threads
    message = f"a thread reads {{}} scattered elements of the filter, and may read {_SCATTERED}"
    require(read <= _SCATTERED, message, read)


def _stages_result(draft: Draft) -> bool:
    """Whether the result goes through shared memory: it is read first, or instructions reach over an edge."""
    if draft.pipeline != "TileAndFuse":
        return False
    roles, loops = roles_of(draft), draft.workload.loops
    inner = (loops[roles.rows[-1]], loops[roles.columns[-1]], roles.depth)
    aligned = all(divides(mma, inner) for mma in draft.mma())
    return adds_in_place(draft) or (not draft.igemm and not aligned)


def _swap_roles(draft: Draft) -> None:
    """Exchange the tables of rows and columns, and the names in the messages."""
    body = draft.op.operation.regions[0].blocks[0]
    lookups = [view.operation for view in body.operations if view.operation.name == "iree_codegen.smt.lookup"]
    rows, columns = lookups[:2]
    tables = rows.attributes["values"], columns.attributes["values"]
    columns.attributes["values"], rows.attributes["values"] = tables
    for view in body.operations:
        if view.operation.name == "iree_codegen.smt.assert":
            text = ir.StringAttr(view.operation.attributes["msg"]).value
            parts = [part.replace("mma_n", "mma_m") for part in text.split("mma_m")]
            view.operation.attributes["msg"] = ir.StringAttr.get("mma_n".join(parts))


def _move_reduction(draft: Draft) -> None:
    workload = draft.workload
    inner = workload.role("input_channel")[-1]
    tiles = {**dict.fromkeys(workload.role("filter", "input_channel"), 1), inner: f"red_{inner}"}
    draft.set_entries(reduction=level(tiles, len(workload.loops)))


def _require_unit_strides(draft: Draft) -> None:
    for stride in draft.workload.parameter("strides"):
        shown = constant(stride)
        require(shown.equals(1), "a stride of {} cannot become a contraction in this pipeline", shown)


def _require_static_tiles(draft: Draft) -> None:
    roles = roles_of(draft)
    for loop in (roles.rows[-1], roles.columns[-1]):
        size, tile = draft.workload.loops[loop], draft.value(f"wg_{loop}")
        require(divides_or_covers(tile, size), f"wg_{loop} ({{}}) must divide {size} or cover it", tile)


CONVOLUTION_SUPPLEMENTS: tuple[Supplement, ...] = (
    RESULT_TYPE,
    Supplement(
        name="reduction loop",
        reason="the emitter puts the reduction tile at the last loop (buildTileAndFuseBasicKnobsDict), which "
        "is the window's with channels outside: channels then have the tile 1, whatever the knob says "
        "(docs/upstream/reduction_tile_position.md)",
        applies=lambda draft: (
            draft.pipeline == "TileAndFuse"
            and not draft.igemm
            and draft.workload.role("input_channel")[-1] != len(draft.workload.loops) - 1
        ),
        extend=_move_reduction,
    ),
    Supplement(
        name="instruction roles",
        reason="with channels outside, IGEMM's left operand is the filter, and the emitter still takes the "
        "pixels for the instruction's rows (isOutputChannelFirst in getExpandedIGEMMGenericConvDetails)",
        applies=lambda draft: draft.igemm and channels_outside(draft.workload),
        extend=_swap_roles,
    ),
    Supplement(
        name="unit strides",
        reason="only unit strides become contractions without IGEMM: removeUnitExtentDimsfromMaps in "
        "GPUTileAndConvertConvToMatmul.cpp bails out, and so does setConvolutionVectorDistributionConfig",
        applies=lambda draft: not draft.igemm and set(draft.workload.parameter("strides")) != {1},
        extend=_require_unit_strides,
    ),
    Supplement(
        name="static tiles",
        reason="a last tile that is smaller has a dynamic size: 'expected 4 offset values, got 7'",
        applies=lambda draft: draft.pipeline == "TileAndFuse" and not draft.igemm,
        extend=_require_static_tiles,
    ),
    ADDED_AFTERWARDS,
    Supplement(
        name="accumulator of a direct convolution",
        reason="ConvertAccGEMMToGEMM.cpp looks for contractions and named convolutions, and by then it is "
        "a linalg.generic: 'failed to bufferize op' (docs/upstream/convert_acc_conv.md)",
        applies=lambda draft: (
            draft.pipeline == "TileAndFuse"
            and not draft.igemm
            and bool(draft.workload.parameter(ACCUMULATES))
            and needs_separate_accumulation(draft.mma())
        ),
        extend=lambda _: require(
            constant(0).equals(1),
            "mma.sync cannot add to values in memory, and nothing separates that from a convolution",
        ),
    ),
    Supplement(
        name="padding",
        reason="the emitter lets tiles reach over the edge without the padding that makes them whole: "
        "'tensor.expand_shape op expected dimension'; the compiler's own choice sets the entries padding "
        "(for GPUPadOperands) and padding_conv (getPaddingConvSizes, ConfigUtils.cpp)",
        applies=lambda draft: fuses_reductions(draft) and pads(draft),
        extend=_pad,
    ),
    Supplement(
        name="whole tiles",
        reason="the emitter lets tiles reach over the edge also where the compiler configures no padding: "
        "'tensor.expand_shape op expected dimension'",
        applies=lambda draft: draft.igemm and not (fuses_reductions(draft) and pads(draft)),
        extend=_divide,
    ),
    PADDED_SUMS,
    REGISTERS,
    Supplement(
        name="gathers",
        reason="reads of patches (DecomposeIm2col.cpp) are unrolled with their index arithmetic: LLVM takes "
        "10 s for 192 of them and 25 s for 768 (sm_80), and shared memory has room for 2560",
        applies=lambda draft: draft.igemm,
        extend=_limit_gathers,
    ),
    Supplement(
        name="scattered reads",
        reason="with channels outside, VectorDistribute reads the filter element by element, unrolled: 1024 "
        "for one thread take more than a minute (sm_80)",
        applies=lambda draft: draft.pipeline == "VectorDistribute" and channels_outside(draft.workload),
        extend=_limit_scattered,
    ),
    Supplement(
        name="result in shared memory",
        reason="the emitter counts two operands; the result is staged as well where it is read first, or "
        "instructions reach over an edge, and code generation ends in 'exceeded the limit'",
        applies=_stages_result,
        extend=_limit_shared_memory,
    ),
    thread_layouts("the image", "the filter"),  # as the dispatch sees the image: a filter loop counts 1
    *OPTION_SUPPLEMENTS,
)
