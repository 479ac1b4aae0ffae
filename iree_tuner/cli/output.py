"""Output streams: answers and JSON go to standard output, progress and notes to standard error."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any

from cyclopts import Group, Parameter
from rich.console import Console
from rich.text import Text

# Make text safe to print on a terminal.


_KEPT = "\n\t"
_HIDDEN = ("Cc", "Cf", "Cs")  # control codes, what turns the direction of writing, halves of pairs


def printable(text: str) -> str:
    """Replace control codes, which could change the terminal: an escape code is shown as `\\x1b`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        each if each in _KEPT or unicodedata.category(each) not in _HIDDEN else ascii(each)[1:-1]
        for each in text
    )


def one_line(name: str) -> str:
    """A name, which may hold anything, as a part of a line."""
    return printable(name).replace("\n", "\\n").replace("\t", "\\t")


def counted(count: int, noun: str) -> str:
    """`1 row`, `2 rows`, `2 dispatches`."""
    return f"{count} {noun}{'es' * noun.endswith('ch') or 's' if count != 1 else ''}"


_WIDE, _TABLE_WIDTH = 200, 80  # columns of messages and of tables in files and pipes: these have no width


class SafeConsole(Console):
    """A console that escapes control codes in names."""

    @property
    def table_width(self) -> int:
        """The width of tables. In a pipe they are as wide as on a small terminal, or `COLUMNS`."""
        columns = os.environ.get("COLUMNS", "")
        in_pipe = int(columns) if columns.isdecimal() else _TABLE_WIDTH
        return self.width if self.is_terminal else min(self.width, in_pipe)

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 (as the base has it)
        return super().render_str(printable(text), **options)


def _console(*, stderr: bool) -> SafeConsole:
    console = SafeConsole(stderr=stderr, highlight=False, markup=False)
    if not console.is_terminal:
        console.width = _WIDE
    return console


people = _console(stderr=True)
"""The console for progress and notes, on standard error."""

answers = _console(stderr=False)
"""The console for answers, on standard output."""


def answers_to(*, as_json: bool) -> SafeConsole:
    """The console for a readable answer: standard error if JSON goes to standard output."""
    return people if as_json else answers


def print_json(record: Mapping[str, object]) -> None:
    """Print one line of JSON."""
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


def knobs_text(knobs: Mapping[str, object]) -> str:
    """Format knobs as `rows=8 columns=32`."""
    return " ".join(f"{name}={value}" for name, value in knobs.items())


# Option groups that only the command line uses. `tuning.options` has the others.


PROGRAM = Group("Program", sort_key=1)
OUTPUT = Group("Output", sort_key=7)

Json = Annotated[bool, Parameter(name="--json", negative="")]
AsJson = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON, one object per line.")]
