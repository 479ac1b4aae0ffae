"""One line for each cause of failure: equal for failures that one fix would end."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from iree_tuner.errors import TunerError

_LONGEST = 200

# Order matters: what is quoted or has a sigil goes before the numbers in it.
_PLACEHOLDERS = (
    (re.compile(r"compiling to [\w -]+ failed: "), ""),  # in which phase follows from the error
    (re.compile(r"(?<!\S)\S*:\d+:\d+: "), ""),  # a location
    (re.compile(r"\bfunction '[\w$.-]+'"), "function 'NAME'"),
    (re.compile(r"\b0x[0-9a-fA-F]+"), "ADDRESS"),
    (re.compile(r"(?:/[\w.+~-]+)+/([\w.+-]+\.(?:cpp|h|inc))"), r"\1"),  # a source file keeps its name
    (re.compile(r"(?:/[\w.+~-]+){2,}"), "PATH"),
    (re.compile(r"(?<![\w-])%(?!llvm\.)[\w$.#-]+"), "%VALUE"),  # LLVM's intrinsics keep their names
    (re.compile(r"(?<!\w)@[\w$.]+(?:::@[\w$.]+)*"), "@SYMBOL"),
    (re.compile(r"\b(tensor|vector|memref)<[^<>]*(?:<[^<>]*>[^<>]*)*>"), r"\1<TYPE>"),
    (re.compile(r"(?<![\w.])(?:\d+|\?)(?:x(?:\d+|\?))+"), "N"),  # a shape, before its element type
    (re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*[A-Za-z])"), "N"),
    (re.compile(r"\bN(?:(?:x|, ?)N)+\b"), "N"),
)

# Lines that name a crash, the best first.
_CRASHES = (
    re.compile(r"^.*?(LLVM ERROR: .+)$", re.MULTILINE),
    re.compile(r"^.*?(Assertion [`'].+failed.*)$", re.MULTILINE),
    re.compile(r"(UNREACHABLE executed.*)$", re.MULTILINE),
    re.compile(r"(the worker hit its memory limit)"),
    re.compile(r"(terminate called .+|\w+\(\): .+|\*\*\* .+ \*\*\*)"),  # of libstdc++ and the C library
    re.compile(r"(Running pass '[^'\n]+')"),  # the start of a long message may be missing
)
_FRAME = re.compile(r"^\s*#?\d+:?\s+(?:0x[0-9a-fA-F]+\s+)?(?:in )?([A-Za-z_~][\w:~<>]*)\(", re.MULTILINE)
_NOT_THE_CAUSE = re.compile(r"sys::|SignalHandler|PrintStackTrace|^__|^raise$|^abort$|^(?:kill|gsignal)$")
_EXIT = re.compile(r"exited with (-?\d+)")
_SIGNAL = re.compile(r"\bSIG[A-Z]{3,6}\b|Segmentation fault|Aborted|Illegal instruction")
_FRAMES = 3


def cause_of(outcome: str, message: str) -> str:
    """The line under which a failure is counted. `message` has all output of a crashed process."""
    if outcome.endswith("_timeout") and message.startswith("given up"):
        return "given up: it takes too long to compile"
    if outcome.endswith("_timeout"):
        return "no result within N s"
    if outcome.endswith("_crash"):
        return _crash(message)
    return _normalised(_first_line(message)) or outcome


def _crash(message: str) -> str:
    if found := next(filter(None, (pattern.search(message) for pattern in _CRASHES)), None):
        return _normalised(found[1])
    frames = [name for name in _FRAME.findall(message) if not _NOT_THE_CAUSE.search(name)]
    if frames:
        return " < ".join(frames[:_FRAMES])[:_LONGEST]
    if named := _SIGNAL.search(message):
        return named[0]
    ended = _EXIT.search(message)
    return _exit(int(ended[1])) if ended else _normalised(_first_line(message)) or "no message"


def _exit(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _first_line(message: str) -> str:
    return next((line.strip() for line in message.splitlines() if line.strip()), "")


def _normalised(line: str) -> str:
    for pattern, placeholder in _PLACEHOLDERS:
        line = pattern.sub(placeholder, line)
    return line[:_LONGEST]


# Errors of a database, as messages of one line.


T = TypeVar("T")


class StoreError(TunerError):
    """The database cannot be read or written. Earlier commits are kept."""


_BY_NAME = (
    ("SQLITE_FULL", "the disk is full", "free some space; what was stored before is kept"),
    ("SQLITE_READONLY", "the database is read-only", "choose another with --db"),
    ("SQLITE_PERM", "no permission to write", "choose another with --db"),
    ("SQLITE_IOERR", "the database cannot be written or read", "check the free space and file size limits"),
    ("SQLITE_TOOBIG", "too large for the database", None),
    ("SQLITE_BUSY", "the database is locked by another process", "wait until it ends"),
    ("SQLITE_LOCKED", "the database is locked by another process", "wait until it ends"),
    ("SQLITE_NOTADB", "not a database of iree-tuner", None),
    ("SQLITE_CORRUPT", "the database is damaged", "export the readable part, and start a new one"),
    ("SQLITE_CANTOPEN", "cannot be opened", "check that its folder exists and is writable"),
    ("SQLITE_CONSTRAINT_FOREIGNKEY", "the study or the run is no longer in the database", "was it pruned?"),
)
"""Names of SQLite's result codes (https://sqlite.org/rescode.html), or the beginnings of a group's names."""


_NO_TEXT = "the database is damaged: it has text that is not UTF-8"


@contextmanager
def store_errors(path: str) -> Generator[None]:
    """Raise StoreError for SQLite's errors about the file; other errors of SQLite are bugs and stay."""
    try:
        yield
    except UnicodeDecodeError as error:  # of what SQLite says
        raise StoreError(_NO_TEXT, location=path) from error
    except sqlite3.Error as error:
        if str(error).startswith("Could not decode"):  # of a row; it has no code
            raise StoreError(_NO_TEXT, location=path) from error
        name = getattr(error, "sqlite_errorname", None) or ""
        for prefix, message, hint in _BY_NAME:
            if name.startswith(prefix):
                raise StoreError(message, location=path, hint=hint) from error
        raise


def stored_json(text: str) -> Any:  # noqa: ANN401 (as `json.loads`)
    """The value of a column of a row. Raises StoreError for data that something else has written."""
    return stored(text, lambda found: found)


def stored(text: str, make: Callable[[Any], T]) -> T:
    """Its converted value. Raises StoreError for unexpected data."""
    with undamaged():
        return make(json.loads(text))


@contextmanager
def undamaged() -> Generator[None]:
    """Raise StoreError for errors in reading a row."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(f"the database is damaged: a row has unexpected data ({error})") from None
