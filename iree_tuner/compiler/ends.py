"""How a call in a worker ends: with a value, or in one of three ways in which no value comes back."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import Generic, TypeVar

from iree_tuner.errors import TunerError

R = TypeVar("R")

_OUT_OF_MEMORY = re.compile(
    r"MemoryError|bad_alloc|out of memory|Cannot allocate memory|allocation failed", re.IGNORECASE
)
"""Messages of Python, libstdc++, LLVM and the C library when they get no memory."""


_KEPT = 3000
"""Characters of the output in a message."""


class SpentError(Exception):
    """Raised by a call that leaves its process unusable: the worker is replaced."""


@dataclass(frozen=True)
class Ok(Generic[R]):
    """The call returned."""

    value: R


@dataclass(frozen=True)
class Crash:
    """The worker's process died, or had to be given up.

    Attributes:
        exit_code: negative for a signal; None where the process did not end by itself.
        output: what it printed last.
        reason: what is known of the cause.
    """

    exit_code: int | None
    output: str
    reason: str = ""

    @classmethod
    def of(cls, exit_code: int | None, output: str, memory_bytes: int | None) -> Crash:
        """The end of a process that died, with the known cause."""
        if exit_code != 0 and _OUT_OF_MEMORY.search(output):
            return cls.out_of_memory(exit_code, output, memory_bytes)
        if exit_code == -signal.SIGKILL:
            return cls(exit_code, output, "the worker exited with -9, killed from outside (out of memory?)")
        return cls(exit_code, output)

    @classmethod
    def out_of_memory(cls, exit_code: int | None, output: str, memory_bytes: int | None) -> Crash:
        """That of a call that got no more memory."""
        limit = "of the machine" if memory_bytes is None else f"of {memory_bytes >> 20} MiB"
        ended = "" if exit_code is None else f" and exited with {exit_code}"
        return cls(exit_code, output, f"the worker hit its memory limit {limit}{ended}")

    def __str__(self) -> str:
        said = _ends(self.output.strip()) or "no output"
        return f"{self.reason or f'the worker exited with {self.exit_code}'}: {said}"


@dataclass(frozen=True)
class HostLost(Crash):
    """The host that the call's process was on has gone, and with it what the process held."""


@dataclass(frozen=True)
class Timeout:
    """The call took longer than its limit, and its worker was killed."""

    limit_s: float

    def __str__(self) -> str:
        return f"no result after {self.limit_s:.3g} s"


@dataclass(frozen=True)
class Lost:
    """The call's arguments, its result or its exception could not be carried over."""

    why: str

    def __str__(self) -> str:
        return self.why


End = Ok[R] | Crash | Timeout | Lost


class UnfitError(TunerError):
    """Raised by a call that needs something this host does not have: another host may make it."""


class WorkerError(TunerError):
    """No value came back from a worker; for callers who cannot do without it.

    Attributes:
        end: why.
    """

    def __init__(self, end: Crash | Timeout | Lost) -> None:
        super().__init__(str(end))
        self.end = end

    def __reduce__(self) -> tuple[object, ...]:
        return (WorkerError, (self.end,))


def _ends(output: str) -> str:
    """The beginning, where an error names itself, and the end of what a process printed."""
    if len(output) <= _KEPT:
        return output
    return f"{output[: _KEPT // 2]}\n...\n{output[-_KEPT // 2 :]}"
