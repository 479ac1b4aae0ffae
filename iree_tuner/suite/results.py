"""A run's results on disk: one folder with `run.json` and `rows.jsonl`, appended as rows come.

A run that is killed loses the row that was being written, and goes on where it ended.

The history of many runs is one file with a JSON line for each row, to which nightly jobs append. A line holds
all facts about its run, so that histories of several machines can be joined with `cat`.
"""

from __future__ import annotations

import csv
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from io import FileIO, StringIO
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from iree_tuner.errors import TunerError
from iree_tuner.files import data_of, parse_json, read_json, write
from iree_tuner.suite.backends.backend import Conditions
from iree_tuner.suite.operation import Value

T = TypeVar("T")


@dataclass(frozen=True)
class RunFacts:
    """Head of a run's results."""

    id: str  # of the run, unique: time and a few random letters
    name: str  # of the run, for people: what was asked for
    commit: str = ""  # of the code under test, given or from git; empty where unknown
    compiler: str = ""  # release of IREE's compiler
    # of the back ends' libraries, by name
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    devices: Mapping[str, str] = field(default_factory=dict[str, str])  # URI to the name of the device
    # URI to `profiling.roofline.to_json`, of known devices
    rooflines: Mapping[str, Any] = field(default_factory=dict[str, Any])
    conditions: Conditions = field(default_factory=Conditions)  # how samples were taken
    against: str = ""  # id of the earlier run whose code ran in turns with this one's; empty for none
    started: float = 0.0  # seconds since the epoch


# A row: the result of one operation on one back end, in one configuration, on one device.


Verification = Literal["SUCCESS", "FAILED", "NOT VERIFIED"]
State = Literal["ok", "failed", "skipped", "missing", "lost"]


@dataclass(frozen=True)
class Row:
    """One line of the results."""

    operation: str
    kind: str
    arguments: Mapping[str, Value]
    backend: str  # iree, iree-tuned, numpy, torch, ...
    # of the compiler: `default`, `spec`, or a configuration's name; empty for back ends that are not IREE
    configuration: str = ""
    device: str = ""
    device_name: str = ""  # as the device reports it
    # `ok`: it runs; `failed`: it does not compile or run, or its results are wrong; `skipped`: the back end
    # cannot do it; `missing`: it is not there; `lost`: the device has gone
    state: State = "ok"
    verification: Verification = "NOT VERIFIED"  # of the results against the reference
    message: str = ""  # why it is not `ok`, in one line; of what is, a note or nothing
    time_us: float | None = None  # median of the samples, in microseconds; None where it was not timed
    interval_us: tuple[float, float] | None = None  # confidence interval of the center of the run's samples
    samples_us: tuple[float, ...] = field(default=(), repr=False)  # in the order of the rounds
    # flops, bytes: of one run of the operation
    flops: float = 0.0
    bytes: float = 0.0
    compute_type: str = ""  # type of the multiplied elements
    roofline_share: float | None = None  # the least possible time on the device as a part of the time
    normalized_us: float | None = None  # time on the run's first device with the same share of its roofline
    speedup: float | None = None  # over IREE's default in the same rounds; None without it
    speedup_interval: tuple[float, float] | None = None  # of the speedup
    # how many times as fast as what an earlier run compiled, whose code ran again in the same rounds; below 1
    # it is slower. None where there was none
    change: float | None = None
    change_interval: tuple[float, float] | None = None  # of the change
    worst_error: float | None = None  # the largest difference from the reference, as a part of the tolerance
    reference: str = ""  # the library that computed it: numpy, torch; empty where nothing was verified
    at: float = 0.0  # when, seconds since the epoch

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The key of a measurement in a run: operation, back end, configuration, device."""
        return self.operation, self.backend, self.configuration, self.device

    @property
    def dispatch(self) -> str:
        """The name that regular expressions search: the operation's, followed by the configuration's."""
        return f"{self.operation}_{self.configuration}" if self.configuration else self.operation

    @property
    def gflops(self) -> float | None:
        """10^9 arithmetic operations a second."""
        return self.flops / self.time_us / 1e3 if self.time_us else None

    @property
    def gbytes(self) -> float | None:
        """10^9 bytes a second."""
        return self.bytes / self.time_us / 1e3 if self.time_us else None


def to_json(row: Row) -> dict[str, Any]:
    """JSON-ready, with values derived from the fields."""
    return {**asdict(row), "gflops": row.gflops, "gbytes": row.gbytes}


def from_json(data: object) -> Row:
    """The inverse of `to_json`; unknown keys are left out. Raises ValueError for other data.

    Until 2026-11 `skipped` was called `cannot`.
    """
    found = msgspec.convert(data, dict[str, Any])
    return msgspec.convert({**found, "state": "skipped"} if found.get("state") == "cannot" else found, Row)


FACTS, ROWS = "run.json", "rows.jsonl"
PROGRAMS, SPECS = "programs", "specs"
"""Folders next to them: compiled operations, and the spec of each."""

_COLUMNS: tuple[str, ...] = (
    "operation", "kind", "backend", "configuration", "device", "device_name", "state", "verification",
    "time_us", "low_us", "high_us", "gflops", "gbytes", "roofline_share", "normalized_us", "speedup",
    "speedup_low", "speedup_high", "change", "change_low", "change_high", "flops",
    "bytes", "compute_type", "worst_error", "reference", "message",
)  # fmt: skip


@dataclass(frozen=True)
class Results:
    """A run's results, read."""

    facts: RunFacts
    rows: tuple[Row, ...]  # in their order in the file; of equal keys only the last
    note: str = ""  # what was left out on reading, in one line; empty for nothing


