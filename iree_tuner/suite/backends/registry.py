"""Back ends by name: from this package, and from other installed packages."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint
from typing import cast

from iree_tuner.errors import TunerError, UsageError
from iree_tuner.installed import brought, usable
from iree_tuner.suite.backends.backend import Backend

GROUP = "iree_tuner.backends"
"""The group of entry points; each makes a `Backend` under its name."""


@cache
def backends() -> Mapping[str, Backend]:
    """Every installed back end, by name, sorted.

    Raises:
        TunerError: two packages bring one name, or what one brings cannot be used.
    """
    return {name: _made(entry) for name, entry in brought(GROUP, "back end").items()}


def backend(name: str) -> Backend:
    """The back end of that name. Raises UsageError where there is none, with similar names."""
    known = backends()
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, 3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"one of: {', '.join(known)}"
    raise UsageError(f"unknown back end '{name}'", hint=hint)


def _made(entry: EntryPoint) -> Backend:
    made = usable(entry, "back end")
    name = getattr(made, "name", "")
    if name != entry.name:
        raise TunerError(f"the back end '{entry.name}' ({entry.value}) calls itself '{name}'")
    return cast(Backend, made)
