"""Regular expressions over names, as the dispatch profiler has them: several, joined by commas."""

from __future__ import annotations

import re
from collections.abc import Sequence

from iree_tuner.errors import UsageError

Patterns = tuple[re.Pattern[str], ...]


def patterns_of(text: str) -> Patterns:
    """The expressions in a text; none in an empty one. Raises UsageError for one that is none."""
    found: list[re.Pattern[str]] = []
    for part in filter(None, text.split(",")):
        try:
            found.append(re.compile(part))
        except re.error as error:
            raise UsageError(f"'{part}' is not a regular expression: {error}") from None
    return tuple(found)


def is_found(patterns: Sequence[re.Pattern[str]], name: str) -> bool:
    """Whether one of them is somewhere in a name; without any, every name is."""
    return not patterns or any(each.search(name) for each in patterns)
