"""GPUs through SPIR-V and Vulkan."""

from __future__ import annotations

from iree_tuner.targets.gpu import GpuKind
from iree_tuner.targets.kind import GpuCodegen

# Source: getVulkanTargetDetails, Codegen/Dialect/GPU/TargetUtils/KnownTargets.cpp. An unknown name crashes
# the compiler, of which `apple` is one in spite of the help text (docs/upstream/vulkan_apple_target.md).
CHIPS = (
    "vp_android_baseline_2022", "adreno", "ampere", "ada", "turing", "volta", "pascal",
    "sm_80", "sm_86", "sm_89",
    "rdna1", "rdna2", "rdna3", "rdna4", "gfx1100", "gfx1201", "valhall", "valhall1", "valhall2", "valhall3",
    "valhall4", "mali-g77", "mali-g78", "mali-g710", "mali-g715", "mali-g720", "videocore_vii",
    "rtx3090", "rtx4090", "rx7900xtx", "rx9070xt",
)  # fmt: skip


_NO_SHUFFLES = ("vp_android_baseline_2022", "videocore")  # SubgroupOps::None in KnownTargets.cpp


class Vulkan(GpuKind):
    """GPUs by architecture or product (`ampere`, `rdna3`), or a profile (`vp_android_baseline_2022`)."""

    name = "vulkan"
    drivers = ("vulkan",)
    executables = "vulkan-spirv"
    title = "Vulkan"
    chips = CHIPS
    renamed = (("sm_60", "pascal"), ("sm_70", "volta"), ("sm_75", "turing"), ("arm5gen", "mali-g720"))
    several_drivers = True
    chip_flag = "--iree-vulkan-target"

    def codegen(self, arch: str) -> GpuCodegen:
        return GpuCodegen(spirv=True, shuffles=not arch.startswith(_NO_SHUFFLES))
