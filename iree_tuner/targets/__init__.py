"""Targets: where code will run. One file a backend: flags, device URIs, what its pipelines can be told.

May import `compiler` and `errors`; every later package may import it.
"""

from iree_tuner.targets.find import parse_target, target_for_device
from iree_tuner.targets.limits import CpuLimits, GpuLimits, Limits
from iree_tuner.targets.target import Target

__all__ = ["CpuLimits", "GpuLimits", "Limits", "Target", "parse_target", "target_for_device"]
