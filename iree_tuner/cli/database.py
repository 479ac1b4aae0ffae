"""Where trials are kept, and the options that the `db` commands share."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeVar

from cyclopts import Parameter

from iree_tuner.errors import UsageError
from iree_tuner.store import Store
from iree_tuner.tuning.options import DATABASE, DatabaseOptions

Options = TypeVar("Options", bound=DatabaseOptions)


def default_database() -> Path:
    """`iree_tuner/trials.db` in the user's folder for data, as the XDG base directories say."""
    home = os.environ.get("XDG_DATA_HOME", "")
    folder = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "share"
    return folder / "iree_tuner" / "trials.db"


def with_database(options: Options, *, no_db: bool) -> Options:
    """Options that keep trials, in the usual database where none is named, or nowhere.

    Raises UsageError for flags that exclude others.
    """
    if no_db and (options.db or options.fresh):
        raise UsageError("--no-db goes neither with --db nor with --fresh")
    return options if no_db else replace(options, db=options.db or default_database())


NoDatabase = Annotated[bool, Parameter(negative="", group=DATABASE, help="Keep nothing, and resume nothing.")]


Database = Annotated[
    Path | None,
    Parameter(name="--db", help="The database; iree_tuner/trials.db in the user's data folder by default."),
]
AsJson = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON object a line.")]


def to_read(path: Path | None) -> Store:
    """A database that must exist, to read from."""
    return Store.open(path or default_database(), readonly=True)


def to_change(path: Path | None, *, create: bool = False) -> Store:
    """A database to write to."""
    return Store.open(path or default_database(), create=create)
