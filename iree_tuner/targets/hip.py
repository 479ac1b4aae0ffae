"""AMD GPUs through ROCm."""

from __future__ import annotations

from iree_tuner.targets.gpu import BLOCK_DYNAMIC_DIMENSIONS, PREPARATION
from iree_tuner.targets.target import Target

# Source: getAMDGPUTargetDetails, Codegen/Dialect/GPU/TargetUtils/KnownTargets.cpp, less what the backend then
# calls unknown (RDNA 1 and 2, gfx1102).
CHIPS = (
    "gfx908", "gfx90a", "gfx942", "gfx950",
    "gfx1100", "gfx1101", "gfx1103", "gfx1150", "gfx1151", "gfx1200", "gfx1201", "gfx1250",
    "mi100", "mi210", "mi250", "mi250x", "mi300a", "mi300x", "mi308x", "mi325x", "mi350x", "mi355x",
    "rx7700xt", "rx7800xt", "rx7900xt", "rx7900xtx", "rx9060xt", "rx9070", "rx9070xt", "r9700",
    "v710", "w7700", "w7800", "w7900",
)  # fmt: skip


def target(chip: str, device: str | None) -> Target:
    """An AMD GPU by its architecture (`gfx942`) or a product's name (`mi300x`)."""
    return Target(
        backend="hip",
        chip=chip,
        device=device,
        flags=("--iree-hal-target-device=hip", f"--iree-rocm-target={chip}"),
        preparation=(*PREPARATION, BLOCK_DYNAMIC_DIMENSIONS),
        spec_prologue=(),
    )
