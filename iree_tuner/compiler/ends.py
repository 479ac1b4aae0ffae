"""How a call in a worker ends when it does not return: errors that every user of workers may meet."""

from __future__ import annotations

import re
import signal
from typing import Self

_OUT_OF_MEMORY = re.compile(
    r"MemoryError|bad_alloc|out of memory|Cannot allocate memory|allocation failed", re.IGNORECASE
)
"""What Python, libstdc++, LLVM and the C library print when they get no memory."""


_KEPT = 3000
"""Characters of the output in a message."""


class WorkerCrashError(Exception):
    """The worker's process died, or had to be given up.

    Attributes:
        exit_code: negative for a signal; None where the process did not end by itself.
        output: what it printed last.
    """

    def __init__(self, exit_code: int | None, output: str, reason: str = "") -> None:
        said = _ends(output.strip()) or "no output"
        super().__init__(f"{reason or f'the worker exited with {exit_code}'}: {said}")
        self.exit_code = exit_code
        self.output = output
        self.reason = reason

    @classmethod
    def of(cls, exit_code: int | None, output: str, memory_bytes: int | None) -> Self:
        """The error for a process that died, with what is known of the cause."""
        if exit_code != 0 and _OUT_OF_MEMORY.search(output):
            return cls.out_of_memory(exit_code, output, memory_bytes)
        if exit_code == -signal.SIGKILL:
            return cls(exit_code, output, "the worker exited with -9, killed from outside (out of memory?)")
        return cls(exit_code, output)

    @classmethod
    def out_of_memory(cls, exit_code: int | None, output: str, memory_bytes: int | None) -> Self:
        """The error for a call that got no more memory."""
        limit = "of the machine" if memory_bytes is None else f"of {memory_bytes >> 20} MiB"
        ended = "" if exit_code is None else f" and exited with {exit_code}"
        return cls(exit_code, output, f"the worker hit its memory limit {limit}{ended}")

    def __reduce__(self) -> tuple[object, ...]:
        return (WorkerCrashError, (self.exit_code, self.output, self.reason))


def _ends(output: str) -> str:
    """The beginning, where an error names itself, and the end of what a process printed."""
    if len(output) <= _KEPT:
        return output
    return f"{output[: _KEPT // 2]}\n...\n{output[-_KEPT // 2 :]}"


class WorkerTimeoutError(Exception):
    """The call took longer than its limit, and its worker was killed."""


class WorkerTaskError(Exception):
    """The call ended, but its arguments, its result or its exception could not be carried over."""
