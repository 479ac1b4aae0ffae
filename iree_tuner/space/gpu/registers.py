"""Accumulators that fit a thread's registers."""

from __future__ import annotations

from iree_tuner.space.expressions import product, require
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.operands import bits_of
from iree_tuner.space.gpu.supplement import Supplement

_REGISTER_BITS = 32
_CDNA = ("gfx90a", "gfx942", "gfx950")


def registers_of(arch: str) -> int:
    """32-bit registers of a thread that accumulators may take.

    CDNA 2 and 3 have 512 (256 VGPRs and 256 AGPRs: "AMD Instinct MI300 ISA", 3.6.4), RDNA 256, NVIDIA 255.
    """
    return 512 if arch in _CDNA else 256


def _limit_accumulators(draft: Draft) -> None:
    workload = draft.workload
    limit = registers_of(draft.limits.arch)
    tiles = [
        draft.value(f"wg_{loop}")
        for role in ("m", "n")
        for loop in workload.role(role)
        if draft.has(f"wg_{loop}")
    ]
    with draft.extending():
        bits = max(_REGISTER_BITS, bits_of(workload.types[-1]))
        taken = product([*tiles, bits // _REGISTER_BITS]) // draft.value("wg_size_x")
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
