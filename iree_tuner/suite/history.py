"""The history of many runs: one file with a JSON line for each row of a run, to which nightly jobs append.

A line holds all facts about its run, so that histories of several machines can be joined with `cat`.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from io import FileIO
from pathlib import Path
from typing import Any

import msgspec

from iree_tuner.errors import TunerError
from iree_tuner.files import data_of, parse_json
from iree_tuner.suite.results import Results, Row, RunFacts, from_json, to_json

_KEPT = ("name", "commit", "compiler", "versions", "conditions", "against", "started")
"""The facts of a run that are kept, in addition to its id."""


@dataclass(frozen=True)
class History:
    """A history, read."""

    path: Path  # where it is
    results: tuple[Results, ...]  # oldest first, without samples and rooflines
    note: str = ""  # what was left out on reading, in one line; empty for nothing


def add(results: Results, path: Path) -> int:
    """Append the rows of a run that a history lacks, all at once; their number.

    Of a run that went on after it was added, the new rows are appended. Other writers and readers wait. A
    part of a line that a killed writer left is removed.

    Raises:
        TunerError: the run has no rows, or the history cannot be read or written.
    """
    if not results.rows:
        raise TunerError(f"run {results.facts.id} has no rows yet")
    try:
        with path.open("a+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
            file.seek(0)
            data = file.read()
            whole = _whole(data)
            known = {_identity(facts, row): row for facts, row in _records(whole, path)}
            lines = [
                json.dumps(_to_json(results.facts, row)) + "\n"
                for row in map(_kept, results.rows)
                if known.get(_identity(results.facts, row)) != row
            ]
            if lines:
                _append(file, len(data), whole, "".join(lines).encode())
            return len(lines)
    except OSError as error:
        raise TunerError(f"cannot write: {error.strerror}", location=str(path)) from None


def read_history(path: Path) -> History:
    """A history. Raises TunerError for a file that cannot be read, and for a line that is not a row."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            data = file.read()
    except OSError as error:
        raise TunerError(f"cannot read: {error.strerror}", location=str(path)) from None
    whole = _whole(data)
    found: dict[str, dict[tuple[str, ...], Row]] = {}
    heads: dict[str, RunFacts] = {}
    for facts, row in _records(whole, path):
        rows = found.setdefault(facts.id, {})
        rows.pop(row.key, None)
        rows[row.key] = row
        heads[facts.id] = facts
    results = [Results(_with_devices(heads[run], rows.values()), tuple(rows.values()))
               for run, rows in found.items()]  # fmt: skip
    torn = len(whole) < len(data)
    note = f"{path}: the last line is incomplete and was skipped" if torn else ""
    return History(path, tuple(sorted(results, key=lambda each: each.facts.started)), note)


def runs(history: History, *, commit: str = "", compiler: str = "") -> tuple[RunFacts, ...]:
    """The runs, oldest first: all, or the runs of a commit (or its first digits), or of a compiler."""
    return tuple(
        each.facts
        for each in history.results
        if each.facts.commit.startswith(commit) and compiler in ("", each.facts.compiler)
    )


def run_named(history: History, name: str) -> Results:
    """A run of a history.

    Args:
        history: of runs.
        name: `first`, `last`, a run's id, or the beginning of a commit, of which the last run counts.

    Raises:
        TunerError: no run, or several commits fit.
    """
    if not history.results:
        raise TunerError("the history has no runs", location=str(history.path))
    if name in ("first", "last"):
        return history.results[0 if name == "first" else -1]
    named = next((each for each in history.results if each.facts.id == name), None)
    if named is not None:
        return named
    fitting = [each for each in history.results if name and each.facts.commit.startswith(name)]
    commits = sorted({each.facts.commit for each in fitting})
    if len(commits) > 1:
        raise TunerError(f"several commits begin with '{name}'", location=str(history.path),
                         hint=", ".join(commits))  # fmt: skip
    if not fitting:
        raise TunerError(f"unknown run or commit '{name}'", location=str(history.path),
                         hint=f"the last run is {history.results[-1].facts.id}")  # fmt: skip
    return fitting[-1]


def _identity(facts: RunFacts, row: Row) -> tuple[str, ...]:
    return facts.id, *row.key


def _kept(row: Row) -> Row:
    """Without samples, which are many and add little to the interval."""
    return replace(row, arguments=dict(row.arguments), samples_us=())


def _append(file: FileIO, size: int, whole: bytes, lines: bytes) -> None:
    """Write after the last whole line; all of it or nothing."""
    if len(whole) < size:
        file.truncate(len(whole))
    elif whole and not whole.endswith(b"\n"):
        lines = b"\n" + lines
    left = memoryview(lines)
    try:
        while left:
            left = left[file.write(left) :]
        os.fsync(file.fileno())
    except OSError:
        file.truncate(len(whole))
        raise


def _whole(data: bytes) -> bytes:
    """Without a torn last line; with one that only lacks its end-of-line."""
    end = data.rfind(b"\n") + 1
    try:
        _from_json(json.loads(data[end:]))
    except (ValueError, RecursionError):
        return data[:end]
    return data


def _records(data: bytes, path: Path) -> Sequence[tuple[RunFacts, Row]]:
    """The contents of the lines. Raises TunerError with the number of the first that is not a row."""
    found: list[tuple[RunFacts, Row]] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            found.append(_from_json(parse_json(line.decode(), f"{path}:{number}")))
        except ValueError as error:
            raise TunerError(f"not a row of a history: {error}", location=f"{path}:{number}") from None
    return found


def _to_json(facts: RunFacts, row: Row) -> dict[str, Any]:
    head = asdict(facts)
    known = {name: value for name, value in to_json(row).items() if value not in (None, ())}
    return {"run": facts.id, **{name: head[name] for name in _KEPT}, **known}


def _from_json(data: object) -> tuple[RunFacts, Row]:
    record = msgspec.convert(data, dict[str, Any])
    known = {name: record[name] for name in _KEPT if name in record}
    return data_of({"id": record.get("run"), **known}, RunFacts), from_json(record)


def _with_devices(facts: RunFacts, rows: Iterable[Row]) -> RunFacts:
    return replace(facts, devices={row.device: row.device_name for row in rows})
