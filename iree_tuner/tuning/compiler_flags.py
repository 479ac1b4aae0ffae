"""Compiler flags that the user passes, for every command that compiles a program."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from iree_tuner.targets.options import flags_given, with_user_flags
from iree_tuner.targets.target import Target

DEVICE = Group("Device and target", sort_key=2)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CompilerFlags:
    """Compiler flags that the user passes.

    Attributes
    ----------
    compiler_flags
        Pass this flag to the compiler: --compiler-flag=--iree-opt-level=O3. Repeatable. Trials and specs
        record the flags: `tune` reuses only trials with the same flags.
    flags_file
        Read compiler flags from this file, one per line.
    """

    compiler_flags: Annotated[
        tuple[str, ...],
        Parameter(
            name="--compiler-flag", negative="", group=DEVICE, metavar="FLAG", allow_leading_hyphen=True
        ),
    ] = ()
    flags_file: Annotated[Path | str | None, Parameter(group=DEVICE, metavar="PATH")] = None

    @property
    def flags(self) -> tuple[str, ...]:
        """All flags, from both sources. Raises TunerError if the file cannot be read."""
        return flags_given(self.compiler_flags, self.flags_file)

    def on(self, target: Target) -> Target:
        """Add the flags to a target. Raises UsageError for text that is not a flag."""
        return with_user_flags(target, self.flags)
