"""Targets: where code will run. One file for each kind (`kind.TargetKind`), found through entry points.

May import `compiler` and `errors`; every later package may import it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

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

_HOMES = ("target", "registry", "find", "limits")  # those that import least first


def __getattr__(name: str) -> object:
    """A name from the module that defines it, imported on first use, so that workers start faster."""
    for module in (import_module(f"{__name__}.{home}") for home in _HOMES if name in __all__):
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
