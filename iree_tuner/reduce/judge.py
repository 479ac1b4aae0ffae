"""The command that says whether a candidate still shows the defect."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

PLACE = "{}"
"""Stands for the candidate's path in a command."""

_SHELL = "/bin/sh"
_SIGNAL = 128
"""The number that a shell adds to the number of the signal that ended a command."""

_KEPT = 4000
"""Characters of the output's end that are kept for messages."""

Wanted = int | Literal["fail", "crash"]
"""A status: a number; any but 0; or what a signal leaves, 128 or more."""


@dataclass(frozen=True)
class CommandJudge:
    """A command, and how it ends where the defect shows.

    Attributes:
        command: for a POSIX shell; `{}` stands for the candidate's path, which ends a command without it.
        status: that it ends with.
        output: a text that its output, of both streams, has in it.
    """

    command: str
    status: Wanted = 0
    output: str = ""

    def on(self, path: Path) -> str:
        """The command for a candidate."""
        name = shlex.quote(str(path))
        return self.command.replace(PLACE, name) if PLACE in self.command else f"{self.command} {name}"

    def accepts(self, status: int, output: str) -> bool:
        """Whether this is how the command ends where the defect shows."""
        match self.status:
            case "fail":
                fits = status != 0
            case "crash":
                fits = status >= _SIGNAL
            case number:
                fits = status == number
        return fits and self.output in output


@dataclass(frozen=True)
class Answer:
    """A judge's answer.

    Attributes:
        shows: whether the defect does.
        status: of the command, as a shell gives it: 139 where signal 11 ended it; None where it did not end.
        output: the end of what it printed.
    """

    shows: bool
    status: int | None
    output: str


def ask(judge: CommandJudge, content: bytes, suffix: str) -> Answer:
    """Run a judge on a candidate, in a folder of its own. For workers, whose process group it joins.

    Raises:
        OSError: the folder cannot be made, or there is no shell.
    """
    with tempfile.TemporaryDirectory(prefix="judge_") as folder:
        path = Path(folder) / f"candidate{suffix}"
        path.write_bytes(content)
        done = subprocess.run(
            [_SHELL, "-c", judge.on(path)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    status = done.returncode if done.returncode >= 0 else _SIGNAL - done.returncode
    output = done.stdout.decode(errors="replace")
    return Answer(judge.accepts(status, output), status, output[-_KEPT:])
