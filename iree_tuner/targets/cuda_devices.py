"""CUDA's driver's facts about this machine's GPUs. Nothing is imported or opened where there is no driver."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache

_LIBRARY = "libcuda.so.1"
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR, cuda.h


@dataclass(frozen=True)
class CudaDevice:
    """A GPU.

    Attributes:
        index: its place among the driver's devices; `cuda://0` is the first.
        name: as it names itself.
        uuid: `GPU-` and its number in hexadecimal digits, as in `cuda://GPU-...`.
        capability: compute capability: (9, 0) for Hopper.
    """

    index: int
    name: str
    uuid: str
    capability: tuple[int, int]


@cache
def cuda_devices() -> tuple[CudaDevice, ...]:
    """All of them; none where there is no driver, or it does not start."""
    try:
        driver = ctypes.CDLL(_LIBRARY)
    except OSError:
        return ()
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return ()
    return tuple(_device(driver, index) for index in range(count.value))


def find_cuda_device(uri: str) -> CudaDevice | None:
    """The device of a URI (`cuda`, `cuda://1`, `cuda://GPU-...`); None where there is none like that."""
    wanted = uri.partition("://")[2] or "0"
    return next((each for each in cuda_devices() if wanted in (str(each.index), each.uuid)), None)


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
