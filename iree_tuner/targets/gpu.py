"""The common base of GPU targets: the passes that run before tuning specs, chips by name, and options.

Sources of the passes: buildLLVMGPUCodegenCommonConfigurationPassPipelineImpl in LLVMGPU/Passes.cpp,
buildSPIRVCodegenConfigurationPassPipelineImpl in SPIRV/Passes.cpp, and
addCommonTargetExecutablePreprocessingPasses in Common/Passes.cpp. Passes that change nothing in a
dispatch without encodings are left out.
"""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import Protocol

from iree_tuner.errors import UsageError
from iree_tuner.targets.find import GPU_AXES, GPU_OPTIONS, flags_of
from iree_tuner.targets.kind import TargetKind
from iree_tuner.targets.target import Target

PREPARATION = (
    "iree-codegen-gpu-generalize-named-ops",
    "iree-codegen-type-propagation",
    "iree-codegen-bubble-up-ordinal-ops",
    "iree-codegen-bufferize-copy-only-dispatches",
    "iree-codegen-decompose-softmax",
    "iree-linalg-ext-convert-attention-to-online-attention",
)

# LLVMGPU only, not SPIR-V: a dynamic dimension that is known to be a multiple of 16 becomes two, `?x16`.
BLOCK_DYNAMIC_DIMENSIONS = "iree-codegen-block-dynamic-dimensions"


class GpuKind(TargetKind, Protocol):
    """A target that knows its chips by name."""

    is_gpu = True
    preparation = PREPARATION
    chip_flag = ""

    def plain(self, chip: str, device: str | None) -> Target:
        """The target for one of its chips, without options."""
        flags = (f"--iree-hal-target-device={self.name}", f"{self.chip_flag}={chip}")
        return Target(self.name, chip, device, flags, self.preparation)

    def target(self, chip: str, device: str | None) -> Target:
        base, *options = chip.split("+")
        if base == "host" and device is not None:
            base = self.chip_of(device)
        if base not in self.chips:
            near = difflib.get_close_matches(base, self.chips, n=4, cutoff=0.3) or self.chips[:8]
            raise UsageError(
                f"unknown target '{self.name}:{chip}'",
                hint=f"for {self.name}: {', '.join(f'{self.name}:{each}' for each in near)}",
            )
        plain, flags = self.plain(base, device), flags_of(self.name, options, GPU_OPTIONS)
        return replace(plain, chip="+".join((base, *options)), flags=(*plain.flags, *flags), axes=GPU_AXES)
