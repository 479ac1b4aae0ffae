"""AMD's GPUs, through AMD SMI (`amdsmi`). Written from its documentation, not run on such a GPU yet.

Names: rocm.docs.amd.com, AMD SMI, Python API and "GPU violations".
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from iree_tuner.device.hal_device import plain_uuid
from iree_tuner.device.sensors.base import Sensors, attempt

_COUNTERS = ("acc_prochot_thrm", "acc_ppt_pwr", "acc_socket_thrm", "acc_vr_thrm", "acc_hbm_thrm")
"""The counters of `amdsmi_get_violation_status`, on MI300 and newer."""


class AmdSensors(Sensors):
    """One GPU. Made by `open_amd`."""

    source = "amd"
    tells_throttling = True

    def __init__(self, smi: Any, handle: Any, host: Sensors | None = None) -> None:  # noqa: ANN401
        super().__init__(host)
        self._smi = smi
        self._handle = handle

    def clock_mhz(self) -> float | None:
        graphics = attempt(lambda: self._smi.AmdSmiClkType.GFX)
        found = self._ask("amdsmi_get_clock_info", graphics)
        return _number(found.get("clk", found.get("cur_clk")))

    def temperature_c(self) -> float | None:
        return attempt(
            lambda: _number(
                self._smi.amdsmi_get_temp_metric(
                    self._handle,
                    self._smi.AmdSmiTemperatureType.HOTSPOT,
                    self._smi.AmdSmiTemperatureMetric.CURRENT,
                )
            )
        )

    def throttles(self) -> float:
        found = self._ask("amdsmi_get_violation_status")
        return sum(_number(found.get(name)) or 0.0 for name in _COUNTERS)

    def is_held(self) -> bool:
        """Older GPUs have a state instead of counters."""
        now = self._ask("amdsmi_get_gpu_metrics_info").get("throttle_status")
        return isinstance(now, int) and now != 0

    def identity(self) -> tuple[str, str, int]:
        asic = self._ask("amdsmi_get_gpu_asic_info")
        driver = self._ask("amdsmi_get_gpu_driver_info")
        units = asic.get("num_compute_units")
        name, version = str(asic.get("market_name", "")), str(driver.get("driver_version", ""))
        return name, version, units if isinstance(units, int) else 0

    def memory_bytes(self) -> int | None:
        found = self._ask("amdsmi_get_gpu_vram_usage").get("vram_total")
        return found << 20 if isinstance(found, int) else None  # reported in MiB

    def _ask(self, name: str, *args: object) -> Mapping[str, object]:
        found = attempt(lambda: getattr(self._smi, name)(self._handle, *args))
        return found if isinstance(found, Mapping) else {}


def open_amd(uuid: str, host: Sensors | None = None) -> AmdSensors | None:
    """The GPU with this UUID of HIP, in plain digits; None if it or AMD SMI is missing."""
    smi = attempt(lambda: importlib.import_module("amdsmi"))
    if smi is None or not uuid:
        return None
    attempt(lambda: smi.amdsmi_init())
    for handle in attempt(lambda: list(smi.amdsmi_get_processor_handles())) or []:
        found = attempt(lambda h=handle: smi.amdsmi_get_gpu_enumeration_info(h)["hip_uuid"])
        if plain_uuid(found) == uuid:
            return AmdSensors(smi, handle, host)
    return None


def _number(value: object) -> float | None:
    """A number, or None: fields that a GPU does not have hold the text "N/A"."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
