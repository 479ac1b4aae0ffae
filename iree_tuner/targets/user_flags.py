"""Compiler flags of a user's own, in addition to a target's: they are part of the target like the others.

They may decide what a program's dispatches are. Trials are kept and used again for the same flags only, and a
spec names the flags that it was made with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from iree_tuner.errors import UsageError
from iree_tuner.files import read_text
from iree_tuner.targets.registry import kind_named
from iree_tuner.targets.target import Target

_SELECTING = ("--iree-hal-target-device", "--iree-hal-target-backends", "--compile-to", "--compile-from")


def with_user_flags(target: Target, flags: Sequence[str]) -> Target:
    """The target with more compiler flags. Raises UsageError for other text, or flags that select targets."""
    for flag in flags:
        if not flag.startswith("-"):
            raise UsageError(f"'{flag}' is not a compiler flag", hint="write it as --name or --name=value")
        if flag.partition("=")[0] in _SELECTING:
            raise UsageError(f"{flag} is set by iree-tuner", hint="pass --target, or --device and --chip")
    kind_named(target.backend).check_flags(target, flags)
    return replace(target, flags=(*target.flags, *flags), user_flags=(*target.user_flags, *flags))


def flags_given(flags: Sequence[str], file: Path | str | None) -> tuple[str, ...]:
    """Flags one by one, and flags of a file: one a line; empty lines and what follows a # are passed over.

    Raises TunerError where the file cannot be read.
    """
    lines = read_text(file).splitlines() if file is not None else []
    return tuple(filter(None, (line.partition("#")[0].strip() for line in lines))) + tuple(flags)
