"""Targets: where code will run. One file a backend: flags, device URIs, what its pipelines can be told.

May import `compiler` and `errors`; every later package may import it.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.targets.find import parse_target, target_for_device, target_for_devices
    from iree_tuner.targets.limits import CpuLimits, GpuLimits, Limits
    from iree_tuner.targets.target import Target

__all__ = [
    "CpuLimits",
    "GpuLimits",
    "Limits",
    "Target",
    "parse_target",
    "target_for_device",
    "target_for_devices",
]

_HOMES = {
    "CpuLimits": "limits",
    "GpuLimits": "limits",
    "Limits": "limits",
    "Target": "target",
    "parse_target": "find",
    "target_for_device": "find",
    "target_for_devices": "find",
}

__getattr__ = lazily(__name__, _HOMES)
