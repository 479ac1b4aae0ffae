"""Matrix instructions whose result has the type of the op's."""

from __future__ import annotations

from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

from iree_tuner.ops.element_type import ElementType
from iree_tuner.space.expressions import require
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.supplement import Supplement


def fitting(draft: Draft) -> list[int]:
    """Indices of the space's instructions that accumulate in the type of the op's result."""
    wanted = draft.workload.types[-1]
    return [place for place, mma in enumerate(draft.mma()) if _accumulator(mma) == wanted]


def _accumulator(mma: ir.Attribute) -> ElementType:
    assert isinstance(mma, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr)
    return ElementType.of(mma.abc_element_types[2])


def _limit(draft: Draft) -> None:
    chosen, allowed = draft.value("mma_idx"), fitting(draft)
    with draft.extending():
        message = f"instruction {{}} must accumulate in {draft.workload.types[-1]}, the type of the result"
        require(chosen.is_one_of(allowed or [-1]), message, chosen)


RESULT_TYPE_SUPPLEMENTS = (
    Supplement(
        name="result type",
        reason="the emitter takes instructions that accumulate in a wider type, and nothing converts "
        "the result: 'failed to distribute', or 'write affecting operations on shared resources' "
        "(docs/upstream/narrow_result.md)",
        releases=("3.13",),
        applies=lambda draft: draft.has("mma_idx") and len(fitting(draft)) < len(draft.mma()),
        extend=_limit,
    ),
)
