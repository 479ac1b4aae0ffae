"""Values of knobs on the command line: `--knob rows=8`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.errors import UsageError

Knobs = Annotated[tuple[str, ...], Parameter(name="--knob", negative="")]
"""A repeatable option."""


def parse_knobs(texts: Sequence[str]) -> Mapping[str, int]:
    """Parse each `NAME=VALUE`. Raises UsageError."""
    found: dict[str, int] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not value.lstrip("-").isdigit():
            raise UsageError(f"'{text}' does not set a knob", hint="write NAME=VALUE, such as rows=8")
        found[name] = int(value)
    return found
