"""Percentages on the command line: `3%`, `0.03`."""

from __future__ import annotations

import re

from iree_tuner.errors import UsageError

_SHARE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)")


def parse_percent(text: str) -> float:
    """Parse a fraction. Raises UsageError for text that is not a percentage and not a number below 1."""
    found = _SHARE.fullmatch(text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else 1.0
    if found is None or (share >= 1 and not found[2]):
        raise UsageError(f"'{text}' is not a percentage", hint="write 3% or 0.03")
    return share