class ResultsFolder:
    """Where a run writes. Raises TunerError where it cannot."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, facts: RunFacts) -> None:
        """Write the head; existing rows stay."""
        with _writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            fresh = self.path / f"{FACTS}.new"
            fresh.write_text(json.dumps(asdict(facts), indent=1) + "\n", encoding="utf-8")
            fresh.replace(self.path / FACTS)
            with (self.path / ROWS).open("a+b", buffering=0) as file:
                _append(file, b"")

    def clear(self) -> None:
        """Delete the rows and the compiled programs; specs stay."""
        with _writing(self.path):
            (self.path / ROWS).unlink(missing_ok=True)
            shutil.rmtree(self.path / PROGRAMS, ignore_errors=True)

    def add(self, row: Row) -> None:
        """Append a row; it is on disk when this returns."""
        line = json.dumps(to_json(row)) + "\n"
        with _writing(self.path / ROWS), (self.path / ROWS).open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())


def read_results(path: Path) -> Results:
    """A run's results. Raises TunerError for a folder that holds none, and for a line that is not a row."""
    if not (path / FACTS).is_file():
        raise TunerError("the folder has no results of `iree-tuner suite` (no run.json)", location=str(path))
    try:
        facts = data_of(read_json(path / FACTS), RunFacts)
    except (ValueError, KeyError, TypeError) as error:
        raise TunerError(f"not a description of a run: {error}", location=str(path / FACTS)) from None
    data = (path / ROWS).read_bytes() if (path / ROWS).exists() else b""
    rows, note = _lines_of(path / ROWS, data, from_json, "a row")
    return Results(facts, _last_of(rows), note)


def write_csv(rows: Iterable[Row], path: Path) -> None:
    """The rows as a table. Raises TunerError where it cannot be written."""
    table = StringIO()
    writer = csv.DictWriter(table, _COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(_cells, rows))
    write(path, table.getvalue())


def _cells(row: Row) -> Mapping[str, Any]:
    cells = to_json(replace(row, samples_us=()))
    intervals = (row.interval_us, row.speedup_interval, row.change_interval)
    for name, both in zip(("{}_us", "speedup_{}", "change_{}"), intervals, strict=True):
        cells[name.format("low")], cells[name.format("high")] = both or (None, None)
    return cells


# Files with a JSON object in each line. An incomplete last line, which a killed writer left, does not count.


