"""Contents of a database as records, and records into a database: what export, import and merge share.

A record's `kind` is one of five: a study, a run, a trial, a verdict, a finding.
Findings are about whole runs, and are exported only if all studies are. Studies are known by the digest of
their key, the others by names that were drawn at random when they were made, so that what is there already
is passed over.

Files of records are JSON Lines, without loss. Other files are Kernel Tuner's T4, and rows of a table, for
spreadsheets and data frames: one a trial, a column for each knob.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO, cast

from iree_tuner.device.outcome import Outcome
from iree_tuner.store.causes import StoreError, stored_json, undamaged
from iree_tuner.store.queries import key_of
from iree_tuner.store.record import body_of, body_text
from iree_tuner.store.recordings import from_recording
from iree_tuner.store.rows import (
    Record,
    assignment_of,
    assignment_text,
    comparison_from_json,
    comparison_text,
    number,
    optional,
    text_in,
    trial_from_json,
    trial_from_row,
    trial_to_json,
)
from iree_tuner.store.store import NEWEST_LAST, Store, insert, insert_study, insert_trial
from iree_tuner.store.trial import StudyKey, Trial, from_json, to_json


@dataclass
class Added:
    """Numbers of new items."""

    studies: int = 0
    runs: int = 0
    trials: int = 0
    verdicts: int = 0
    findings: int = 0


def records(store: Store, chosen: Sequence[int]) -> Iterator[Record]:
    """Everything about some studies, in an order in which `load` takes it."""
    marks = ", ".join("?" * len(chosen))
    digests: dict[object, object] = {}
    for row in store.read(f"SELECT * FROM studies WHERE id IN ({marks}) ORDER BY digest", chosen):
        digests[row["id"]] = row["digest"]
        yield {"kind": "study", "study": row["digest"], "key": stored_json(row["key"])}
    runs: dict[object, object] = {}
    everything = {row["id"] for row in store.read("SELECT id FROM studies")} <= set(chosen)
    also = "UNION SELECT run_id FROM findings" if everything else ""
    of_runs = (
        f"SELECT * FROM runs WHERE id IN (SELECT run_id FROM trials WHERE study_id IN ({marks}) "
        f"UNION SELECT run_id FROM verdicts WHERE study_id IN ({marks}) {also}) ORDER BY started, uid"
    )
    for row in store.read(of_runs, (*chosen, *chosen)):
        runs[row["id"]] = row["uid"]
        yield {
            "kind": "run", "run": row["uid"], "program": row["program"],
            "options": stored_json(row["options"]), "started": row["started"], "ended": row["ended"],
            "state": row["state"],
        }  # fmt: skip
    of_trials = (
        f"SELECT trials.* FROM trials JOIN runs ON runs.id = run_id WHERE study_id IN ({marks}) {NEWEST_LAST}"
    )
    for row in store.read(of_trials, chosen):
        places = {"study": digests[row["study_id"]], "run": runs[row["run_id"]]}
        trial = trial_to_json(trial_from_row(dict(row)))
        yield {"kind": "trial", "uid": row["uid"], **places, "trial": trial}
    for row in store.read(f"SELECT * FROM verdicts WHERE study_id IN ({marks}) ORDER BY at, uid", chosen):
        yield {
            "kind": "verdict", "uid": row["uid"], "study": digests[row["study_id"]],
            "run": runs[row["run_id"]], "at": row["at"],
            "assignment": None if row["assignment"] is None else stored_json(row["assignment"]),
            "comparison": stored_json(row["comparison"]),
        }  # fmt: skip
    if everything:
        for row in store.read("SELECT * FROM findings ORDER BY at, id"):
            yield {
                "kind": "finding", "uid": row["uid"], "run": runs[row["run_id"]], "at": row["at"],
                "about": row["kind"], "body": body_of(row["body"]),
            }  # fmt: skip


def load(store: Store, found: Iterable[Record]) -> Added:
    """Add records, all or none. Raises KeyError, TypeError or ValueError for one that is not right."""
    with store.write() as connection:
        loader = _Loader(connection)
        for record in found:
            loader.take(record)
        return loader.added


def merge(store: Store, other: Store) -> Added:
    """Add all that another database holds."""
    with undamaged():
        return load(store, records(other, [row["id"] for row in other.read("SELECT id FROM studies")]))


@dataclass
class _Loader:
    connection: sqlite3.Connection
    added: Added = field(default_factory=Added)
    studies: dict[str, int] = field(default_factory=dict[str, int])
    runs: dict[str, int] = field(default_factory=dict[str, int])

    def take(self, record: Record) -> None:
        kind = record["kind"]
        takers = {
            "study": self._study, "run": self._run, "trial": self._trial, "verdict": self._verdict,
            "finding": self._finding,
        }  # fmt: skip
        if kind not in takers:
            raise ValueError(f"unknown kind {kind!r}")
        takers[cast("str", kind)](record)

    def _trial(self, record: Record) -> None:
        trial = trial_from_json(cast("Record", record["trial"]))
        uid = text_in(record, "uid")
        self.added.trials += insert_trial(self.connection, uid, *self._place(record), trial)

    def _place(self, record: Record) -> tuple[int, int]:
        study, run = text_in(record, "study"), text_in(record, "run")
        if study not in self.studies or run not in self.runs:
            raise ValueError("no earlier line has the study or the run of this line")
        return self.studies[study], self.runs[run]

    def _study(self, record: Record) -> None:
        key = from_json(cast("Record", record["key"]))
        before = self.connection.execute("SELECT count(*) FROM studies").fetchone()[0]
        self.studies[text_in(record, "study")] = insert_study(self.connection, key)
        after = self.connection.execute("SELECT count(*) FROM studies").fetchone()[0]
        self.added.studies += after - before

    def _run(self, record: Record) -> None:
        uid, ended, state = text_in(record, "run"), optional(record["ended"]), text_in(record, "state")
        row = {
            "uid": uid, "program": text_in(record, "program"), "options": json.dumps(record["options"]),
            "started": number(record["started"]), "ended": ended, "state": state,
        }  # fmt: skip
        self.added.runs += insert(self.connection, "runs", row).rowcount
        # The other database may know how a run ended that was going on when it was taken over before, or
        # that went on later.
        self.connection.execute(
            "UPDATE runs SET ended = ?, state = ? WHERE uid = ? AND coalesce(ended < ?, ? IS NOT NULL)",
            (ended, state, uid, ended, ended),
        )
        found = self.connection.execute("SELECT id FROM runs WHERE uid = ?", (uid,)).fetchone()
        self.runs[uid] = int(found[0])

    def _verdict(self, record: Record) -> None:
        chosen = record["assignment"]
        study, run = self._place(record)
        comparison = comparison_from_json(cast("Record", record["comparison"]))
        row = {
            "uid": text_in(record, "uid"), "study_id": study, "run_id": run, "at": number(record["at"]),
            "assignment": None if chosen is None else assignment_text(assignment_of(chosen)),
            "comparison": comparison_text(comparison),
        }  # fmt: skip
        self.added.verdicts += insert(self.connection, "verdicts", row).rowcount

    def _finding(self, record: Record) -> None:
        run, body = text_in(record, "run"), record["body"]
        if run not in self.runs:
            raise ValueError("no earlier line has the run of this line")
        if not isinstance(body, Mapping):
            raise TypeError("the body is not an object")
        row = {
            "uid": text_in(record, "uid"), "run_id": self.runs[run], "kind": text_in(record, "about"),
            "body": body_text(cast("Record", body)), "at": number(record["at"]),
        }  # fmt: skip
        self.added.findings += insert(self.connection, "findings", row).rowcount


# Export as Kernel Tuner's T4 results, version 1.0.0.
#
# Times are in milliseconds, as Kernel Tuner's own. The schema is kernel_tuner/schema/T4/1.0.0/
# results-schema.json in KernelTuner/kernel_tuner.


VERSION = "1.0.0"

INVALIDITY: dict[Outcome, str] = {
    "ok": "correct", "too_slow": "correct", "compile_error": "compile", "compile_crash": "compile",
    "compile_timeout": "timeout", "not_applied": "constraints", "run_error": "runtime",
    "run_crash": "runtime", "run_timeout": "timeout", "wrong_result": "correctness",
}  # fmt: skip
"""T4's name for each outcome."""


