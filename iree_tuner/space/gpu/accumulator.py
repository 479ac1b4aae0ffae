"""Contractions that add to values in memory: staged in shared memory, or added afterwards."""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.ops.structure import ACCUMULATES
from iree_tuner.space.expressions import product, require, total
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.instructions import needs_separate_accumulation
from iree_tuner.space.gpu.supplement import Supplement

CONVERT = "convert_acc_gemm"


def adds_in_place(draft: Draft) -> bool:
    """Whether instructions add to values that are read, which TileAndFuse stages in shared memory."""
    adds = bool(draft.workload.parameter(ACCUMULATES))
    return adds and draft.pipeline == "TileAndFuse" and not _uses_mma_sync(draft)


def _limit_shared_memory(draft: Draft) -> None:
    """All three operands are in shared memory at once; the sum is exactly the compiler's number."""
    workload, limit = draft.workload, draft.limits.shared_memory_bytes
    rows = product([draft.value(f"wg_{loop}") for loop in workload.role("m")])
    columns = product([draft.value(f"wg_{loop}") for loop in workload.role("n")])
    lhs, rhs, result = (kind.bytes for kind in workload.types)
    *_, depth = draft.mma_shape()
    with draft.extending():
        k = product([draft.value(f"red_{workload.role('k')[-1]}"), depth])
        used = total([product([rows, k, lhs]), product([columns, k, rhs]), product([rows, columns, result])])
        message = f"the operands and the accumulator take {{}} of {limit} bytes of shared memory"
        require(used <= limit, message, used)


def _convert(draft: Draft) -> None:
    draft.set_entries(**{CONVERT: ir.UnitAttr.get()})


def _uses_mma_sync(draft: Draft) -> bool:
    return needs_separate_accumulation(draft.mma())


ACCUMULATOR_SUPPLEMENTS = (
    Supplement(
        name="accumulator in shared memory",
        reason="the emitter counts two operands; GPUPromoteMatmulOperands stages the initial value as well, "
        "and code generation ends in 'exceeded the limit'",
        releases=("3.13",),
        applies=adds_in_place,
        extend=_limit_shared_memory,
    ),
    Supplement(
        name="accumulator added afterwards",
        reason="mma.sync has no layout for an accumulator in shared memory: the compiler's own choice always "
        "sets convert_acc_gemm (appendConvertAccGemm in ConfigUtils.cpp), which the emitter leaves out",
        releases=("3.13",),
        applies=lambda draft: draft.pipeline == "TileAndFuse" and _uses_mma_sync(draft),
        extend=_convert,
    ),
)
