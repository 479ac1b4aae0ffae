"""The outcomes of candidates. Each trial has exactly one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

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


# The state of the machine while something was measured.


@dataclass(frozen=True)
class Readings:
    """Conditions of one trial. None where the machine does not say.

    Attributes:
        clock_mhz: the device's clock, the mean of before and after.
        temperature_c: the hottest of the device's sensors, in degrees Celsius.
        load: cores kept busy by others meanwhile, from 0 on.
        stolen: part of the time, from 0 to 1, that the hypervisor gave to others.
        throttled: samples that were discarded because the device throttled or changed its clock.
    """

    clock_mhz: float | None = None
    temperature_c: float | None = None
    load: float | None = None
    stolen: float | None = None
    throttled: int = 0


UNKNOWN = Readings()


class Sensors(Protocol):
    """Watches one device while it is measured. Made in the measuring worker; must not raise."""

    def start(self) -> None:
        """Begin a measurement: what was read before is forgotten."""
        ...

    def disturbed(self) -> bool:
        """Whether the device throttled or changed its clock since `start` or the last call of this."""
        ...

    def readings(self) -> Readings:
        """Conditions since `start`."""
        ...


class NoSensors:
    """For devices that tell nothing."""

    def start(self) -> None:
        """Nothing to begin."""

    def disturbed(self) -> bool:
        """Never known."""
        return False

    def readings(self) -> Readings:
        """Nothing is known."""
        return UNKNOWN
