"""What of a convolution has to fit in shared memory, and how it gets there."""

from __future__ import annotations

from iree_tuner.ops.initial import ACCUMULATES
from iree_tuner.space.expressions import Integer, product, require, total
from iree_tuner.space.gpu.convolution_loops import roles_of
from iree_tuner.space.gpu.draft import Draft, shape_of
from iree_tuner.space.gpu.instructions import needs_separate_accumulation
from iree_tuner.space.gpu.operands import bits_of, bytes_of, operand_loops
from iree_tuner.space.gpu.supplement import Supplement
from iree_tuner.space.gpu.thread_layout import require_thread_layout


def _limit_shared_memory(draft: Draft) -> None:
    roles, limit = roles_of(draft), draft.limits.shared_memory_bytes
    image, filter_, result = (bytes_of(kind) for kind in draft.workload.types)
    depth = draft.mma_shape()[2]
    with draft.extending():
        rows = product([draft.value(f"wg_{loop}") for loop in roles.rows])
        columns = product([draft.value(f"wg_{loop}") for loop in roles.columns])
        k = draft.value(f"red_{roles.depth_loop}") * depth
        used = total(
            [product([rows, k, image]), product([columns, k, filter_]), product([rows, columns, result])]
        )
        message = f"the operands and the result take {{}} of {limit} bytes of shared memory"
        require(used <= limit, message, used)


def _stages_result(draft: Draft) -> bool:
    """Whether the result goes through shared memory: it is read first, or instructions reach over its edge."""
    if draft.pipeline != "TileAndFuse":
        return False
    if draft.workload.parameter(ACCUMULATES) and not needs_separate_accumulation(draft.mma()):
        return True
    return not draft.igemm and _is_unaligned(draft)


def _is_unaligned(draft: Draft) -> bool:
    roles, loops = roles_of(draft), draft.workload.loops
    inner = (loops[roles.rows[-1]], loops[roles.columns[-1]], roles.depth)
    return any(
        size % step for mma in draft.mma() for size, step in zip(inner, shape_of(mma), strict=True)
    )


def _limit_layouts(draft: Draft) -> None:
    """The image's tile as the dispatch sees it: a filter loop counts 1."""
    workload, threads = draft.workload, draft.value("wg_size_x")
    for operand, what in enumerate(("the image", "the filter")):
        shape: list[Integer | int] = []
        for loop in operand_loops(workload, operand):
            name = f"wg_{loop}" if workload.iterators[loop] == "parallel" else f"red_{loop}"
            shape.append(draft.value(name) if draft.has(name) else 1)
        with draft.extending():
            require_thread_layout(shape, threads, bits_of(workload.types[operand]), what)


MEMORY_SUPPLEMENTS = (
    Supplement(
        name="result in shared memory",
        reason="the emitter counts two operands; the result is staged as well where it is read first, or where "
        "instructions reach over its edge, and code generation ends in 'exceeded the limit'",
        releases=("3.13",),
        applies=_stages_result,
        extend=_limit_shared_memory,
    ),
    Supplement(
        name="thread layout",
        reason="GPUVectorAlloc refuses promoted reads for whose shape it cannot derive a thread layout",
        releases=("3.13",),
        applies=lambda draft: draft.pipeline == "VectorDistribute",
        extend=_limit_layouts,
    ),
)
