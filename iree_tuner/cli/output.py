"""Where output goes: JSON to standard output, one object a line; everything for people to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from rich.console import Console

_WIDE = 160  # columns for files and pipes, which have no width of their own


def people_console() -> Console:
    """A console on standard error, for tables, progress and notes."""
    console = Console(stderr=True, highlight=False)
    return console if console.is_terminal else Console(stderr=True, highlight=False, width=_WIDE)


people = people_console()


def print_json(record: Mapping[str, object]) -> None:
    """One line of JSON."""
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()
