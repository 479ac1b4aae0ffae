"""Find a target by what users write: a kind, a chip, options, and compiler flags of their own.

Options follow the chip, and are compiler flags of a whole program by short names: `host+im2col+O2`,
`sm_80+O3`. They decide what a program's dispatches are, so that a tuning spec belongs to the options it was
made with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from iree_tuner.errors import UsageError
from iree_tuner.files import read_text
from iree_tuner.targets.kind import TargetKind
from iree_tuner.targets.registry import driver_of, kind_named, kind_of_device, kinds
from iree_tuner.targets.target import Target

LEVELS = {level: f"--iree-opt-level={level}" for level in ("O1", "O2", "O3")}
"""The compiler's levels of optimisation; O0 is its default."""

GPU_OPTIONS = {**LEVELS, "aggressive-fusion": "--iree-dispatch-creation-enable-aggressive-fusion"}
"""For every GPU."""

_FUSING = ("aggressive-fusion", "O2", "O3")
"""Options that fuse more; the levels include the first."""

GPU_AXES = (("aggressive-fusion",), tuple(LEVELS))
"""As `Target.axes`."""


def flags_of(backend: str, names: Sequence[str], known: Mapping[str, str]) -> tuple[str, ...]:
    """The flags of some options. Raises UsageError for an unknown one."""
    for name in names:
        if name not in known:
            raise UsageError(
                f"{backend} has no option '{name}'", hint=f"one of: {', '.join(f'+{each}' for each in known)}"
            )
    return tuple(known[name] for name in names)


def options_of(target: Target) -> tuple[str, ...]:
    """The options in a target's chip."""
    return tuple(target.chip.split("+")[1:])


def flags_for_options(target: Target) -> tuple[str, ...]:
    """The compiler flags of a target's options, which go on a command line together with the chip's."""
    end = len(target.flags) - len(target.user_flags)
    return target.flags[end - len(options_of(target)) : end]


def fusing_more(target: Target) -> str:
    """The option that fuses more; empty if the target has one that does, or none is known."""
    known = any(_FUSING[0] in axis for axis in target.axes)
    return _FUSING[0] if known and not set(options_of(target)) & set(_FUSING) else ""


# Compiler flags of a user's own, in addition to a target's: they are part of the target like the others.
#
# They may decide what a program's dispatches are. Trials are kept and used again for the same flags only,
# and a spec names the flags that it was made with.


_SELECTING = ("--iree-hal-target-device", "--iree-hal-target-backends", "--compile-to", "--compile-from")


def with_user_flags(target: Target, flags: Sequence[str]) -> Target:
    """The target with more flags. Raises UsageError for other text, and flags that select targets."""
    for flag in flags:
        if not flag.startswith("-"):
            raise UsageError(f"'{flag}' is not a compiler flag", hint="write it as --name or --name=value")
        if flag.partition("=")[0] in _SELECTING:
            raise UsageError(f"{flag} is set by iree-tuner", hint="pass --target, or --device and --chip")
    kind_named(target.backend).check_flags(target, flags)
    return replace(target, flags=(*target.flags, *flags), user_flags=(*target.user_flags, *flags))


def flags_given(flags: Sequence[str], file: Path | str | None) -> tuple[str, ...]:
    """Flags one by one, and flags of a file: one a line, without empty lines and comments after #.

    Raises TunerError if the file cannot be read.
    """
    lines = read_text(file).splitlines() if file is not None else []
    return tuple(filter(None, (line.partition("#")[0].strip() for line in lines))) + tuple(flags)


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
