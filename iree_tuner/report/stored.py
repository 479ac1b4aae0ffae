"""Runs of a database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import cast

from iree_tuner.measure.statistics import Comparison
from iree_tuner.report.data import ReportedRun, RunReport
from iree_tuner.report.gather import Tried, gather
from iree_tuner.store import Store, StoreError
from iree_tuner.store.queries import key_of
from iree_tuner.store.rows import comparison_from_json

_OF_RUN = "SELECT study_id FROM trials WHERE run_id = ? UNION SELECT study_id FROM verdicts WHERE run_id = ?"
_WITH_ANYTHING = (
    "SELECT run_id FROM trials UNION SELECT run_id FROM verdicts UNION SELECT run_id FROM findings"
)


def report_of_run(store: Store, number: int | None = None, program: str | None = None) -> RunReport:
    """The facts about a run.

    Args:
        store: where it is.
        number: which run; the last one that has anything to show by default.
        program: of runs of this program, by its path or its file's name.

    Raises:
        StoreError: there is no such run.
    """
    run = _find(store, number, program)
    assert run.number is not None
    return gather(run, store.findings(run.number), _tried(store, run))


def _find(store: Store, number: int | None, program: str | None) -> ReportedRun:
    runs = store.read(f"SELECT *, id IN ({_WITH_ANYTHING}) AS used FROM runs ORDER BY started, id")
    if not runs:
        raise StoreError(
            "the database has no runs yet", location=store.path, hint="iree-tuner tune makes one"
        )
    if number is not None:
        found = [row for row in runs if row["id"] == number]
        if not found:
            numbers = [row["id"] for row in runs]
            hint = f"its runs are {min(numbers)} to {max(numbers)}"
            raise StoreError(f"the database has no run {number}", location=store.path, hint=hint)
    else:
        found = [row for row in runs if row["used"]]
        if not found:
            raise StoreError("no run in the database has any trials yet", location=store.path)
    if program is not None:
        found = [row for row in found if _is_of(row["program"], program)]
        if not found:
            names = dict.fromkeys(row["program"] for row in runs if row["used"])
            hint = f"there are runs of {', '.join(list(names)[-4:])}"
            raise StoreError(f"the database has no run of '{program}'", location=store.path, hint=hint)
    row = found[-1]
    options = json.loads(row["options"])
    return ReportedRun(
        program=row["program"],
        number=row["id"],
        options=cast("Mapping[str, object]", options) if isinstance(options, dict) else {},
        started=row["started"],
        ended=row["ended"],
        state=row["state"],
    )


def _is_of(program: str, wanted: str) -> bool:
    path = PurePath(program)
    return wanted in (program, path.name, path.stem)


def _tried(store: Store, run: ReportedRun) -> list[Tried]:
    """The studies that the run worked on, as they were when it ended."""
    numbers = [row["study_id"] for row in store.read(_OF_RUN, (run.number, run.number))]
    own = {
        row["study_id"]: row["n"]
        for row in store.read(
            "SELECT study_id, count(DISTINCT assignment) AS n FROM trials WHERE run_id = ? GROUP BY study_id",
            (run.number,),
        )
    }
    found: list[Tried] = []
    for study in numbers:
        key = key_of(store, study)
        trials = [
            trial for trial in store.trials(study).values() if run.ended is None or trial.at <= run.ended
        ]
        found.append(
            Tried(
                key.workload.key, key.workload.name, trials, key.space_label, key.space_size or None,
                _judged(store, study, run), max(0, len(trials) - own.get(study, 0)), key.setting, key.kernel,
            )
        )  # fmt: skip
    return found


def _judged(store: Store, study: int, run: ReportedRun) -> Comparison | None:
    """The run's last comparison of a candidate with the default."""
    rows = store.read(
        "SELECT comparison FROM verdicts WHERE study_id = ? AND run_id = ? AND assignment IS NOT NULL "
        "ORDER BY at, uid",
        (study, run.number),
    )
    return comparison_from_json(json.loads(rows[-1]["comparison"])) if rows else None
