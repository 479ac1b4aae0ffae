"""Targets: where code will run. One file for each kind (`kind.TargetKind`), found through entry points.

May import `compiler` and `errors`; every later package may import it.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.targets.find import parse_target, target_for_device, target_for_devices
    from iree_tuner.targets.limits import CpuLimits, GpuLimits, Limits
    from iree_tuner.targets.registry import DEFAULT_DEVICE, kind_named, kind_of_device, on_host
    from iree_tuner.targets.target import Target, with_flags

__all__ = [
    "DEFAULT_DEVICE",
    "CpuLimits",
    "GpuLimits",
    "Limits",
    "Target",
    "kind_named",
    "kind_of_device",
    "on_host",
    "parse_target",
    "target_for_device",
    "target_for_devices",
    "with_flags",
]

_HOMES = {
    "CpuLimits": "limits",
    "DEFAULT_DEVICE": "registry",
    "GpuLimits": "limits",
    "Limits": "limits",
    "Target": "target",
    "kind_named": "registry",
    "kind_of_device": "registry",
    "on_host": "registry",
    "parse_target": "find",
    "target_for_device": "find",
    "target_for_devices": "find",
    "with_flags": "target",
}

__getattr__ = lazily(__name__, _HOMES)
