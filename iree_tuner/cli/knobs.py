"""Values of knobs as people write them: `--knob rows=8`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.errors import UsageError

Knobs = Annotated[tuple[str, ...], Parameter(name="--knob", negative="")]
"""A flag that may be given several times."""


def parse_knobs(texts: Sequence[str]) -> Mapping[str, int]:
    """Read `NAME=VALUE` of each. Raises UsageError."""
    found: dict[str, int] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not value.lstrip("-").isdigit():
            raise UsageError(f"'{text}' is no value of a knob", hint="as rows=8")
        found[name] = int(value)
    return found
