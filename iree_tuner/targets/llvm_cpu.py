"""CPUs through LLVM, run by the `local-task` and `local-sync` drivers."""

from __future__ import annotations

from iree_tuner.targets.target import Target

DRIVERS = ("local-task", "local-sync")

# What runs before MaterializeTuningSpecs. Source: addCommonTargetExecutablePreprocessingPasses,
# iree/compiler/Codegen/Common/Passes.cpp. Matchers made from what these leave must fire in the compiler's
# own pipeline: test/unit/ops/test_matchers_in_pipeline.py.
_PREPARATION = (
    "iree-codegen-type-propagation",
    "iree-codegen-bubble-up-ordinal-ops",
    "iree-codegen-bufferize-copy-only-dispatches",
    "iree-codegen-decompose-softmax",
    "iree-linalg-ext-convert-attention-to-online-attention",
)

# Runs after tuning specs, and replaces a convolution whose batch of 1 was folded away by one with a
# batch, without the configuration that a spec has put on it. A spec that runs it first keeps it.
_SPEC_PROLOGUE = ("iree-codegen-insert-batch-dim-for-batchless-conv",)


def target(chip: str, device: str | None) -> Target:
    """A CPU by LLVM's name (`znver4`), or `host`."""
    return Target(
        backend="llvm-cpu",
        chip=chip,
        device=device,
        flags=(
            "--iree-hal-target-device=local",
            "--iree-hal-local-target-device-backends=llvm-cpu",
            f"--iree-llvmcpu-target-cpu={chip}",
        ),
        preparation=_PREPARATION,
        spec_prologue=_SPEC_PROLOGUE,
        placements=4,  # the four multiples of 16 in a cache line of 64 bytes
    )
