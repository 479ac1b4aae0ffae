"""The parts of a convolution that must fit in shared memory, and how they get there."""

from __future__ import annotations

from iree_tuner.space.expressions import Integer, product, require, total
from iree_tuner.space.gpu.accumulator import adds_in_place
from iree_tuner.space.gpu.convolution_loops import channels_inside, channels_outside, roles_of
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.instructions import shape_of
from iree_tuner.space.gpu.registers import REGISTER_SUPPLEMENTS
from iree_tuner.space.gpu.supplement import Supplement
from iree_tuner.space.gpu.thread_layout import COPY_BITS, require_thread_layout

_SCATTERED = 512
"""Elements of the filter that one thread may read one by one in a step: each is unrolled."""
_GATHERS = 128
"""Reads of patches that one thread may do in a step: each is unrolled, and divides by image sizes."""


def _limit_shared_memory(draft: Draft) -> None:
    roles, limit = roles_of(draft), draft.limits.shared_memory_bytes
    image, filter_, result = (kind.bytes for kind in draft.workload.types)
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


def _limit_gathers(draft: Draft) -> None:
    """A thread reads its part of a tile of patches element by element, or in vectors of inner channels."""
    workload, roles = draft.workload, roles_of(draft)
    vector = COPY_BITS // workload.types[0].bits
    channels = workload.loops[roles.depth_loop]
    width = vector if channels_inside(workload) and channels % vector == 0 else 1
    pixels = workload.role("batch") + workload.role("output_image")
    depth = draft.mma_shape()[2]
    with draft.extending():
        patches = product([*(draft.value(f"wg_{loop}") for loop in pixels), depth])
        elements = patches * draft.value(f"red_{roles.depth_loop}")
        message = f"a thread gathers {{}} elements of patches, and may gather {_GATHERS * width}"
        most = draft.value("wg_size_x") * (_GATHERS * width)
        require(elements <= most, message, elements // draft.value("wg_size_x"))


def _limit_scattered(draft: Draft) -> None:
    """With the window inside, neighbors along the channels are apart in memory, and read one by one."""
    roles, threads = roles_of(draft), draft.value("wg_size_x")
    filters = draft.workload.role("output_channel")[-1]
    with draft.extending():
        read = product([draft.value(f"wg_{filters}"), draft.value(f"red_{roles.depth_loop}")]) // threads
        message = f"a thread reads {{}} scattered elements of the filter, and may read {_SCATTERED}"
        require(read <= _SCATTERED, message, read)


def _stages_result(draft: Draft) -> bool:
    """Whether the result goes through shared memory: it is read first, or instructions reach over an edge."""
    if draft.pipeline != "TileAndFuse":
        return False
    return adds_in_place(draft) or (not draft.igemm and _is_unaligned(draft))


def _is_unaligned(draft: Draft) -> bool:
    roles, loops = roles_of(draft), draft.workload.loops
    inner = (loops[roles.rows[-1]], loops[roles.columns[-1]], roles.depth)
    return any(size % step for mma in draft.mma() for size, step in zip(inner, shape_of(mma), strict=True))


def _limit_layouts(draft: Draft) -> None:
    """The image's tile as the dispatch sees it: a filter loop counts 1."""
    workload, threads = draft.workload, draft.value("wg_size_x")
    for operand, what in enumerate(("the image", "the filter")):
        shape: list[Integer | int] = []
        for loop in workload.maps[operand].loops:
            name = f"wg_{loop}" if workload.iterators[loop] == "parallel" else f"red_{loop}"
            shape.append(draft.value(name) if draft.has(name) else 1)
        with draft.extending():
            require_thread_layout(shape, threads, workload.types[operand].bits, what)


MEMORY_SUPPLEMENTS = (
    *REGISTER_SUPPLEMENTS,
    Supplement(
        name="gathers",
        reason="reads of patches (DecomposeIm2col.cpp) are unrolled with their index arithmetic: LLVM takes "
        "10 s for 192 of them and 25 s for 768 (sm_80), and shared memory has room for 2560",
        releases=("3.13",),
        applies=lambda draft: draft.igemm,
        extend=_limit_gathers,
    ),
    Supplement(
        name="scattered reads",
        reason="with channels outside, VectorDistribute reads the filter element by element, unrolled: 1024 "
        "for one thread take more than a minute (sm_80)",
        releases=("3.13",),
        applies=lambda draft: draft.pipeline == "VectorDistribute" and channels_outside(draft.workload),
        extend=_limit_scattered,
    ),
    Supplement(
        name="result in shared memory",
        reason="the emitter counts two operands; the result is staged as well where it is read first, or "
        "instructions reach over an edge, and code generation ends in 'exceeded the limit'",
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
