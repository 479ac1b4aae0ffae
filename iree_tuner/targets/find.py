"""Find a target by a user's text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from iree_tuner.errors import UsageError
from iree_tuner.targets.kind import TargetKind
from iree_tuner.targets.options import options_of, with_user_flags
from iree_tuner.targets.registry import driver_of, kind_named, kind_of_device, kinds
from iree_tuner.targets.target import Target

_SUPPORTED = "llvm-cpu:host, llvm-cpu:<cpu>+data-tiling, cuda:sm_80, hip:gfx942, vulkan:ampere and similar"


def parse_target(text: str) -> Target:
    """Read `llvm-cpu:host`, `llvm-cpu:host+data-tiling`, `cuda:sm_80`, `hip:gfx942`, `vulkan:ampere`.

    Raises UsageError for an unknown backend or chip.
    """
    name, _, chip = text.partition(":")
    if name not in kinds():
        raise UsageError(f"unknown target '{text}'", hint=f"supported: {_SUPPORTED}")
    return kind_named(name).target(chip, None)


def with_options(target: Target, options: Sequence[str]) -> Target:
    """The target with these options instead of its own. Raises UsageError for an unknown one."""
    base = target.chip.split("+")[0]
    if tuple(options) == options_of(target):
        return target
    found = replace(parse_target(f"{target.backend}:{'+'.join((base, *options))}"), device=target.device)
    return with_user_flags(found, target.user_flags)


def target_for_device(uri: str, chip: str = "host") -> Target:
    """The target that a device runs.

    `chip` is what it is compiled for, if not for the machine as it is: `host+data-tiling`; for a GPU, its
    architecture: `sm_80`; `host` is the architecture that CUDA's driver reports for the GPU. With a target
    before a colon, that compiles for the device.

    Raises UsageError for a device that this version cannot tune on, TunerError if a driver is missing.
    """
    kind = kind_for_device(uri, chip)
    _, colon, rest = chip.partition(":")
    if not colon:
        return kind.target(chip, uri)
    if driver_of(uri) not in kind.drivers:
        drivers = ", ".join(kind.drivers)
        raise UsageError(f"{uri} cannot run code of {kind.name}", hint=f"{kind.name} is for {drivers}")
    return kind.target(rest, uri)


def kind_for_device(uri: str, chip: str) -> TargetKind:
    """The target kind for a device, which may be another machine's; see `target_for_device`."""
    name, colon, _ = chip.partition(":")
    return kind_named(name) if colon else kind_of_device(uri)


def chip_on(uri: str, chip: str, machine: str) -> str:
    """A chip of `target_for_device` as it is called on this machine, for a device of another architecture."""
    name, colon, rest = chip.rpartition(":")
    return f"{name}{colon}{kind_for_device(uri, chip).chip_on(rest, machine)}"


def target_for_devices(uris: Sequence[str], chip: str = "host") -> tuple[Target, tuple[str, ...]]:
    """The target of the first device, which judges, and the others, which run the same code.

    Raises UsageError for no device, one that is given twice, or devices of several kinds.
    """
    if not uris or len(set(uris)) < len(uris):
        raise UsageError("give at least one device, and each device once")
    target, *others = (target_for_device(each, chip) for each in uris)
    for uri, other in zip(uris[1:], others, strict=True):
        if (other.backend, other.chip) != (target.backend, target.chip):
            raise UsageError(f"{uri} is not of the same kind as {uris[0]}: {other} and {target}")
    return target, tuple(uris[1:])
