"""NVIDIA GPUs through PTX."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from iree_tuner.errors import TunerError, UsageError
from iree_tuner.targets.gpu import BLOCK_DYNAMIC_DIMENSIONS, PREPARATION, GpuKind
from iree_tuner.targets.kind import FoundDevice, GpuCodegen, RuntimeFlag, RuntimeFlags
from iree_tuner.targets.target import Target

# CUDA's driver's facts about this machine's GPUs. Nothing is imported or opened where there is no driver.


_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR, cuda.h


@dataclass(frozen=True)
class CudaDevice:
    """A GPU; `cuda://0` is the first of the driver, `cuda://` and the uuid, `GPU-...`, is also its URI.

    Its compute capability is (9, 0) for Hopper.
    """

    index: int
    name: str
    uuid: str
    capability: tuple[int, int]


@cache
def cuda_devices() -> tuple[CudaDevice, ...]:
    """All of them; none without a driver, or if it does not start."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ()
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return ()
    return tuple(_device(driver, index) for index in range(count.value))


def _device(driver: ctypes.CDLL, index: int) -> CudaDevice:
    handle, value = ctypes.c_int(), ctypes.c_int()
    name, uuid = ctypes.create_string_buffer(128), (ctypes.c_ubyte * 16)()
    driver.cuDeviceGet(ctypes.byref(handle), index)
    driver.cuDeviceGetName(name, len(name), handle)
    driver.cuDeviceGetUuid(uuid, handle)
    capability: list[int] = []
    for attribute in (_MAJOR, _MINOR):
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle)
        capability.append(value.value)
    digits = bytes(uuid).hex()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return CudaDevice(
        index, name.value.decode(errors="replace"), f"GPU-{'-'.join(parts)}", (capability[0], capability[1])
    )


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


class Cuda(GpuKind):
    """NVIDIA GPUs by their architecture (`sm_80`) or a product's name (`a100`)."""

    name = "cuda"
    drivers = ("cuda",)
    executables = "cuda"
    chips = CHIPS
    names_chips = True
    emits_constraints = True
    compiles_on_load = True
    varying_allocations = True
    memory_checker = "compute-sanitizer"
    preparation = (*PREPARATION, BLOCK_DYNAMIC_DIMENSIONS)
    chip_flag = "--iree-cuda-target"

    def plain(self, chip: str, device: str | None) -> Target:
        usual = super().plain(chip, device)
        if chip not in _OWN_TARGETS:
            return usual
        flags = (*usual.flags[1:], f"--iree-cuda-target-features={_PTX[chip]}")
        own = resources.files("iree_tuner.targets") / _OWN_TARGETS[chip]
        return replace(usual, flags=flags, device_targets=own.read_text())

    def chip_of(self, device: str) -> str:
        """By its compute capability. Raises TunerError without a driver, UsageError for an unknown device."""
        if not cuda_devices():
            raise TunerError("no CUDA driver was found, or the driver finds no GPU", location=device)
        wanted = device.partition("://")[2] or "0"
        found = next((each for each in cuda_devices() if wanted in (str(each.index), each.uuid)), None)
        if found is None:
            known = ", ".join(f"cuda://{each.index} ({each.name})" for each in cuda_devices())
            raise UsageError(f"no device '{device}'", hint=f"one of: {known}")
        return chip_for(found.capability) or super().chip_of(device)

    def devices(self) -> tuple[FoundDevice, ...]:
        return tuple(
            FoundDevice(f"cuda://{each.index}", each.name, each.uuid, chip_for(each.capability) or "")
            for each in cuda_devices()
        )

    def runtime_flags(self, device: str, cores: int) -> RuntimeFlags:
        """Command buffers as graphs or on streams, recorded or executed inline; pools for memory."""
        return (
            RuntimeFlag("--cuda_use_streams=false", "--cuda_use_streams=true"),
            RuntimeFlag("--cuda_allow_inline_execution=true", "--cuda_allow_inline_execution=false"),
            RuntimeFlag("--cuda_async_allocations=false", "--cuda_async_allocations=true"),
        )

    def codegen(self, arch: str) -> GpuCodegen:
        """On CUDA, sums that no instruction divides read beyond an operand (docs/upstream)."""
        return GpuCodegen(pads_reductions=False)
