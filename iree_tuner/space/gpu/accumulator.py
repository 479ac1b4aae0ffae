"""Accumulators of instructions: their type, the registers they take, and their place in memory."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.structure import ACCUMULATES
from iree_tuner.space.expressions import product, require, total
from iree_tuner.space.gpu.constraints_draft import Draft, Supplement
from iree_tuner.space.gpu.instructions import needs_separate_accumulation
from iree_tuner.space.gpu.matrix_problem import fused_problem


def adds_in_place(draft: Draft) -> bool:
    """Whether instructions add to values that are read, which TileAndFuse stages in shared memory."""
    adds = bool(draft.workload.parameter(ACCUMULATES))
    return adds and draft.pipeline == "TileAndFuse" and not needs_separate_accumulation(draft.mma())


def limit_shared_memory(
    draft: Draft, row_loops: Sequence[int], column_loops: Sequence[int], depth_loop: int, what: str
) -> None:
    """Both operands and the result are in shared memory at once; the sum is exactly the compiler's number."""
    limit = draft.limits.shared_memory_bytes
    left, right, result = (kind.bytes for kind in draft.workload.types)
    *_, depth = draft.mma_shape()
    rows, columns = (
        product([draft.value(f"wg_{loop}") for loop in loops]) for loops in (row_loops, column_loops)
    )
    k = product([draft.value(f"red_{depth_loop}"), depth])
    sizes = [product([rows, k, left]), product([columns, k, right]), product([rows, columns, result])]
    used = total(sizes)
    message = f"the operands and the {what} take {{}} of {limit} bytes of shared memory"
    require(used <= limit, message, used)


ADDED_AFTERWARDS = Supplement(
    name="accumulator added afterwards",
    reason="mma.sync has no layout for an accumulator in shared memory: the compiler's own choice always "
    "sets convert_acc_gemm (appendConvertAccGemm in ConfigUtils.cpp), which the emitter leaves out",
    applies=lambda draft: draft.pipeline == "TileAndFuse" and needs_separate_accumulation(draft.mma()),
    extend=lambda draft: draft.set_entries(convert_acc_gemm=ir.UnitAttr.get()),
)

ACCUMULATOR_SUPPLEMENTS = (
    Supplement(
        name="accumulator in shared memory",
        reason="the emitter counts two operands; GPUPromoteMatmulOperands stages the initial value as well, "
        "and code generation ends in 'exceeded the limit'",
        applies=adds_in_place,
        extend=lambda draft: limit_shared_memory(
            draft,
            draft.workload.role("m"),
            draft.workload.role("n"),
            draft.workload.role("k")[-1],
            "accumulator",
        ),
    ),
    ADDED_AFTERWARDS,
)


_REGISTER_BITS = 32


def _limit_accumulators(draft: Draft) -> None:
    """Every loop with a workgroup tile is one of the result's."""
    limit = draft.limits.codegen.accumulators
    names = [f"wg_{loop}" for loop in range(len(draft.workload.loops))]
    bits = max(_REGISTER_BITS, draft.workload.types[-1].bits)
    fused = fused_problem(draft.workload)
    products = 1 + len(fused.others) if fused is not None else 1
    tiles = [draft.value(name) for name in names if draft.has(name)]
    results = product([*tiles, bits // _REGISTER_BITS, products])
    taken = results // draft.value("wg_size_x")
    require(taken <= limit, f"the accumulators take {{}} of {limit} registers of a thread", taken)


REGISTER_SUPPLEMENTS = (
    Supplement(
        name="registers",
        reason="accumulators are unrolled into registers; where they do not fit, all is spilled, and the "
        "backend takes up to a minute (512x128 on 128 threads, sm_80: 30 s)",
        applies=lambda draft: draft.has("wg_size_x"),
        extend=_limit_accumulators,
    ),
)


def fitting(draft: Draft) -> list[int]:
    """Indices of the space's instructions that accumulate in the type of the op's result."""
    wanted = draft.workload.types[-1]
    return [place for place, mma in enumerate(draft.mma()) if _accumulator(mma) == wanted]


def _accumulator(mma: ir.Attribute) -> ElementType:
    assert isinstance(mma, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr)
    return ElementType.of(mma.abc_element_types[2])


def _limit(draft: Draft) -> None:
    chosen, allowed = draft.value("mma_idx"), fitting(draft)
    message = f"instruction {{}} must accumulate in {draft.workload.types[-1]}, the type of the result"
    require(chosen.is_one_of(allowed or [-1]), message, chosen)


RESULT_TYPE_SUPPLEMENTS = (
    Supplement(
        name="result type",
        reason="the emitter takes instructions that accumulate in a wider type, and nothing converts "
        "the result: 'failed to distribute', or 'write affecting operations on shared resources' "
        "(docs/upstream/narrow_result.md)",
        applies=lambda draft: draft.has("mma_idx") and len(fitting(draft)) < len(draft.mma()),
        extend=_limit,
    ),
)
