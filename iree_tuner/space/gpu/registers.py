"""Accumulators that fit a thread's registers."""

from __future__ import annotations

from iree_tuner.space.expressions import product, require
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.matrix_problem import fused_problem
from iree_tuner.space.gpu.supplement import Supplement

_REGISTER_BITS = 32


def _limit_accumulators(draft: Draft) -> None:
    """Every loop with a workgroup tile is one of the result's."""
    limit = draft.limits.codegen.accumulators
    names = [f"wg_{loop}" for loop in range(len(draft.workload.loops))]
    bits = max(_REGISTER_BITS, draft.workload.types[-1].bits)
    with draft.extending():
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
        releases=("3.13",),
        applies=lambda draft: draft.has("wg_size_x"),
        extend=_limit_accumulators,
    ),
)
