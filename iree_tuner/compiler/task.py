"""The code around each call in a worker's process: limits, its log, and a reply that always arrives.

Imports nothing heavy: it is all that a new worker needs before its first call.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import re
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast

from iree_tuner.errors import TunerError


@dataclass(frozen=True)
class Settings:
    """The settings that a worker gets when it starts; `folder` is its own, and holds its log."""

    folder: str
    coordinator: int  # pid of the process that started it
    # of data (heap, anonymous mappings), for it and each process it starts; None: no limit
    memory_bytes: int | None
    file_bytes: int  # of any one file it writes
    yielding: bool = False  # whether it gives way to all other processes that want a core
    # imported when it starts, so that no call's time limit has to allow for that
    modules: tuple[str, ...] = ()
    one_of_many: bool = False  # whether others share the cores with it

    @property
    def log(self) -> Path:
        """The standard output and standard error of the current call only."""
        return Path(self.folder) / "log"

    @property
    def temporary(self) -> Path:
        """The worker's TMPDIR."""
        return Path(self.folder) / "tmp"


@dataclass(frozen=True)
class Reply:
    """How a call ended, in parts that always pickle.

    `data` is a value or an exception, pickled. Other kinds are `exit` (it asked to end the process, with a
    code), `memory` (it got none) and `unsendable` (its result or exception does not pickle). `text` is the
    traceback, or the reason, for people.
    """

    kind: Literal["value", "error", "exit", "memory", "unsendable"]
    data: bytes = b""
    text: str = ""
    code: int = 0


_YIELDING = 15
"""Added to its nice value: a weight of 36, compared with 1024 of a process that measures (sched(7))."""

_log = -1
"""File descriptor of this worker's log."""

HEADER_BYTES = 8
"""Of a frame: its length, little-endian."""

BEGUN = b"begun"
"""The frame that says that a call has begun."""


def frame(data: bytes) -> bytes:
    """Data as it goes through a channel."""
    return len(data).to_bytes(HEADER_BYTES, "little") + data


def length_of(header: bytes) -> int:
    """The length in a frame's header."""
    return int.from_bytes(header, "little")


def serve(read: int, write: int) -> None:
    """Make the calls that come through a channel, one after the other, until it ends.

    The process ends with `os._exit`, so that nothing left behind by a call can delay it.
    """
    for channel in (read, write):
        os.set_inheritable(channel, False)
    try:
        settings = cast(Settings, pickle.loads(_next(read)))
        _start(settings)
        for module in settings.modules:
            with contextlib.suppress(Exception):  # the call that needs it reports the error
                import_module(module)
        while True:
            payload = _next(read)
            _flush()
            os.ftruncate(_log, 0)  # the call's own log: the file is opened to append, so that it may shrink
            _put(write, BEGUN)
            _put(write, pickle.dumps(run(payload), pickle.HIGHEST_PROTOCOL))
            del payload
    except (OSError, EOFError):  # the coordinator is gone, or a call has closed the connection
        os._exit(1)


def _next(read: int) -> bytes:
    return _exactly(read, length_of(_exactly(read, HEADER_BYTES)))


