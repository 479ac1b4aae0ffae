"""Errors of a database, as messages of one line."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from iree_tuner.errors import TunerError

T = TypeVar("T")


class StoreError(TunerError):
    """The database cannot be read or written. Earlier commits are kept."""


_BY_NAME = (
    ("SQLITE_FULL", "the disk is full", "free some space; what was stored before is kept"),
    ("SQLITE_READONLY", "the database is read-only", "choose another with --db"),
    ("SQLITE_PERM", "no permission to write", "choose another with --db"),
    (
        "SQLITE_IOERR",
        "the database cannot be written or read",
        "check the free space and the limits of file sizes",
    ),
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
    """The value of a column of a row. Raises StoreError where something else has written into the file."""
    return stored(text, lambda found: found)


def stored(text: str, make: Callable[[Any], T]) -> T:
    """Its converted value. Raises StoreError where it is not what was written."""
    with undamaged():
        return make(json.loads(text))


@contextmanager
def undamaged() -> Generator[None]:
    """Raise StoreError for rows that are not what was written, whatever they are."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(f"the database is damaged: a row has unexpected data ({error})") from None
