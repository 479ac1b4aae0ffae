"""NVIDIA's GPUs, through NVML (`nvidia-ml-py`, the module `pynvml`)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

from iree_tuner.device.outcome import Readings
from iree_tuner.device.sensors.clock import ClockWatch

R = TypeVar("R")

# nvml.h, nvmlClocksEventReasons: idle, and clocks that were asked for, are no disturbance.
_HARMLESS = 0x1 | 0x2
_SM_CLOCK = 1  # NVML_CLOCK_SM
_GPU_TEMPERATURE = 0  # NVML_TEMPERATURE_GPU
_CORES_PER_MULTIPROCESSOR = {(6, 0): 64, (7, 0): 64, (7, 2): 64, (7, 5): 64, (8, 0): 64}  # others have 128


class NvidiaSensors:
    """One GPU. Made by `open_nvidia`."""

    source = "nvidia"
    tells_throttling = True

    def __init__(self, nvml: Any, handle: Any) -> None:  # noqa: ANN401
        self._nvml = nvml
        self._handle = handle
        self._clock = ClockWatch()

    def start(self) -> None:
        """Begin a measurement."""
        self._clock.start(self._clock_mhz())

    def disturbed(self) -> bool:
        """Whether something holds the clock down, or it moved by more than a tenth since the last look."""
        moved = self._clock.moved(self._clock_mhz())
        name = "nvmlDeviceGetCurrentClocksEventReasons"
        if not hasattr(self._nvml, name):  # before driver 535
            name = "nvmlDeviceGetCurrentClocksThrottleReasons"
        reasons = self._ask(name)
        return moved or bool(reasons is not None and int(reasons) & ~_HARMLESS)

    def readings(self) -> Readings:
        """Conditions since `start`; load is the host's to tell."""
        temperature = self._ask("nvmlDeviceGetTemperature", _GPU_TEMPERATURE)
        return Readings(
            clock_mhz=self._clock.mean(self._clock_mhz()),
            temperature_c=None if temperature is None else float(temperature),
        )

    def identity(self) -> tuple[str, str, int]:
        """Name, version of the driver, and multiprocessors (0 where unknown)."""
        driver = _try(self._nvml.nvmlSystemGetDriverVersion)
        cores = self._ask("nvmlDeviceGetNumGpuCores")
        level = self._ask("nvmlDeviceGetCudaComputeCapability")
        each = _CORES_PER_MULTIPROCESSOR.get(tuple(level), 128) if level else 128
        return _plain(self._ask("nvmlDeviceGetName")), _plain(driver), int(cores or 0) // each

    def memory_bytes(self) -> int | None:
        """All of its memory."""
        found = self._ask("nvmlDeviceGetMemoryInfo")
        return None if found is None else int(found.total)

    def _clock_mhz(self) -> float | None:
        found = self._ask("nvmlDeviceGetClockInfo", _SM_CLOCK)
        return None if found is None else float(found)

    def _ask(self, name: str, *args: object) -> Any:  # noqa: ANN401
        return _try(lambda: getattr(self._nvml, name)(self._handle, *args))


def open_nvidia(uuid: str) -> NvidiaSensors | None:
    """The GPU with this UUID, in plain hexadecimal digits; None where NVML is not there, or it is not."""
    nvml = _try(lambda: importlib.import_module("pynvml"))
    if nvml is None or not uuid:
        return None
    if _try(lambda: nvml.nvmlInit() or True) is None:
        return None
    for index in range(_try(nvml.nvmlDeviceGetCount) or 0):
        handle = _try(lambda i=index: nvml.nvmlDeviceGetHandleByIndex(i))
        found = _plain(_try(lambda h=handle: nvml.nvmlDeviceGetUUID(h)))
        if handle is not None and found.lower().removeprefix("gpu-").replace("-", "") == uuid:
            return NvidiaSensors(nvml, handle)
    return None


def _try(action: Callable[[], R]) -> R | None:
    """Its return value; None for whatever goes wrong in a foreign library, which sensors survive."""
    try:
        return action()
    except Exception:
        return None


def _plain(text: object) -> str:
    """Old releases of the module return bytes."""
    return text.decode(errors="replace") if isinstance(text, bytes) else str(text or "")
