"""Hints for names that there are not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The name that is meant perhaps, whatever its case, or all there are."""
    every = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), every, 1)
    return f"did you mean {every[close[0]]}?" if close else f"one of: {', '.join(every.values())}"
