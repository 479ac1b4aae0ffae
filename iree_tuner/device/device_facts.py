"""Facts about devices: caches, memory, names and drivers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from iree_tuner.device.hal_device import find_hal_device
from iree_tuner.device.sensors import sensors_of_gpu
from iree_tuner.device.sensors.cpu import usable
from iree_tuner.errors import UsageError
from iree_tuner.program.bindings import Harness
from iree_tuner.targets import kind_of_device
from iree_tuner.targets.machine import Machine, processor_name

if TYPE_CHECKING:
    from iree_tuner.targets import Limits

CACHE = "IREE_TUNER_CACHE_BYTES"
"""Environment variable with the host's own share of its last cache, if the system reports something else."""

_MIB = 1 << 20
_UNKNOWN_CACHE = 64 * _MIB
_CORE_SHARE = 4 * _MIB  # of EPYC and Xeon 6
_MOST = 1024 * _MIB
_ROOT = Path("/")

_GPUS = (
    # NVIDIA: of the product, from the white papers of Volta, Turing, Ampere (GA100, GA102), Ada, Hopper and
    # Blackwell (RTX).
    ("H100 PCIe", 50, 114, 228), ("GH200", 50, 132, 228), ("H100", 50, 132, 228), ("H200", 50, 132, 228),
    ("H800", 50, 132, 0), ("A100", 40, 108, 164), ("A800", 40, 108, 0), ("V100", 6, 80, 0), ("T4", 4, 40, 0),
    ("L40", 96, 142, 0), ("RTX 6000 Ada", 96, 0, 0), ("L4", 48, 58, 0), ("RTX 5090", 96, 0, 0),
    ("RTX 4090", 72, 128, 0), ("RTX 4080", 64, 0, 0), ("A10", 6, 72, 0), ("A40", 6, 84, 0),
    ("RTX 3090", 6, 82, 0), ("RTX A6000", 6, 0, 0),
    # AMD: the last level is the Infinity Cache where there is one; from the white papers of CDNA, CDNA 2,
    # CDNA 3 and RDNA 3, and from the products' pages.
    ("MI100", 8, 0, 0), ("MI210", 8, 0, 0), ("MI250", 8, 104, 0), ("MI300X", 256, 304, 0),
    ("MI300", 256, 0, 0), ("MI308", 256, 80, 0), ("MI325", 256, 304, 0), ("MI350", 256, 0, 0),
    ("MI355", 256, 0, 0), ("7900 XTX", 96, 0, 0), ("7900 XT", 80, 0, 0), ("W7900", 96, 0, 0),
    ("9070", 64, 0, 0), ("6900 XT", 128, 0, 0),
)  # fmt: skip
"""By a part of the device's name, the first that fits: MiB of the last-level cache, multiprocessors, and KiB
of shared memory that the workgroups of one divide; 0 if not known."""

_WIDE_VECTOR = 64
_NEAR, _MIDDLE = 32 << 10, 1 << 20  # caches, if the system does not report them
_GPU_REGISTERS = 65536


@dataclass(frozen=True)
class DeviceFacts:
    """The facts that the host of a device knows about it."""

    name: str  # of the processor that runs the code
    driver: str  # version of its driver
    units: int  # cores or multiprocessors; 0 if unknown
    cores: int  # of the host, that a process may use
    # `near_bytes`, `middle_bytes`: of a core's first-level data cache and second-level cache; 0 if unknown
    near_bytes: int
    middle_bytes: int
    last_level_bytes: int  # see `last_level_cache`
    rotation_bytes: int  # of copies that exceed all caches, limited by its memory


@cache
def facts_of(device_uri: str) -> DeviceFacts:
    """The facts that this host knows about a device."""
    near, middle = (min(_caches(_ROOT).get(level, {}).values(), default=0) for level in (1, 2))
    return DeviceFacts(
        *device_setting(device_uri), usable_cores(), near, middle, last_level_cache(device_uri),
        min(_limits(device_uri)),
    )  # fmt: skip


