"""Short names for charts and tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

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
