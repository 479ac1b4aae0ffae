"""The machine's sensors, read while it is measured: clocks, throttling, temperature, load.

One file a source. A missing or broken source is None in the readings, never an error.
"""

from __future__ import annotations

from dataclasses import replace

from iree_tuner.device.hal_device import HalDevice, find_hal_device
from iree_tuner.device.outcome import NoSensors, Readings, Sensors
from iree_tuner.device.sensors.amd import AmdSensors, open_amd
from iree_tuner.device.sensors.cpu import CpuSensors
from iree_tuner.device.sensors.nvidia import NvidiaSensors, open_nvidia

__all__ = ["describe", "sensors_for"]


class _WithHost:
    """A GPU's own sensors for clock and temperature, and those of its host for load."""

    def __init__(self, device: Sensors, host: Sensors) -> None:
        self._device = device
        self._host = host

    def start(self) -> None:
        self._host.start()
        self._device.start()

    def disturbed(self) -> bool:
        return self._device.disturbed()

    def readings(self) -> Readings:
        host = self._host.readings()
        return replace(self._device.readings(), load=host.load, stolen=host.stolen)


def sensors_for(device_uri: str) -> Sensors:
    """The sensors of a device; nothing raises. NVIDIA's need `nvidia-ml-py`, AMD's `amdsmi`."""
    device = find_hal_device(device_uri)
    if device.on_host:
        return CpuSensors()
    return _WithHost(_of_gpu(device), CpuSensors())


def describe(device_uri: str) -> dict[str, object]:
    """The source of a device's sensors and their current readings, for people."""
    device = find_hal_device(device_uri)
    sensors = CpuSensors() if device.on_host else _of_gpu(device)
    sensors.start()
    found = sensors.readings()
    return {
        "source": sensors.source,
        "clock_mhz": found.clock_mhz,
        "temperature_c": found.temperature_c,
        "throttling": sensors.tells_throttling,
    }


def _of_gpu(device: HalDevice) -> NvidiaSensors | AmdSensors | NoSensors:
    return open_nvidia(device.uuid) or open_amd(device.uuid) or NoSensors()
