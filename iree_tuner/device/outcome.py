"""The outcomes of candidates. Each trial has exactly one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Outcome = Literal[
    "ok",
    "compile_error",
    "compile_timeout",
    "compile_crash",
    "not_applied",
    "run_error",
    "run_timeout",
    "run_crash",
    "wrong_result",
    "too_slow",
]

DEFAULT_WRONG = "the default itself is wrong"
"""How it begins, what is said of a candidate that is right where the default is not."""

MAY_BE_INVALID = "generated inputs may be invalid"


def blamed(message: str, unclear: Sequence[str]) -> str:
    """A message about wrong code; the inputs are the other possible cause, where indices are unclear."""
    return f"{MAY_BE_INVALID}, or {message}" if unclear else message
