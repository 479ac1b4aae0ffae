"""The machine's sensors, read while it is measured: clocks, throttling, temperature, load.

One file a source. A missing or broken source is None in the readings, never an error.
"""

from __future__ import annotations

from iree_tuner.device.hal_device import HalDevice, find_hal_device
from iree_tuner.device.sensors.amd import open_amd
from iree_tuner.device.sensors.base import Sensors
from iree_tuner.device.sensors.cpu import CpuSensors
from iree_tuner.device.sensors.nvidia import open_nvidia

__all__ = ["Sensors", "describe", "sensors_for", "sensors_of_gpu"]


def sensors_for(device_uri: str) -> Sensors:
    """The sensors of a device; nothing raises. NVIDIA's need `nvidia-ml-py`, AMD's `amdsmi`."""
    device = find_hal_device(device_uri)
    return CpuSensors() if device.on_host else sensors_of_gpu(device, CpuSensors())


def describe(device_uri: str) -> dict[str, object]:
    """The source of a device's sensors and their current readings, for people."""
    sensors = sensors_for(device_uri)
    sensors.start()
    found = sensors.readings()
    return {
        "source": sensors.source,
        "clock_mhz": found.clock_mhz,
        "temperature_c": found.temperature_c,
        "throttling": sensors.tells_throttling,
    }


def sensors_of_gpu(device: HalDevice, host: Sensors | None = None) -> Sensors:
    """The sensors of a GPU, which also know its name and its memory."""
    return open_nvidia(device.uuid, host) or open_amd(device.uuid, host) or Sensors(host)
