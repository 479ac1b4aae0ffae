"""Supplements to the compiler's constraints on contractions, which all use matrix instructions."""

from __future__ import annotations

from iree_tuner.space.expressions import Integer
from iree_tuner.space.gpu.accumulator import ACCUMULATOR_SUPPLEMENTS
from iree_tuner.space.gpu.direct_loads import DIRECT_LOAD_SUPPLEMENTS
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.operands import operand_tile
from iree_tuner.space.gpu.options import OPTION_SUPPLEMENTS
from iree_tuner.space.gpu.padding import PADDED_SUM_SUPPLEMENTS, PADDING_SUPPLEMENTS
from iree_tuner.space.gpu.registers import REGISTER_SUPPLEMENTS
from iree_tuner.space.gpu.result_type import RESULT_TYPE_SUPPLEMENTS
from iree_tuner.space.gpu.supplement import Supplement
from iree_tuner.space.gpu.thread_layout import require_thread_layout

_OPERANDS = ("the left operand", "the right operand")


def _limit_layouts(draft: Draft) -> None:
    tiles = tiles_by_loop(draft)
    for operand, what in enumerate(_OPERANDS):
        shape = operand_tile(draft.workload, operand, tiles)
        bits = draft.workload.types[operand].bits
        with draft.extending():
            require_thread_layout(shape, draft.value("wg_size_x"), bits, what)


def tiles_by_loop(draft: Draft) -> dict[int, Integer | int]:
    """Workgroup tiles of parallel loops, reduction tiles of the others, as knobs or 1, in elements."""
    found: dict[int, Integer | int] = {}
    for loop in range(len(draft.workload.loops)):
        for prefix in ("wg", "red"):
            if draft.has(f"{prefix}_{loop}"):
                found[loop] = draft.value(f"{prefix}_{loop}")
    return found


CONTRACTION_SUPPLEMENTS: tuple[Supplement, ...] = (
    *RESULT_TYPE_SUPPLEMENTS,
    *PADDING_SUPPLEMENTS,
    *PADDED_SUM_SUPPLEMENTS,
    *ACCUMULATOR_SUPPLEMENTS,
    *REGISTER_SUPPLEMENTS,
    Supplement(
        name="thread layout",
        reason="GPUVectorAlloc refuses promoted reads for whose shape it cannot derive a thread layout",
        releases=("3.13",),
        applies=lambda draft: draft.pipeline == "VectorDistribute",
        extend=_limit_layouts,
    ),
    *OPTION_SUPPLEMENTS,
    *DIRECT_LOAD_SUPPLEMENTS,
)