def to_t4(trials: Iterable[Trial]) -> dict[str, object]:
    """The trials of a study as one T4 document."""
    return {"schema_version": VERSION, "results": [_result(trial) for trial in trials]}


def _result(trial: Trial) -> dict[str, object]:
    invalidity = INVALIDITY[trial.outcome]
    times = {
        "compilation_time": trial.compile_s * 1e3, "runtimes": [each / 1e3 for each in trial.samples_us],
        "framework": 0.0, "search_algorithm": 0.0, "validation": 0.0,
    }  # fmt: skip
    measured = [] if trial.time_us is None else [("time", trial.time_us / 1e3, "ms")]
    if trial.time_us is not None and trial.baseline_us > 0:
        measured.append(("relative_time", trial.score, ""))
    return {
        "timestamp": datetime.fromtimestamp(trial.at, UTC).isoformat(),
        "configuration": dict(trial.assignment), "objectives": ["time"], "times": times,
        "invalidity": invalidity, "correctness": int(invalidity == "correct"),
        "measurements": [{"name": name, "value": value, "unit": unit} for name, value, unit in measured],
    }  # fmt: skip


_FIRST = ("study", "workload", "target", "device", "space", "outcome", "time_us", "baseline_us", "speedup")
_LAST = ("compile_s", "measure_s", "worst_error", "message")