def copies_for(harness: Harness, device_uri: str, cold: bool) -> int:
    """The number of copies of its data that a dispatch rotates through.

    If `cold`, they take twice the last-level cache, at most a quarter of the device's memory or 1 GiB. The
    distance of the copies counts, not their contents: copies of a small dispatch begin at the start of a
    page, and so compete for the few cache sets that starts of pages fall on. A dispatch that takes more than
    this machine's part of a cache that other machines use, too, may still find its data in theirs.
    """
    if not cold:
        return 1
    most, own, every = _limits(device_uri)
    wanted = every if 2 * harness.stride > own else own
    return max(1, min(-(-wanted // harness.stride), most // harness.stride))


def device_setting(device_uri: str) -> tuple[str, str, int]:
    """Name of the processor, version of its driver, and cores or multiprocessors (0 if unknown)."""
    device = find_hal_device(device_uri)
    if device.on_host and not device.name:
        return processor_name(), "", usable_cores()
    name, driver, units = ("", "", 0) if device.on_host else sensors_of_gpu(device).identity()
    reported = " ".join(filter(None, (device.fact("driver"), device.fact("driver_info"))))
    if kind_of_device(device.driver).several_drivers:  # the same GPU has more than one driver for it
        driver = reported or driver
    elif not driver:
        driver = reported or _nvidia_driver(_ROOT)
    return name or device.name or device.driver, driver, usable_cores() if device.on_host else units


def last_level_cache(device_uri: str, root: Path = _ROOT) -> int:
    """Bytes of the last cache of the cores that this process may use, or of the GPU's; 64 MiB if unknown.

    On the host `IREE_TUNER_CACHE_BYTES` overrides what the system reports. Raises UsageError if it is not a
    positive whole number.
    """
    device = find_hal_device(device_uri)
    if device.on_host:
        sizes = _caches(root)  # the highest level, summed over the instances of usable cores
        return _given_cache() or (sum(sizes[max(sizes)].values()) if sizes else _UNKNOWN_CACHE)
    name = sensors_of_gpu(device).identity()[0] or device.name
    return _gpu_named(name)[0] * _MIB or _UNKNOWN_CACHE


def own_cache(device_uri: str, root: Path = _ROOT) -> int:
    """Bytes of the last cache that other machines do not use.

    A virtual machine reports the cache of its whole host. Each usable core counts for at most its share on
    today's servers. `IREE_TUNER_CACHE_BYTES` overrides this, too.
    """
    size = last_level_cache(device_uri, root)
    if not find_hal_device(device_uri).on_host or _given_cache() or not _is_virtual(root):
        return size
    return min(size, usable_cores() * _CORE_SHARE)


def _is_virtual(root: Path) -> bool:
    try:
        text = (root / "proc/cpuinfo").read_text()
    except OSError:
        return False
    return any("hypervisor" in line.split() for line in text.splitlines() if line.startswith("flags"))


def _given_cache() -> int:
    given = os.environ.get(CACHE, "")
    if given and not (given.isdecimal() and int(given)):
        raise UsageError(
            f"{CACHE} is not a number of bytes: '{given}'",
            hint="set it to a number of bytes above 0, or unset it",
        )
    return int(given or 0)


def memory_bytes(device_uri: str) -> int | None:
    """All memory of a device; None if unknown."""
    device = find_hal_device(device_uri)
    if device.on_host:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return sensors_of_gpu(device).memory_bytes()


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(usable())


@cache
def _limits(device_uri: str) -> tuple[int, int, int]:
    """The most bytes that copies may take, and twice the own part of the last cache, and all of it."""
    memory = memory_bytes(device_uri)
    most = _MOST if memory is None else min(_MOST, memory // 4)
    return most, 2 * own_cache(device_uri), 2 * last_level_cache(device_uri)


def _caches(root: Path) -> dict[int, dict[str, int]]:
    """Bytes of data caches, by level and by the cores that share them."""
    sizes: dict[int, dict[str, int]] = {}
    names = ("type", "level", "size", "shared_cpu_list")
    for cpu in usable():
        for index in (root / f"sys/devices/system/cpu/cpu{cpu}/cache").glob("index*"):
            try:
                kind, level, size, shared = ((index / name).read_text().strip() for name in names)
            except OSError:
                continue
            if kind != "Instruction":
                sizes.setdefault(int(level), {})[shared] = _bytes(size)
    return sizes


def _bytes(text: str) -> int:
    unit = {"K": 10, "M": 20, "G": 30}.get(text[-1:], 0)
    return int(text.rstrip("KMG") or 0) << unit


def _nvidia_driver(root: Path) -> str:
    """The version in the kernel module's own file, if NVML is not installed."""
    try:
        words = (root / "proc/driver/nvidia/version").read_text().splitlines()[0].split()
    except (OSError, IndexError):
        return ""
    return next((word for word in words if word[:1].isdigit() and "." in word), "")


def machine_of(facts: DeviceFacts, limits: Limits) -> Machine:
    """A device as a machine, by what its driver, its system and its maker say of it.

    `limits` are the limits of the code that it runs.
    """
    from iree_tuner.targets import CpuLimits  # it loads the compiler, which measuring does without

    if isinstance(limits, CpuLimits):
        wide = limits.native_vector_bytes >= _WIDE_VECTOR
        return Machine(
            "cpu", facts.name, facts.cores, limits.native_vector_bytes, 32 if wide else 16,
            facts.near_bytes or _NEAR, facts.middle_bytes or _MIDDLE, facts.last_level_bytes,
        )  # fmt: skip
    _, units, shared = _gpu_named(facts.name)
    return Machine(
        "gpu", facts.name, facts.units or units, limits.max_load_bits // 8, _GPU_REGISTERS,
        (shared << 10) or 2 * limits.shared_memory_bytes, 0, facts.last_level_bytes,
    )  # fmt: skip


def _gpu_named(name: str) -> list[int]:
    return next((numbers for part, *numbers in _GPUS if part in name), [0, 0, 0])
