"""NVIDIA's GPUs, through NVML (`nvidia-ml-py`, the module `pynvml`)."""

from __future__ import annotations

import importlib
from typing import Any

from iree_tuner.device.hal_device import plain_uuid
from iree_tuner.device.sensors.base import Sensors, attempt

# nvml.h, nvmlClocksEventReasons: idle, and clocks that were asked for, are no disturbance.
_HARMLESS = 0x1 | 0x2
_SM_CLOCK = 1  # NVML_CLOCK_SM
_GPU_TEMPERATURE = 0  # NVML_TEMPERATURE_GPU
_CORES_PER_MULTIPROCESSOR = {(6, 0): 64, (7, 0): 64, (7, 2): 64, (7, 5): 64, (8, 0): 64}  # others have 128


class NvidiaSensors(Sensors):
    """One GPU. Made by `open_nvidia`."""

    source = "nvidia"
    tells_throttling = True

    def __init__(self, nvml: Any, handle: Any, host: Sensors | None = None) -> None:  # noqa: ANN401
        super().__init__(host)
        self._nvml = nvml
        self._handle = handle

    def clock_mhz(self) -> float | None:
        return self._ask("nvmlDeviceGetClockInfo", _SM_CLOCK)

    def temperature_c(self) -> float | None:
        return self._ask("nvmlDeviceGetTemperature", _GPU_TEMPERATURE)

    def is_held(self) -> bool:
        name = "nvmlDeviceGetCurrentClocksEventReasons"
        if not hasattr(self._nvml, name):  # before driver 535
            name = "nvmlDeviceGetCurrentClocksThrottleReasons"
        reasons = self._ask(name)
        return reasons is not None and bool(int(reasons) & ~_HARMLESS)

    def identity(self) -> tuple[str, str, int]:
        driver = attempt(self._nvml.nvmlSystemGetDriverVersion)
        cores = self._ask("nvmlDeviceGetNumGpuCores")
        level = self._ask("nvmlDeviceGetCudaComputeCapability")
        each = _CORES_PER_MULTIPROCESSOR.get(tuple(level), 128) if level else 128
        return _plain(self._ask("nvmlDeviceGetName")), _plain(driver), int(cores or 0) // each

    def memory_bytes(self) -> int | None:
        found = self._ask("nvmlDeviceGetMemoryInfo")
        return None if found is None else int(found.total)

    def _ask(self, name: str, *args: object) -> Any:  # noqa: ANN401
        return attempt(lambda: getattr(self._nvml, name)(self._handle, *args))


def open_nvidia(uuid: str, host: Sensors | None = None) -> NvidiaSensors | None:
    """The GPU with this UUID, in plain hexadecimal digits; None if it or NVML is missing."""
    nvml = attempt(lambda: importlib.import_module("pynvml"))
    if nvml is None or not uuid or attempt(lambda: nvml.nvmlInit() or True) is None:
        return None
    for index in range(attempt(nvml.nvmlDeviceGetCount) or 0):
        handle = attempt(lambda i=index: nvml.nvmlDeviceGetHandleByIndex(i))
        found = _plain(attempt(lambda h=handle: nvml.nvmlDeviceGetUUID(h)))
        if handle is not None and plain_uuid(found) == uuid:
            return NvidiaSensors(nvml, handle, host)
    return None


def _plain(text: object) -> str:
    """Text, which old releases of the module return as bytes."""
    return text.decode(errors="replace") if isinstance(text, bytes) else str(text or "")
