"""What the GPU targets share: the passes that run before tuning specs.

Sources: buildLLVMGPUCodegenCommonConfigurationPassPipelineImpl in LLVMGPU/Passes.cpp,
buildSPIRVCodegenConfigurationPassPipelineImpl in SPIRV/Passes.cpp, and
addCommonTargetExecutablePreprocessingPasses in Common/Passes.cpp. Passes that change nothing in a
dispatch without encodings are left out.
"""

from __future__ import annotations

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
