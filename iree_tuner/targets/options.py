"""Options in addition to a chip: compiler flags of a whole program, by short names.

They follow the chip: `host+im2col+O2`, `sm_80+O3`. They decide what a program's dispatches are, so that a
tuning spec belongs to the options it was made with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from iree_tuner.errors import UsageError
from iree_tuner.files import read_text
from iree_tuner.targets.registry import kind_named
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


def with_gpu_options(target: Target, options: Sequence[str]) -> Target:
    """A GPU target with options. Raises UsageError for an unknown one."""
    flags = flags_of(target.backend, options, GPU_OPTIONS)
    chip = "+".join((target.chip, *options))
    return replace(target, chip=chip, flags=(*target.flags, *flags), axes=GPU_AXES)


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
