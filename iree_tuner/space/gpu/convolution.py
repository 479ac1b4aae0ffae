"""Supplements to the compiler's convolution constraints.

The compiler emits three spaces for a dense convolution: TileAndFuse on the convolution as it is ("direct"),
TileAndFuse on a matrix multiplication of gathered patches (IGEMM), and VectorDistribute.
"""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.ops.initial import ACCUMULATES
from iree_tuner.space.constraints import integers
from iree_tuner.space.expressions import any_of, constant, require
from iree_tuner.space.gpu.accumulator import CONVERT
from iree_tuner.space.gpu.convolution_loops import channels_outside, roles_of
from iree_tuner.space.gpu.convolution_memory import MEMORY_SUPPLEMENTS
from iree_tuner.space.gpu.convolution_padding import PADDING_SUPPLEMENTS
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.instructions import needs_separate_accumulation
from iree_tuner.space.gpu.options import OPTION_SUPPLEMENTS
from iree_tuner.space.gpu.padding import PADDED_SUM_SUPPLEMENTS
from iree_tuner.space.gpu.result_type import RESULT_TYPE_SUPPLEMENTS
from iree_tuner.space.gpu.supplement import Supplement


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
    tiles: list[int | str] = [0] * len(workload.loops)
    for loop in (*workload.role("filter"), *workload.role("input_channel")):
        tiles[loop] = f"red_{inner}" if loop == inner else 1
    draft.set_entries(reduction=integers(tiles))


def _require_unit_strides(draft: Draft) -> None:
    with draft.extending():
        for stride in draft.workload.parameter("strides"):
            shown = constant(stride)
            require(shown.equals(1), "a stride of {} cannot become a contraction in this pipeline", shown)


def _require_static_tiles(draft: Draft) -> None:
    roles = roles_of(draft)
    for loop in (roles.rows[-1], roles.columns[-1]):
        size, tile = draft.workload.loops[loop], draft.value(f"wg_{loop}")
        with draft.extending():
            static = any_of([(constant(size) % tile).equals(0), tile >= size])
            require(static, f"wg_{loop} ({{}}) must divide {size} or cover it", tile)


def _refuse_accumulation(draft: Draft) -> None:
    with draft.extending():
        never = constant(0).equals(1)
        require(
            never, "mma.sync cannot add to values in memory, and nothing separates that from a convolution"
        )


def _adds_with_mma_sync(draft: Draft) -> bool:
    return (
        draft.pipeline == "TileAndFuse"
        and bool(draft.workload.parameter(ACCUMULATES))
        and needs_separate_accumulation(draft.mma())
    )


def _convert(draft: Draft) -> None:
    draft.set_entries(**{CONVERT: ir.UnitAttr.get()})


CONVOLUTION_SUPPLEMENTS: tuple[Supplement, ...] = (
    *RESULT_TYPE_SUPPLEMENTS,
    Supplement(
        name="reduction loop",
        reason="the emitter puts the reduction tile at the last loop (buildTileAndFuseBasicKnobsDict), which "
        "is the window's with channels outside: channels then have the tile 1, whatever the knob says "
        "(docs/upstream/reduction_tile_position.md)",
        releases=("3.13",),
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
        releases=("3.13",),
        applies=lambda draft: draft.igemm and channels_outside(draft.workload),
        extend=_swap_roles,
    ),
    Supplement(
        name="unit strides",
        reason="only unit strides become contractions without IGEMM: removeUnitExtentDimsfromMaps in "
        "GPUTileAndConvertConvToMatmul.cpp bails out, and so does setConvolutionVectorDistributionConfig",
        releases=("3.13",),
        applies=lambda draft: not draft.igemm and set(draft.workload.parameter("strides")) != {1},
        extend=_require_unit_strides,
    ),
    Supplement(
        name="static tiles",
        reason="a last tile that is smaller has a dynamic size: 'expected 4 offset values, got 7'",
        releases=("3.13",),
        applies=lambda draft: draft.pipeline == "TileAndFuse" and not draft.igemm,
        extend=_require_static_tiles,
    ),
    Supplement(
        name="accumulator added afterwards",
        reason="mma.sync has no layout for an accumulator in shared memory: the compiler's own choice always "
        "sets convert_acc_gemm (appendConvertAccGemm in ConfigUtils.cpp), which the emitter leaves out",
        releases=("3.13",),
        applies=lambda draft: draft.pipeline == "TileAndFuse" and needs_separate_accumulation(draft.mma()),
        extend=_convert,
    ),
    Supplement(
        name="accumulator of a direct convolution",
        reason="ConvertAccGEMMToGEMM.cpp looks for contractions and named convolutions, and by then it is "
        "a linalg.generic: 'failed to bufferize op' (docs/upstream/convert_acc_conv.md)",
        releases=("3.13",),
        applies=lambda draft: not draft.igemm and _adds_with_mma_sync(draft),
        extend=_refuse_accumulation,
    ),
    *PADDING_SUPPLEMENTS,
    *PADDED_SUM_SUPPLEMENTS,
    *MEMORY_SUPPLEMENTS,
    *OPTION_SUPPLEMENTS,
)
