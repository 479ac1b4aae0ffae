"""Numbers as people read them, numbers that others wrote, and names for charts and tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from iree_tuner.store.record import MOST


def positive(value: object) -> float | None:
    """A finite number above 0; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value <= MOST else None


def interval(ends: Sequence[object] | None) -> tuple[float, float] | None:
    """Two ascending numbers above 0; None for anything else."""
    low, high = map(positive, ends) if ends is not None and len(ends) == 2 else (None, None)
    return None if low is None or high is None or low > high else (low, high)


def times(value: float | None) -> str:
    """A speedup: `1.62x`."""
    return "" if value is None else f"{value:.2f}x" if value < 100 else f"{value:.0f}x"


def between(ends: tuple[float, float] | None) -> str:
    """An interval: `1.58 to 1.66`."""
    return "" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"


def micros(value: float | None) -> str:
    """A time that is given in microseconds, with a unit that suits it."""
    if value is None:
        return ""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}" if abs(value) < 1000 * size else f"{value / size:,.0f} {unit}"
    return f"{value:.3g} µs" if abs(value) >= 0.1 or not value else f"{value * 1e3:.3g} ns"


def seconds(value: float | None) -> str:
    """How long people waited: `48 s`, `3 min 20 s`, `2 h 5 min`."""
    if value is None:
        return ""
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


def percent(value: float | None) -> str:
    """A share: `12.5 %`."""
    return "" if value is None else f"{value * 100:.1f} %"


def figures(value: float | None) -> str:
    """A number with three digits that count, or all of its whole ones."""
    return "" if value is None else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def many(value: int | None) -> str:
    """A count, in groups of three digits."""
    return "" if value is None else f"{value:,}"


def day(at: float | None) -> str:
    """A moment, in UTC; empty for one that no calendar has."""
    if at is None:
        return ""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return ""


FILTERS = {each.__name__: each for each in (times, between, micros, seconds, percent, figures, many, day)}
"""Their names in the template."""


_TYPES = re.compile(r"(?:_(?:[a-z]*f\d+\w*?|[iu]\d+[a-z]?|index))+$")
_LONGEST = 44


def short(name: str) -> str:
    """A workload's name with equal types said once: `matmul_4x5x6_f32_f32_f32` -> `matmul 4x5x6 f32`."""
    found = _TYPES.search(name)
    if found is None:
        return clipped(name, _LONGEST)
    types = list(dict.fromkeys(found[0].strip("_").split("_")))
    return clipped(" ".join([name[: found.start()].replace("_", " "), *types]), _LONGEST)


def unlike(names: Sequence[str]) -> list[str]:
    """The names, with a number where several are equal."""
    counts = Counter(names)
    taken = set(names)
    found: list[str] = []
    for name in names:
        if counts[name] > 1:
            place = 1
            while (numbered := f"{name} #{place}") in taken:
                place += 1
            taken.add(numbered)
            name = numbered
        found.append(name)
    return found


def clipped(text: str, longest: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