def _lines_of(path: Path, data: bytes, read: Callable[[Any], T], what: str) -> tuple[list[T], str]:
    """The contents of a file's lines, and a note if the last one is incomplete.

    Raises TunerError with the number of the first line that is not what was expected.
    """
    whole = _whole(data)
    found: list[T] = []
    for number, line in enumerate(whole.split(b"\n"), 1):
        try:
            found += [read(parse_json(line.decode(), f"{path}:{number}"))] if line.strip() else []
        except ValueError as error:
            raise TunerError(f"not {what}: {error}", location=f"{path}:{number}") from None
    torn = len(whole) < len(data)
    return found, f"{path}: the last line is incomplete and was skipped" if torn else ""


def _whole(data: bytes) -> bytes:
    """Without an incomplete last line; with one that only lacks its end-of-line."""
    end = data.rfind(b"\n") + 1
    try:
        json.loads(data[end:])
    except (ValueError, RecursionError):
        return data[:end]
    return data


def _append(file: FileIO, lines: bytes) -> None:
    """Write after the last whole line; all of it or nothing."""
    file.seek(0)
    data = file.read()
    whole = _whole(data)
    file.truncate(len(whole))
    left = memoryview(b"\n" + lines if whole and not whole.endswith(b"\n") else lines)
    try:
        while left:
            left = left[file.write(left) :]
        os.fsync(file.fileno())
    except OSError:
        file.truncate(len(whole))
        raise


def _last_of(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Of rows with equal keys the last."""
    found: dict[tuple[str, ...], Row] = {}
    for row in rows:
        found.pop(row.key, None)
        found[row.key] = row
    return tuple(found.values())


@contextmanager
def _writing(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise TunerError(f"cannot write: {error.strerror}", location=str(path)) from None


_KEPT = ("name", "commit", "compiler", "versions", "conditions", "against", "started")
"""The facts of a run that are kept, in addition to its id."""


@dataclass(frozen=True)
class History:
    """A history, read."""

    path: Path  # where it is
    results: tuple[Results, ...]  # oldest first, without samples and rooflines
    note: str = ""  # what was left out on reading, in one line; empty for nothing


def add(results: Results, path: Path) -> int:
    """Append the rows of a run that a history lacks, all at once and without samples; their number.

    Of a run that went on after it was added, the new rows are appended. Other writers and readers wait. A
    part of a line that a killed writer left is removed. Raises TunerError if the run has no rows, or the
    history cannot be read or written.
    """
    if not results.rows:
        raise TunerError(f"run {results.facts.id} has no rows yet")
    try:
        with path.open("a+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
            file.seek(0)
            records, _ = _lines_of(path, file.read(), _from_json, "a row of a history")
            known = {row.key: row for facts, row in records if facts.id == results.facts.id}
            rows = [replace(each, arguments=dict(each.arguments), samples_us=()) for each in results.rows]
            new = [row for row in rows if known.get(row.key) != row]
            if new:
                lines = [json.dumps(_to_json(results.facts, row)) + "\n" for row in new]
                _append(file, "".join(lines).encode())
            return len(new)
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
    records, note = _lines_of(path, data, _from_json, "a row of a history")
    found: dict[str, list[tuple[RunFacts, Row]]] = {}
    for facts, row in records:
        found.setdefault(facts.id, []).append((facts, row))
    results: list[Results] = []
    for each in found.values():
        rows = _last_of(row for _, row in each)
        facts = replace(each[-1][0], devices={row.device: row.device_name for row in rows})
        results.append(Results(facts, rows))
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


def _to_json(facts: RunFacts, row: Row) -> dict[str, Any]:
    head = asdict(facts)
    known = {name: value for name, value in to_json(row).items() if value not in (None, ())}
    return {"run": facts.id, **{name: head[name] for name in _KEPT}, **known}


def _from_json(data: object) -> tuple[RunFacts, Row]:
    record = msgspec.convert(data, dict[str, Any])
    known = {name: record[name] for name in _KEPT if name in record}
    return data_of({"id": record.get("run"), **known}, RunFacts), from_json(record)
