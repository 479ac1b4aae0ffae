"""Find a target by what a user writes."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace

from iree_tuner.errors import TunerError, UsageError
from iree_tuner.targets import cuda, hip, llvm_cpu, vulkan
from iree_tuner.targets.cuda_devices import cuda_devices, find_cuda_device
from iree_tuner.targets.options import options_of, with_gpu_options
from iree_tuner.targets.target import Target
from iree_tuner.targets.user_flags import with_user_flags

_Make = Callable[[str, str | None], Target]
_GPUS: dict[str, tuple[_Make, tuple[str, ...]]] = {
    "cuda": (cuda.target, cuda.CHIPS),
    "hip": (hip.target, hip.CHIPS),
    "vulkan": (vulkan.target, vulkan.CHIPS),
}
BACKENDS = ("llvm-cpu", *_GPUS)
"""What comes before the colon of a target."""

_SUPPORTED = "llvm-cpu:host, llvm-cpu:<cpu>+data-tiling, cuda:sm_80, hip:gfx942, vulkan:ampere and similar"


def parse_target(text: str) -> Target:
    """Read `llvm-cpu:host`, `llvm-cpu:host+data-tiling`, `cuda:sm_80`, `hip:gfx942`, `vulkan:ampere`.

    Raises UsageError for a backend or a chip that is not known.
    """
    backend, _, chip = text.partition(":")
    if backend == "llvm-cpu":
        return llvm_cpu.target(chip or "host", device=None)
    if backend not in _GPUS:
        raise UsageError(f"unknown target '{text}'", hint=f"supported: {_SUPPORTED}")
    make, chips = _GPUS[backend]
    chip, *options = chip.split("+")
    if chip not in chips:
        near = difflib.get_close_matches(chip, chips, n=4, cutoff=0.3) or chips[:8]
        raise UsageError(
            f"unknown target '{text}'",
            hint=f"for {backend}: {', '.join(f'{backend}:{each}' for each in near)}",
        )
    return with_gpu_options(make(chip, None), options)


def with_options(target: Target, options: Sequence[str]) -> Target:
    """The target with these options in the place of its own. Raises UsageError for one that there is not."""
    base = target.chip.split("+")[0]
    if tuple(options) == options_of(target):
        return target
    found = replace(parse_target(f"{target.backend}:{'+'.join((base, *options))}"), device=target.device)
    return with_user_flags(found, target.user_flags)


def _chip_of(uri: str, driver: str) -> str:
    """What a GPU is, where its driver tells. Raises UsageError."""
    if driver == "cuda" and not cuda_devices():
        raise TunerError("no CUDA driver found, or no GPU that it knows", location=uri)
    device = find_cuda_device(uri) if driver == "cuda" else None
    if driver == "cuda" and device is None:
        known = ", ".join(f"cuda://{each.index} ({each.name})" for each in cuda_devices())
        raise UsageError(f"no device '{uri}'", hint=f"one of: {known}")
    chip = cuda.chip_for(device.capability) if device else None
    if chip is None:
        known = ", ".join(_GPUS[driver][1][:8])
        raise UsageError(
            f"the chip of '{uri}' is unknown, because its driver is not available",
            hint=f"pass --chip: {known}, ...",
        )
    return chip


def target_for_device(uri: str, chip: str = "host") -> Target:
    """The target that a device runs.

    Raises UsageError for a device that this version cannot tune on, TunerError where a driver is missing.

    Args:
        uri: of the device.
        chip: what it is compiled for, where that is not the machine as it is: `host+data-tiling`; for a GPU,
            its architecture: `sm_80`; `host` is what CUDA's driver says that the GPU can run.
    """
    driver = uri.partition("://")[0]
    if backend_of(uri) == driver:
        if chip.partition("+")[0] == "host":
            chip = chip.replace("host", _chip_of(uri, driver), 1)
        return replace(parse_target(f"{driver}:{chip}"), device=uri)
    if uri.partition("://")[2].partition("?")[0]:
        raise UsageError(f"no device '{uri}'", hint=f"the CPU is {driver}")
    return llvm_cpu.target(chip, device=uri)


def backend_of(uri: str) -> str:
    """The compiler's backend for a device, which may be another machine's. Raises UsageError."""
    driver = uri.partition("://")[0]
    if driver not in _GPUS and driver not in llvm_cpu.DRIVERS:
        raise UsageError(f"unknown device '{uri}'", hint=f"supported: {', '.join(llvm_cpu.DRIVERS)}")
    return driver if driver in _GPUS else "llvm-cpu"


def target_for_devices(uris: Sequence[str], chip: str = "host") -> tuple[Target, tuple[str, ...]]:
    """The target of the first device, which judges, and the others, which run the same code beside it.

    Raises:
        UsageError: there is none, one is given twice, or they are not of one kind.
    """
    if not uris or len(set(uris)) < len(uris):
        raise UsageError("give at least one device, and each device once")
    target, *others = (target_for_device(each, chip) for each in uris)
    for uri, other in zip(uris[1:], others, strict=True):
        if (other.backend, other.chip) != (target.backend, target.chip):
            raise UsageError(f"{uri} is not of the same kind as {uris[0]}: {other} and {target}")
    return target, tuple(uris[1:])