def _exactly(read: int, count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        part = os.read(read, count - len(found))
        if not part:
            raise EOFError
        found += part
    return bytes(found)


def _put(write: int, data: bytes) -> None:
    view = memoryview(frame(data))
    while view:
        view = view[os.write(write, view) :]


def _start(settings: Settings) -> None:
    global _log
    die_with(settings.coordinator)
    _log = os.open(settings.log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(_log, 1)
    os.dup2(_log, 2)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # pyright: ignore
    _limit(resource.RLIMIT_CORE, 1)  # too small for a file, and 1 also tells the kernel not to pipe it
    _limit(resource.RLIMIT_FSIZE, settings.file_bytes)
    if settings.memory_bytes is not None:
        _limit(resource.RLIMIT_DATA, settings.memory_bytes)
    if settings.yielding:
        os.nice(_YIELDING)


def run(payload: bytes) -> Reply:
    """Make one call: `payload` is the pickled function, its arguments and its keyword arguments."""
    try:
        reply = _call(payload)
    except MemoryError as error:
        reply = Reply("memory", text=_described(error))
    except SystemExit as error:
        reply = Reply("exit", code=1, text=str(error.code))
        if error.code is None or isinstance(error.code, int):
            reply = Reply("exit", code=error.code or 0, text="the call ended its process")
    except BaseException as error:
        reply = _raised(error)
    _flush()
    return reply


def preload(module: str) -> None:
    """A call that only imports a module, so that a worker has it when it is needed."""
    import_module(module)


def _call(payload: bytes) -> Reply:
    function: Callable[..., Any]
    try:
        function, args, kwargs = pickle.loads(payload)
    except MemoryError:
        raise
    except BaseException as error:
        return Reply("unsendable", text=f"the arguments cannot be read: {_described(error)}")
    value = function(*args, **kwargs)
    try:
        return Reply("value", pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    except MemoryError:
        raise
    except BaseException as error:
        what = f"the result, a {type(value).__qualname__}, does not pickle"
        return Reply("unsendable", text=f"{what}: {_described(error)}")


def _raised(error: BaseException) -> Reply:
    text = "".join(traceback.format_exception(error))
    if isinstance(error, Exception):
        try:
            data = pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
            pickle.loads(data)  # many exceptions pickle but cannot be made again from their arguments
            return Reply("error", data, text)
        except BaseException as problem:
            text += f"\nwhich does not pickle: {_described(problem)}"
    return Reply("unsendable", text=f"the call raised {_described(error)}\n{text}")


def _described(error: BaseException) -> str:
    try:
        return f"{type(error).__qualname__}: {error}"
    except BaseException:  # a hostile __str__
        return type(error).__qualname__


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    _libc.fflush(None)


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def die_with(coordinator: int) -> None:
    """Linux: be killed when the caller is, so that no compilation goes on without a caller."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        _libc.prctl(set_parent_death_signal, signal.SIGKILL)
    if os.getppid() != coordinator:  # it died before that
        os._exit(1)


_libc = ctypes.CDLL(None)


# How a call in a worker ends: with a value, or in one of three ways in which no value comes back.


R = TypeVar("R")

_OUT_OF_MEMORY = re.compile(
    r"MemoryError|bad_alloc|out of memory|Cannot allocate memory|allocation failed", re.IGNORECASE
)
"""Messages of Python, libstdc++, LLVM and the C library when they get no memory."""


_KILLED: dict[int, str] = {
    signal.SIGKILL: ", killed from outside (out of memory?)",
    signal.SIGILL: ", because the processor lacks an instruction of the code",
}
"""The likely cause of a signal, for messages."""

_KEPT = 3000
"""Characters of the output in a message."""


def exit_text(code: int | None) -> str:
    """How a process ended, for people: `exited with -11 (SIGSEGV)`."""
    try:
        return f"exited with {code} ({signal.Signals(-(code or 0)).name})"
    except ValueError:
        return f"exited with {code}"


class SpentError(Exception):
    """Raised by a call that leaves its process unusable: the worker is replaced."""


@dataclass(frozen=True)
class Ok(Generic[R]):
    """The call returned."""

    value: R


@dataclass(frozen=True)
class Crash:
    """The worker's process died, or had to be given up; `output` is the last that it printed.

    `exit_code` is negative for a signal; None if the process did not end by itself.
    """

    exit_code: int | None
    output: str
    reason: str = ""

    @classmethod
    def of(cls, exit_code: int | None, output: str, memory_bytes: int | None) -> Crash:
        """The end of a process that died, with the cause if it is known."""
        if exit_code != 0 and _OUT_OF_MEMORY.search(output):
            return cls.out_of_memory(exit_code, output, memory_bytes)
        why = _KILLED.get(-(exit_code or 0), "")
        return cls(exit_code, output, why and f"the worker {exit_text(exit_code)}{why}")

    @classmethod
    def out_of_memory(cls, exit_code: int | None, output: str, memory_bytes: int | None) -> Crash:
        """The end of a call that got no more memory."""
        limit = "of the machine" if memory_bytes is None else f"of {memory_bytes >> 20} MiB"
        ended = "" if exit_code is None else f" and {exit_text(exit_code)}"
        return cls(exit_code, output, f"the worker hit its memory limit {limit}{ended}")

    def __str__(self) -> str:
        output = _ends(self.output.strip()) or "no output"
        return f"{self.reason or f'the worker {exit_text(self.exit_code)}'}: {output}"


@dataclass(frozen=True)
class HostLost(Crash):
    """The host of the call's process has gone, and with it the process's state."""


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
    """Raised by a call that needs something that this host lacks: another host may make it."""


class WorkerError(TunerError):
    """No value came back from a worker, for the reason `end`; for callers that need the value."""

    def __init__(self, end: Crash | Timeout | Lost) -> None:
        super().__init__(str(end))
        self.end = end

    def __reduce__(self) -> tuple[object, ...]:
        return (WorkerError, (self.end,))


def _ends(output: str) -> str:
    """The beginning, where an error names itself, and the end of a process's output."""
    if len(output) <= _KEPT:
        return output
    return f"{output[: _KEPT // 2]}\n...\n{output[-_KEPT // 2 :]}"
