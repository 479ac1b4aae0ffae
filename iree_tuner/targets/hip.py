"""AMD GPUs through ROCm."""

from __future__ import annotations

from iree_tuner.targets.gpu import BLOCK_DYNAMIC_DIMENSIONS, PREPARATION, GpuKind
from iree_tuner.targets.kind import GpuCodegen

# Source: getAMDGPUTargetDetails, Codegen/Dialect/GPU/TargetUtils/KnownTargets.cpp, less what the backend then
# calls unknown (RDNA 1 and 2, gfx1102).
CHIPS = (
    "gfx908", "gfx90a", "gfx942", "gfx950",
    "gfx1100", "gfx1101", "gfx1103", "gfx1150", "gfx1151", "gfx1200", "gfx1201", "gfx1250",
    "mi100", "mi210", "mi250", "mi250x", "mi300a", "mi300x", "mi308x", "mi325x", "mi350x", "mi355x",
    "rx7700xt", "rx7800xt", "rx7900xt", "rx7900xtx", "rx9060xt", "rx9070", "rx9070xt", "r9700",
    "v710", "w7700", "w7800", "w7900",
)  # fmt: skip


_CDNA_2_TO_4 = ("gfx90a", "gfx942", "gfx950")
_DIRECT_LOADS = "gfx95"  # 9.5 and later of 9 (targetSupportsGlobalLoadDMA)
_WITHOUT_NEGATIVE_ZERO = ("gfx94", "mi300", "mi308", "mi325")  # CDNA 3; all others have the OCP's type


class Hip(GpuKind):
    """AMD GPUs by their architecture (`gfx942`) or a product's name (`mi300x`)."""

    name = "hip"
    drivers = ("hip",)
    executables = "rocm"
    chips = CHIPS
    emits_constraints = True
    preparation = (*PREPARATION, BLOCK_DYNAMIC_DIMENSIONS)
    chip_flag = "--iree-rocm-target"

    def codegen(self, arch: str) -> GpuCodegen:
        """Registers are VGPRs and AGPRs together (the makers' ISA guides)."""
        return GpuCodegen(
            prefetches=True,
            subgroups=(32, 64),
            hints=True,
            direct_loads=arch.startswith(_DIRECT_LOADS),
            accumulators=512 if arch in _CDNA_2_TO_4 else 256,
        )

    def float8(self, chip: str) -> str:
        return "f8E4M3FNUZ" if chip.startswith(_WITHOUT_NEGATIVE_ZERO) else super().float8(chip)
