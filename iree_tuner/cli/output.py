"""Where output goes: JSON to standard output, one object a line; everything for people to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from rich.console import Console

people = Console(stderr=True, highlight=False)
"""For tables, progress and notes."""


def print_json(record: Mapping[str, object]) -> None:
    """One line of JSON."""
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()
