"""The message about a mistake in a spec."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SpecProblem:
    """Something wrong with a spec.

    Attributes:
        kind: a fixed word for scripts: `no_entry_point`, `hits_nothing`, ...
        message: the problem, in one line.
        where: the matcher or sequence it is about, empty for the spec as a whole.
    """

    kind: str
    message: str
    where: str = ""

    def __str__(self) -> str:
        return f"@{self.where}: {self.message}" if self.where else self.message