def csv_rows(store: Store, studies: Sequence[int]) -> Iterator[Sequence[object]]:
    """A header, and a row for each trial of some studies; empty where a trial has no such value or knob."""
    found = [(each, key_of(store, each), store.trials(each).values()) for each in studies]
    knobs = list(dict.fromkeys(name for _, _, trials in found for each in trials for name in each.assignment))
    yield (*_FIRST, *knobs, *_LAST)
    for place, key, trials in found:
        for each in trials:
            time_us = each.time_us
            speedup = each.baseline_us / time_us if time_us and each.outcome == "ok" else None
            yield (
                place, key.workload.name, key.setting.target, each.device or key.setting.device,
                key.space_label, each.outcome, time_us, each.baseline_us or None, speedup,
                *(each.assignment.get(name) for name in knobs),
                each.compile_s, each.measure_s, each.worst, each.message,
            )  # fmt: skip


FORM = 1
"""Version of the lossless form, in the first line of each file."""

_HEADER = "iree_tuner_trials"


def write_lines(stream: TextIO, found: Iterable[Record]) -> int:
    """Write records in the lossless form. Returns the number of trials."""
    count = 0
    stream.write(json.dumps({_HEADER: FORM}) + "\n")
    for record in found:
        stream.write(json.dumps(record, allow_nan=False) + "\n")
        count += record["kind"] == "trial"
    return count


def write_rescue(path: str | Path, rows: Sequence[tuple[StudyKey, Trial]]) -> None:
    """Write trials that could not be stored to a file for `iree-tuner db import`. Raises StoreError."""
    try:
        with Path(path).open("w", encoding="utf-8") as stream:
            write_lines(stream, _rescued(rows))
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise StoreError(f"cannot write: {error.strerror}", location=str(path)) from None


def import_file(store: Store, path: Path) -> Added:
    """Add the contents of a file, all or nothing: the lossless form, or a recording.

    Raises StoreError if the file cannot be read, or a line is malformed; the location names the line.
    """
    lines = _Lines(path)
    try:
        objects = lines.objects()
        first = next(objects, None)
        if first is None:
            raise ValueError("the file is empty")
        if first.get(_HEADER) == FORM:
            return load(store, objects)
        if "recording" in first:
            return load(store, lines.recorded(first, objects))
        raise ValueError("the file has neither trials of iree-tuner nor a recording, in a supported version")
    except OSError as error:
        raise StoreError(f"cannot read: {error.strerror}", location=str(path)) from None
    except UnicodeDecodeError:
        raise StoreError("not a text file", location=str(path)) from None
    except json.JSONDecodeError as error:
        if lines.at == 1 and _is_t4(path):
            what, hint = "a T4 file does not identify the workload", "export without --format t4"
            raise StoreError(what, location=str(path), hint=hint) from None
        raise StoreError(f"not JSON: {error.msg}", location=f"{path}:{lines.at}") from None
    except KeyError as error:
        raise StoreError(f"{error.args[0]} is missing", location=f"{path}:{lines.at}") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise StoreError(str(error), location=f"{path}:{lines.at}") from None


def _is_t4(path: Path) -> bool:
    """Whether it is output of `exchange.to_t4`, one object of many lines."""
    try:
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "schema_version" in found and "results" in found


@dataclass
class _Lines:
    """The lines of a file; `at` is the number of the last one that was taken."""

    path: Path
    at: int = 1

    def objects(self) -> Iterator[dict[str, object]]:
        """The objects in them."""
        with self.path.open(encoding="utf-8") as stream:
            for self.at, line in enumerate(stream, start=1):
                if not line.strip():
                    continue
                try:
                    data: object = json.loads(line)
                except RecursionError:
                    raise ValueError("the JSON is nested too deep") from None
                if not isinstance(data, dict):
                    raise TypeError("not a JSON object")
                yield cast("dict[str, object]", data)

    def recorded(self, header: dict[str, object], objects: Iterable[dict[str, object]]) -> Iterator[Record]:
        """Records of a recording, of which the header was taken."""
        default_us, found = 0.0, list[tuple[int, dict[str, object]]]()
        for line in objects:  # the default may stand anywhere
            found.append((self.at, line))
            if line["pipeline"] is None:
                default_us = number(line["min_us"])

        def again() -> Iterator[dict[str, object]]:
            for self.at, line in found:
                yield line

        self.at = 1  # until a line is taken, it is the header that may be wrong
        yield from from_recording(header, again(), default_us)


def _rescued(rows: Sequence[tuple[StudyKey, Trial]]) -> Iterator[Record]:
    run = secrets.token_hex(8)
    for digest, key in {key.digest: key for key, _ in rows}.items():
        yield {"kind": "study", "study": digest, "key": to_json(key)}
    now = time.time()
    yield {
        "kind": "run", "run": run, "program": "rescued", "options": {}, "started": now, "ended": now,
        "state": "failed",
    }  # fmt: skip
    for key, trial in rows:
        uid = secrets.token_hex(8)
        yield {"kind": "trial", "uid": uid, "study": key.digest, "run": run, "trial": trial_to_json(trial)}
