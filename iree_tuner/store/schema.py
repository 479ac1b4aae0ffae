"""Tables of the database, as steps from each version to the next (docs/store.md)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache

from iree_tuner.store.causes import StoreError
from iree_tuner.store.rows import least, unpack_samples

APPLICATION = 0x49524554
"""`PRAGMA application_id`: the file is one of this program's, not another's SQLite database."""

Step = Callable[[sqlite3.Connection], None]


def _least_times(connection: sqlite3.Connection) -> None:
    """Version 2 has the least of the samples in a column, so that databases can sort by it."""
    connection.execute("ALTER TABLE trials ADD COLUMN time_us REAL")
    found = connection.execute("SELECT id, samples FROM trials").fetchall()
    times = [(least(unpack_samples(samples)), number) for number, samples in found]
    connection.executemany("UPDATE trials SET time_us = ? WHERE id = ?", times)


_TABLES = """
CREATE TABLE studies (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    workload TEXT NOT NULL,
    name TEXT NOT NULL
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    program TEXT NOT NULL,
    options TEXT NOT NULL,
    started REAL NOT NULL,
    ended REAL,
    state TEXT NOT NULL
);
CREATE TABLE trials (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    study_id INTEGER NOT NULL REFERENCES studies(id),
    run_id INTEGER NOT NULL REFERENCES runs(id),
    workload TEXT NOT NULL,
    assignment TEXT NOT NULL,
    outcome TEXT NOT NULL,
    samples BLOB NOT NULL,
    baseline_us REAL NOT NULL,
    message TEXT NOT NULL,
    digest TEXT NOT NULL,
    compile_s REAL NOT NULL,
    measure_s REAL NOT NULL,
    device TEXT NOT NULL,
    worst REAL,
    readings TEXT NOT NULL,
    at REAL NOT NULL,
    reproducer TEXT NOT NULL
);
CREATE INDEX trials_of_study ON trials (study_id);
CREATE INDEX trials_of_run ON trials (run_id);
CREATE TABLE verdicts (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    study_id INTEGER NOT NULL REFERENCES studies(id),
    run_id INTEGER NOT NULL REFERENCES runs(id),
    assignment TEXT,
    comparison TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE INDEX verdicts_of_study ON verdicts (study_id);
CREATE INDEX verdicts_of_run ON verdicts (run_id)
"""

_FINDINGS = """
CREATE TABLE findings (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    run_id INTEGER NOT NULL REFERENCES runs(id),
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE INDEX findings_of_run ON findings (run_id)
"""


def _made(tables: str) -> Step:
    def make(connection: sqlite3.Connection) -> None:
        for statement in tables.split(";"):
            connection.execute(statement)

    return make


STEPS: Sequence[Step] = (_made(_TABLES), _least_times, _made(_FINDINGS))
"""Step number N makes a database of version N - 1 one of version N. Steps are added, never changed."""

VERSION = len(STEPS)


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """The schema's version, 0 for a file without tables. Raises StoreError for foreign or newer files."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION and (tables or version):
        raise StoreError("not a database of iree-tuner", location=path)
    if version > VERSION:
        raise StoreError(
            f"written by a newer iree-tuner: its schema is {version}, but this release reads up to {VERSION}",
            location=path,
            hint="update iree-tuner",
        )
    if version < 0 or not _columns_of(version) <= _columns(connection):
        raise StoreError("the database is damaged: it has other tables", location=path)
    return version


@cache
def _columns_of(version: int) -> frozenset[tuple[str, str]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for step in STEPS[:version]:
            step(connection)
        return _columns(connection)


def _columns(connection: sqlite3.Connection) -> frozenset[tuple[str, str]]:
    query = (
        "SELECT tables.name, columns.name FROM sqlite_master AS tables, "
        "pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'"
    )
    return frozenset((row[0], row[1]) for row in connection.execute(query))


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring the tables to `VERSION`, within the caller's transaction."""
    for number in range(version_of(connection, path), VERSION):
        STEPS[number](connection)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
