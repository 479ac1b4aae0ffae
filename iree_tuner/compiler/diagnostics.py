"""Compiler diagnostics as data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

Severity = Literal["note", "warning", "error", "remark"]

_LOCATED = re.compile(
    r"^(?P<where>(?!loc\()[^\n]*?:\d+:\d+): (?:(?P<severity>note|warning|error|remark): )?(?P<text>.*)$", re.S
)


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler. `location` is `file:line:column`, or None where the compiler gave none."""

    severity: Severity
    message: str
    location: str | None = None

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        return f"{where}{self.severity}: {self.message}"

    @property
    def headline(self) -> str:
        """The first line of the message: the rest is IR and source excerpts."""
        return self.message.strip().split("\n", 1)[0]


def from_callback(severity: str, text: str) -> Diagnostic:
    """Read what IREE's diagnostic callback delivers: `file:line:col: text`, plus excerpts."""
    match = _LOCATED.match(text)
    if match is None:
        # Code that the compiler made itself has no place in a file.
        return Diagnostic(cast(Severity, severity), re.sub(r'^loc\(("".*?|unknown)\): ', "", text.strip()))
    return Diagnostic(cast(Severity, match["severity"] or severity), match["text"].strip(), match["where"])


def first_error(diagnostics: Sequence[Diagnostic]) -> Diagnostic | None:
    """The first error: later ones mostly say that a pass failed because of it."""
    return next((d for d in diagnostics if d.severity == "error"), None)
