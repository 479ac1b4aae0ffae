"""The machine that a device is: what its driver and system report, and its maker's specifications."""

from __future__ import annotations

from iree_tuner.device.device_facts import DeviceFacts
from iree_tuner.targets import CpuLimits, Limits
from iree_tuner.targets.machine import Machine

_WIDE_VECTOR = 64
_NEAR, _MIDDLE = 32 << 10, 1 << 20  # if the system does not report them

_MULTIPROCESSORS = (
    # From the white papers of Hopper, Ampere, Ada, Turing and Volta; CDNA 3 and CDNA 2.
    ("H100 PCIe", 114), ("H100", 132), ("H200", 132), ("H800", 132), ("GH200", 132), ("A100", 108),
    ("A800", 108), ("V100", 80), ("T4", 40), ("L40", 142), ("L4", 58), ("A10", 72), ("A40", 84),
    ("RTX 4090", 128), ("RTX 3090", 82), ("MI300X", 304), ("MI325", 304), ("MI308", 80), ("MI250", 104),
)  # fmt: skip
"""Multiprocessors by a part of the device's name; the first that fits."""

_GPU_REGISTERS = 65536
_SHARED_OF_MULTIPROCESSOR = (("H100", 228), ("H200", 228), ("A100", 164))
"""KiB that the workgroups of a multiprocessor divide; twice a workgroup's limit elsewhere."""


def machine_of(facts: DeviceFacts, limits: Limits) -> Machine:
    """A device as a machine; `limits` are the limits of the code that it runs."""
    if isinstance(limits, CpuLimits):
        wide = limits.native_vector_bytes >= _WIDE_VECTOR
        return Machine(
            "cpu", facts.name, facts.cores, limits.native_vector_bytes, 32 if wide else 16,
            facts.near_bytes or _NEAR, facts.middle_bytes or _MIDDLE, facts.last_level_bytes,
        )  # fmt: skip
    name = facts.name
    units = facts.units or next((count for part, count in _MULTIPROCESSORS if part in name), 0)
    shared = next((size << 10 for part, size in _SHARED_OF_MULTIPROCESSOR if part in name), 0)
    return Machine(
        "gpu", name, units, limits.max_load_bits // 8, _GPU_REGISTERS,
        shared or 2 * limits.shared_memory_bytes, 0, facts.last_level_bytes,
    )  # fmt: skip
