"""The database that stores trials, and the options that the `db` commands share."""

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
    """Set the database: the default one if none is named, none with `--no-db`.

    Raises UsageError for flags that exclude each other.
    """
    if no_db and (options.db or options.fresh):
        raise UsageError("--no-db excludes --db and --fresh")
    return options if no_db else replace(options, db=options.db or default_database())


NoDatabase = Annotated[
    bool, Parameter(negative="", group=DATABASE, help="Store nothing, and resume nothing.")
]


Database = Annotated[
    Path | None,
    Parameter(name="--db", help="The database. Default: iree_tuner/trials.db in the user's data folder."),
]
AsJson = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON, one object per line.")]


def to_read(path: Path | None) -> Store:
    """Open a database to read from. It must exist."""
    return Store.open(path or default_database(), readonly=True)


def to_change(path: Path | None, *, create: bool = False) -> Store:
    """Open a database to write to."""
    return Store.open(path or default_database(), create=create)
