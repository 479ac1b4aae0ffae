"""Members of JSON objects that others wrote: what is missing or of another type is not known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from iree_tuner.store import rows

Body = Mapping[str, object]


def number(value: object) -> float | None:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def positive(value: object) -> float | None:
    """A finite number above 0: a time, a speedup, a rate."""
    found = number(value)
    return found if found is not None and found > 0 else None


def count(value: object) -> int | None:
    """A whole number from 0 on."""
    found = number(value)
    return int(found) if found is not None and found >= 0 else None


def text(value: object) -> str:
    """A text that can be written to a file; empty for what is none."""
    return rows.text(value) if isinstance(value, str) else ""


def texts(value: object) -> tuple[str, ...]:
    """The texts of a list."""
    return tuple(found for each in listed(value) if (found := text(each)))


def listed(value: object) -> Sequence[object]:
    """A list; empty for what is none."""
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def members(value: object) -> Body:
    """An object; empty for what is none."""
    return cast("Body", value) if isinstance(value, Mapping) else {}


def objects(value: object) -> Iterator[Body]:
    """The objects of a list."""
    return (members(each) for each in listed(value) if isinstance(each, Mapping))


def interval(value: object) -> tuple[float, float] | None:
    """Two ascending numbers above 0."""
    ends = [positive(each) for each in listed(value)]
    low, high = ends if len(ends) == 2 else (None, None)
    return None if low is None or high is None or low > high else (low, high)
