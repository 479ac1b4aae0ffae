"""Durations as people write them: `90`, `90s`, `5m`, `1h30m`."""

from __future__ import annotations

import re

from iree_tuner.errors import UsageError

_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_PARTS = re.compile(r"(\d+(?:\.\d+)?)([hms]?)")


def parse_duration(text: str) -> float:
    """Seconds. Raises UsageError for anything else than numbers with h, m, s or nothing."""
    parts = _PARTS.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise UsageError(f"'{text}' is not a duration", hint="write 90s, 5m or 1h30m")
    seconds = sum(float(number) * _SECONDS[unit or "s"] for number, unit in parts)
    if seconds <= 0:
        raise UsageError("a budget must be positive")
    return seconds
