"""Where output goes: JSON to standard output, one object a line; everything for people to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from iree_tuner.cli.printable import printable
from iree_tuner.errors import TunerError

_WIDE = 200  # columns for files and pipes, which have no width of their own


class _SafeConsole(Console):
    """A console that names of others, with control codes in them, do nothing to."""

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 (as the base has it)
        """As the base does."""
        return super().render_str(printable(text), **options)


def _console(*, stderr: bool) -> Console:
    console = _SafeConsole(stderr=stderr, highlight=False)
    return console if console.is_terminal else _SafeConsole(stderr=stderr, highlight=False, width=_WIDE)


people = _console(stderr=True)
"""On standard error: progress and notes."""

answers = _console(stderr=False)
"""On standard output: what was asked for."""


def answers_to(*, as_json: bool) -> Console:
    """Where an answer goes that people read: standard error, where standard output has it as JSON."""
    return people if as_json else answers


def print_json(record: Mapping[str, object]) -> None:
    """One line of JSON. Raises TunerError where standard output is closed."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]  # before the start
        raise TunerError("standard output is closed")
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()
