"""The database of trials: one connection, short transactions; its tables, and the steps between versions.

See docs/store.md.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Literal, Self
from urllib.parse import quote

from iree_tuner.files import note_input
from iree_tuner.measure.statistics import Comparison
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.causes import StoreError, store_errors
from iree_tuner.store.record import Finding, body_of, body_text
from iree_tuner.store.rows import (
    COLUMNS,
    assignment_text,
    comparison_text,
    least,
    text,
    trial_from_row,
    trial_to_row,
    unpack_samples,
)
from iree_tuner.store.trial import StudyKey, Trial, to_json

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


RunState = Literal["done", "interrupted", "failed"]

_BUSY_S = 30.0

NEWEST_LAST = "ORDER BY trials.at, runs.started, runs.uid, trials.id"
"""Order of trials: by time; where that is equal by run, and within a run as they were added."""


class Store:
    """An open database. Threads may share one; each call is one transaction.

    Any method raises StoreError if the database cannot be read or written. Nothing of the call is stored
    then, and all that earlier calls stored still is.
    """

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self.connection = connection
        self.path = path
        self._lock = threading.RLock()

    @classmethod
    def open(
        cls, path: str | Path, *, create: bool = True, readonly: bool = False, busy_s: float = _BUSY_S
    ) -> Self:
        """Open a database, brought to this version's schema.

        Args:
            path: the file.
            create: make the file, and its folder, where missing.
            readonly: change nothing; a database of an older schema is read through a copy in memory.
            busy_s: how long to wait for another process's transaction.
        """
        path = Path(path)
        if not path.is_file() and (readonly or not create):
            what = "is a folder" if path.is_dir() else "no such database"
            raise StoreError(what, location=str(path))
        if create and not readonly:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                message = f"cannot create the folder of the database: {error.strerror}"
                hint = "--db chooses another path, --no-db stores nothing"
                raise StoreError(message, location=str(path), hint=hint) from None
        with store_errors(str(path)):
            opened = _open_to_read(path, busy_s) if readonly else _open_to_write(path, busy_s, create)
        opened.row_factory = sqlite3.Row
        note_input(path)
        return cls(opened, str(path))

    def close(self) -> None:
        """Close the connection."""
        with suppress(sqlite3.Error):  # all is committed; only the clean-up of the log may fail here
            self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, query: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        """Rows of a query."""
        with self._lock, store_errors(self.path):
            return self.connection.execute(query, tuple(values)).fetchall()  # pyright: ignore

    @contextmanager
    def write(self) -> Generator[sqlite3.Connection]:
        """A transaction: all of it is stored when the block ends, and nothing when it raises."""
        with self._lock, store_errors(self.path), transaction(self.connection):
            yield self.connection

    def start_run(self, program: str, options: Mapping[str, object]) -> int:
        """Number of a new run, of a program with options that JSON can hold (others as their text)."""
        row = {
            "uid": secrets.token_hex(8), "program": text(program), "started": time.time(), "state": "running",
            "options": json.dumps(dict(options), default=str),
        }  # fmt: skip
        with self.write() as connection:
            return int(insert(connection, "runs", row).lastrowid or 0)

    def end_run(self, run_id: int, state: RunState) -> None:
        """Store how a run ended. One that was killed stays `running`."""
        with self.write() as connection:
            query = "UPDATE runs SET ended = ?, state = ? WHERE id = ?"
            connection.execute(query, (time.time(), state, run_id))

    def study(self, key: StudyKey) -> int:
        """Number of the study with this key, which is created if it is missing."""
        found = self.read("SELECT id FROM studies WHERE digest = ?", (key.digest,))
        if found:
            return int(found[0]["id"])
        with self.write() as connection:
            return insert_study(connection, key)

    def trials(self, study_id: int) -> dict[Assignment, Trial]:
        """The newest trial of each assignment."""
        query = "SELECT trials.* FROM trials JOIN runs ON runs.id = run_id WHERE study_id = ? " + NEWEST_LAST
        found = (trial_from_row(dict(row)) for row in self.read(query, (study_id,)))
        return {trial.assignment: trial for trial in found}

    def add(self, study_id: int, run_id: int, trials: Sequence[Trial]) -> None:
        """Store trials, all or none. Once this returns they survive a SIGKILL of this process."""
        with self.write() as connection:
            for trial in trials:
                insert_trial(connection, secrets.token_hex(8), study_id, run_id, trial)

    def add_verdict(
        self, study_id: int, run_id: int, assignment: Assignment | None, comparison: Comparison
    ) -> None:
        """Store a paired comparison with the default; without an assignment, of the default with itself."""
        row = {
            "uid": secrets.token_hex(8), "study_id": study_id, "run_id": run_id, "at": time.time(),
            "assignment": None if assignment is None else assignment_text(assignment),
            "comparison": comparison_text(comparison),
        }  # fmt: skip
        with self.write() as connection:
            insert(connection, "verdicts", row)

    def add_finding(self, run_id: int, kind: str, body: Mapping[str, object]) -> None:
        """Store a finding of a run: a kind and a body (see `store.record`)."""
        row = {
            "uid": secrets.token_hex(8), "run_id": run_id, "kind": text(kind), "body": body_text(body),
            "at": time.time(),
        }  # fmt: skip
        with self.write() as connection:
            insert(connection, "findings", row)

    def findings(self, run_id: int) -> list[Finding]:
        """The findings of a run, in the order of `add_finding`."""
        found = self.read("SELECT kind, body, at FROM findings WHERE run_id = ? ORDER BY at, id", (run_id,))
        return [Finding(row["kind"], body_of(row["body"]), row["at"]) for row in found]

    def latest_findings(self, kind: str) -> list[tuple[Finding, str, float]]:
        """The last 100 findings of a kind, the newest first, each with the state of its run (see `end_run`).

        The last item is the time between that run's first trial and its last, in seconds.
        """
        found = self.read(
            "SELECT findings.kind, body, at, runs.state, "
            "(SELECT coalesce(max(trials.at) - min(trials.at), 0.0) "
            "FROM trials WHERE trials.run_id = runs.id) AS tried_s "
            "FROM findings JOIN runs ON runs.id = run_id "
            "WHERE findings.kind = ? ORDER BY at DESC, findings.id DESC LIMIT 100",
            (text(kind),),
        )
        return [
            (Finding(row["kind"], body_of(row["body"]), row["at"]), row["state"], row["tried_s"])
            for row in found
        ]


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Take the writer's lock; commit at the end, or roll back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def insert_study(connection: sqlite3.Connection, key: StudyKey) -> int:
    """Number of the study, within a transaction."""
    row = {
        "digest": key.digest, "key": json.dumps(to_json(key)), "workload": key.workload.key,
        "name": key.workload.name,
    }  # fmt: skip
    insert(connection, "studies", row)
    return int(connection.execute("SELECT id FROM studies WHERE digest = ?", (key.digest,)).fetchone()[0])


def insert_trial(connection: sqlite3.Connection, uid: str, study_id: int, run_id: int, trial: Trial) -> int:
    """Add a trial. Returns the number of new ones, 0 or 1."""
    row = dict(zip((*COLUMNS, "time_us"), trial_to_row(trial), strict=True))
    places = {"uid": uid, "study_id": study_id, "run_id": run_id}
    return insert(connection, "trials", places | row).rowcount


def insert(connection: sqlite3.Connection, table: str, row: Mapping[str, object]) -> sqlite3.Cursor:
    """Add a row by the names of its columns, unless its unique name is there."""
    marks = ", ".join("?" * len(row))
    query = f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({marks})"
    return connection.execute(query, tuple(row.values()))  # pyright: ignore[reportArgumentType]


def _connect(path: Path, busy_s: float, mode: str) -> sqlite3.Connection:
    name = f"file:{quote(os.fsencode(path.absolute()))}?{mode}"
    return sqlite3.connect(name, timeout=busy_s, uri=True, isolation_level=None, check_same_thread=False)


def _open_to_write(path: Path, busy_s: float, create: bool) -> sqlite3.Connection:
    connection = _connect(path, busy_s, "mode=rwc" if create else "mode=rw")
    try:
        if not version_of(connection, str(path)) and not create:
            raise StoreError("the file is empty, and not a database of iree-tuner", location=str(path))
        _use_log(connection, busy_s)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        with transaction(connection):  # fails now, not after an hour of work, where nothing can be written
            migrate(connection, str(path))
    except BaseException:
        connection.close()
        raise
    return connection


def _use_log(connection: sqlite3.Connection, busy_s: float) -> None:
    """Use write-ahead logging. Changing to it does not wait for others, as other statements do."""
    deadline = time.monotonic() + busy_s
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return  # where the file system has no shared memory, the old mode stays, and is right too


def _open_to_read(path: Path, busy_s: float) -> sqlite3.Connection:
    connection = _connect(path, busy_s, "mode=ro")
    try:
        try:
            version = version_of(connection, str(path))
        except sqlite3.OperationalError:
            log = Path(f"{path}-wal")
            if log.exists() and log.stat().st_size:
                raise
            # In a folder that cannot be written, the log's index cannot be made, and without a log need not.
            connection.close()
            connection = _connect(path, busy_s, "mode=ro&immutable=1")
            version = version_of(connection, str(path))
        if not version:
            raise StoreError("the file is empty, and not a database of iree-tuner", location=str(path))
        if version < VERSION:
            copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            connection.backup(copy)
            connection.close()
            connection = copy
            with transaction(connection):
                migrate(connection, str(path))
    except BaseException:
        connection.close()
        raise
    return connection
