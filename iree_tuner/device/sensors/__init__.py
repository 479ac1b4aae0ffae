"""The machine's sensors, read while it is measured: clocks, throttling, temperature, load.

One file a source. A source that is not there, or breaks, is None in the readings, never an error.
"""

from __future__ import annotations

from dataclasses import replace

from iree_tuner.device.hal_device import HalDevice, find_hal_device
from iree_tuner.device.outcome import NoSensors, Readings, Sensors
from iree_tuner.device.sensors.amd import AmdSensors, open_amd
from iree_tuner.device.sensors.cpu import CpuSensors
from iree_tuner.device.sensors.nvidia import NvidiaSensors, open_nvidia

__all__ = ["describe", "sensors_for"]


class _Silent(NoSensors):
    """A GPU that tells nothing."""

    source = "none"
    tells_throttling = False


class _WithHost:
    """A GPU's own sensors, and the load of the host that feeds it."""

    def __init__(self, device: Sensors, host: Sensors) -> None:
        self._device = device
        self._host = host

    def start(self) -> None:
        """Begin on both."""
        self._host.start()
        self._device.start()

    def disturbed(self) -> bool:
        """Whether the GPU was: the host's clock does not matter to it."""
        return self._device.disturbed()

    def readings(self) -> Readings:
        """Clock and temperature of the GPU, load of the host."""
        host = self._host.readings()
        return replace(self._device.readings(), load=host.load, stolen=host.stolen)


def sensors_for(device_uri: str) -> Sensors:
    """Those of a device; what there is, and nothing raises. NVIDIA's need `nvidia-ml-py`, AMD's `amdsmi`."""
    device = find_hal_device(device_uri)
    if device.on_host:
        return CpuSensors()
    return _WithHost(_of_gpu(device), CpuSensors())


def describe(device_uri: str) -> dict[str, object]:
    """Which sensors a device has and what they say now, for people."""
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


def _of_gpu(device: HalDevice) -> NvidiaSensors | AmdSensors | _Silent:
    return open_nvidia(device.uuid) or open_amd(device.uuid) or _Silent()
