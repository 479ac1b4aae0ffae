"""Shares as people write them: `3%`, `0.03`."""

from __future__ import annotations

import re

from iree_tuner.errors import UsageError

_SHARE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)")


def parse_percent(text: str) -> float:
    """A share from 0 on. Raises UsageError for anything else than a number with %, or one below 1."""
    found = _SHARE.fullmatch(text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else 1.0
    if found is None or (share >= 1 and not found[2]):
        raise UsageError(f"'{text}' is not a share", hint="write 3% or 0.03")
    return share
