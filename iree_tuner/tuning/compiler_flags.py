"""Compiler flags of a user's own, as every command takes them that compiles a program."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from iree_tuner.targets.target import Target
from iree_tuner.targets.user_flags import flags_given, with_user_flags

DEVICE = Group("Where it runs", sort_key=2)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CompilerFlags:
    """Compiler flags of a user's own.

    Attributes
    ----------
    compiler_flags
        A compiler flag of your own: --compiler-flag=--iree-opt-level=O3. May be given several times. Trials
        are used again only for the same flags, and a spec names them.
    flags_file
        A file with compiler flags, one a line.
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
        """All of them. Raises TunerError where their file cannot be read."""
        return flags_given(self.compiler_flags, self.flags_file)

    def on(self, target: Target) -> Target:
        """A target with them. Raises UsageError for what is no flag."""
        return with_user_flags(target, self.flags)
