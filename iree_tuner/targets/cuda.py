"""NVIDIA GPUs through PTX."""

from __future__ import annotations

from importlib import resources

from iree_tuner.targets.gpu import BLOCK_DYNAMIC_DIMENSIONS, PREPARATION
from iree_tuner.targets.target import Target

# Source: getNVIDIAGPUTargetDetails, Codegen/Dialect/GPU/TargetUtils/KnownTargets.cpp; sm_90 is not in it.
CHIPS = (
    "sm_60", "sm_61", "sm_62", "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90",
    "sm_120", "sm_121", "a100", "rtx3070", "rtx3080", "rtx3090", "rtx4060", "rtx4070", "rtx4080", "rtx4090",
)  # fmt: skip

_OWN_TARGETS = {"sm_90": "cuda_sm_90.mlir"}
_PTX = {"sm_90": "+ptx84"}  # below 7.8, LLVM ends the process: "PTX version 7.6 does not support target"


def chip_for(capability: tuple[int, int]) -> str | None:
    """The newest architecture that IREE itself knows and that a GPU of a compute capability runs.

    PTX for an older architecture runs on a newer one. Our own `sm_90` has to be asked for: on an H200, code
    for it was no faster than for `sm_89`, tuned or not (docs/targets/cuda.md).
    """
    known = [each for each in CHIPS if each.startswith("sm_") and each not in _OWN_TARGETS]
    older = [each for each in known if _number(each) <= 10 * capability[0] + capability[1]]
    return max(older, key=_number, default=None)


def _number(chip: str) -> int:
    return int(chip.removeprefix("sm_"))


def target(chip: str, device: str | None) -> Target:
    """An NVIDIA GPU by its architecture (`sm_80`) or a product's name (`a100`)."""
    flags = (f"--iree-cuda-target={chip}",)
    own = _OWN_TARGETS.get(chip)
    if own is None:
        flags = ("--iree-hal-target-device=cuda", *flags)
    else:
        flags = (*flags, f"--iree-cuda-target-features={_PTX[chip]}")
    return Target(
        backend="cuda",
        chip=chip,
        device=device,
        flags=flags,
        preparation=(*PREPARATION, BLOCK_DYNAMIC_DIMENSIONS),
        spec_prologue=(),
        device_targets=(resources.files("iree_tuner.targets") / own).read_text() if own else "",
    )
