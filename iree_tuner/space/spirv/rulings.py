"""The compiler's requirements for configurations for Vulkan."""

from __future__ import annotations

from iree_tuner.space.constraints import Ruling, powers
from iree_tuner.space.expressions import any_of, constant, require
from iree_tuner.space.gpu.constraints_draft import Draft
from iree_tuner.space.spirv.tiling import VECTOR_BITS

_MEMORY = r"bytes of shared memory must be"


def _cooperative(draft: Draft) -> None:
    """A workgroup's tile is cut into subgroups' tiles, and must hold one."""
    for loop, size in enumerate(draft.workload.loops):
        if not draft.has(f"workgroup_{loop}"):
            continue
        workgroup, subgroup = draft.value(f"workgroup_{loop}"), draft.value(f"subgroup_{loop}")
        message = f"workgroup_{loop} ({{}}) must hold a tile of a subgroup, subgroup_{loop} ({{}})"
        require(subgroup <= workgroup, message, workgroup, subgroup)
        message = f"workgroup_{loop} ({{}}) must divide dim_{loop} ({size})"
        require((constant(size) % workgroup).equals(0), message, workgroup)


def _reduce(draft: Draft) -> None:
    """Elements that a thread takes at once are a vector, which has to be one that SPIR-V has.

    Where the last step is smaller than the others there are no vectors, and where there is one step only, no
    loop that would carry them.
    """
    loops = draft.workload.loops
    tiled = [loop for loop in range(len(loops)) if draft.has(f"reduction_{loop}")]
    if len(tiled) != 1:
        return
    size = loops[tiled[0]]
    vectors = powers(VECTOR_BITS // draft.workload.types[-1].bits)
    taken, threads = draft.value(f"reduction_{tiled[0]}"), draft.value("threads_x")
    fits = [taken.equals(threads * each) for each in vectors]
    alone = [taken >= size, ~(constant(size) % taken).equals(0)]
    message = f"reduction_{tiled[0]} ({{}}) must be 1 to {vectors[-1]} elements for each of {{}} threads"
    require(any_of([*fits, *alone]), message, taken, threads)


SPIRV_RULINGS: tuple[Ruling[Draft], ...] = (
    Ruling(
        name="cooperative matrices",
        reason="'failed conversion to GPU subgroup MMA ops', 'no GPU subgroup mma compute ops generated', "
        "'exceeded the limit' (GPUCheckResourceUsage)",
        applies=lambda draft: draft.pipeline == "CooperativeMatrixVectorize",
        rules=(_MEMORY, r"must be made of instructions"),
        extend=_cooperative,
    ),
    Ruling(
        name="subgroup reductions",
        reason="a longer vector is not cut: failed to legalize operation 'arith.constant'",
        applies=lambda draft: draft.pipeline == "SubgroupReduce",
        rules=(),
        nothing=(r"elements at once must be",),
        extend=_reduce,
    ),
    Ruling(
        name="tiles",
        reason="threads take the tiles in loops, or idle; only shared memory ends (GPUCheckResourceUsage)",
        applies=lambda _: True,
        rules=(_MEMORY, r"must be more than 1 where threads_y"),
        nothing=(r"^workgroups of a loop that is not cut",),
    ),
)
"""In this order: the first that applies."""
