"""Prefetching into shared memory: how many iterations of the reduction are on their way at once."""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.ops.convolution import is_convolution
from iree_tuner.space.expressions import Integer, all_of, any_of, product, require
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.supplement import Supplement

PREFETCH = "prefetch_num_stages"
STAGES = (0, 2, 3)


def require_even_copies(
    stages: Integer,
    rows: Sequence[Integer | int],
    columns: Sequence[Integer | int],
    depth: Integer,
    threads: Integer,
) -> None:
    """With three stages, each operand's tile is copied by all threads, the same number of elements each.

    ROCDLPrefetchSharedMemory keeps what is in flight in registers. A copy that some threads take no part in
    is guarded by `scf.if` and passes a dynamic private buffer on. The prefetcher carries the buffer around
    the loop, and PadDynamicAlloc then erases it: the compiler crashes, or makes a loop that does not verify
    (docs/upstream/prefetch_uneven_copy.md). Call with an insertion point in the op's body.
    """
    even = [(product([*tiles, depth]) % threads).equals(0) for tiles in (rows, columns)]
    message = "with three prefetch stages, {} threads must share each operand's tile evenly"
    require(any_of([stages < max(STAGES), all_of(even)]), message, threads)


def _open(draft: Draft) -> None:
    draft.remove(f"{PREFETCH} == ")
    with draft.extending():
        stages = draft.value(PREFETCH)
        require(stages.is_one_of(STAGES), f"{PREFETCH} ({{}}) must be 0 (none), 2 or 3", stages)


def _even_copies(draft: Draft) -> None:
    workload = draft.workload
    # Convolutions have their image and their batch for rows, their output channels for columns.
    m = ("m", "batch", "output_image") if is_convolution(workload) else ("m",)
    n = ("n", "output_channel")
    rows, columns = (
        [
            draft.value(f"wg_{loop}")
            for role in roles
            for loop in workload.role(role)
            if draft.has(f"wg_{loop}")
        ]
        for roles in (m, n)
    )
    k = next(name for name in (f"red_{loop}" for loop in range(len(workload.loops))) if draft.has(name))
    *_, step = draft.mma_shape()
    with draft.extending():
        depth = product([draft.value(k), step])
        require_even_copies(draft.value(PREFETCH), rows, columns, depth, draft.value("wg_size_x"))


def _pin(draft: Draft) -> None:
    draft.remove(f"{PREFETCH} == ")
    with draft.extending():
        stages = draft.value(PREFETCH)
        require(stages.equals(2), f"{PREFETCH} ({{}}) must be 2: it changes nothing on this target", stages)


def _is_open(draft: Draft) -> bool:
    return draft.limits.codegen.prefetches and draft.has(PREFETCH) and not draft.igemm


PREFETCH_SUPPLEMENTS = (
    Supplement(
        name="prefetch",
        reason="the emitter pins two stages; ROCDLPrefetchSharedMemory knows one to three",
        releases=("3.13",),
        applies=_is_open,
        extend=_open,
    ),
    Supplement(
        name="prefetch, dead",
        reason="NVVM has no such pass, and IGEMM's loops are not of the form that ROCDL's takes: the number "
        "changes nothing there. The compiler's own choice is always two, the emitter's for IGEMM none",
        releases=("3.13",),
        applies=lambda draft: draft.has(PREFETCH) and not _is_open(draft),
        extend=_pin,
    ),
    Supplement(
        name="even copies",
        reason="three stages crash ROCDLPrefetchSharedMemory where a copy is uneven (TileAndFuse)",
        releases=("3.13",),
        applies=lambda draft: _is_open(draft) and draft.pipeline == "TileAndFuse",
        extend=_even_copies,
    ),
)
