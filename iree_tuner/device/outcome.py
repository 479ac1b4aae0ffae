"""The outcomes of candidates. Each trial has exactly one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
"""The beginning of the note on a candidate that is correct although the default is wrong."""

MAY_BE_INVALID = "generated inputs may be invalid"


def blamed(message: str, unclear: Sequence[str]) -> str:
    """A message about wrong code; inputs are the other possible cause if indices are unclear."""
    return f"{MAY_BE_INVALID}, or {message}" if unclear else message


@dataclass(frozen=True)
class Readings:
    """The machine's state during a measurement; None for what it does not report."""

    clock_mhz: float | None = None  # the device's clock, the mean of before and after
    temperature_c: float | None = None  # the hottest of the device's sensors, in degrees Celsius
    load: float | None = None  # cores kept busy by others, from 0 on
    stolen: float | None = None  # part of the time, from 0 to 1, that the hypervisor gave to others
    throttled: int = 0  # samples that were discarded because the device throttled or changed its clock


UNKNOWN = Readings()
