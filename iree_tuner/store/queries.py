"""The queries of commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from iree_tuner.measure.statistics import Comparison
from iree_tuner.measure.trial import Trial
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.failure import StoreError, stored
from iree_tuner.store.rows import assignment_of, comparison_from_json, trial_from_row
from iree_tuner.store.store import Store
from iree_tuner.store.study import StudyKey, from_json

NEWEST = """
WITH ranked AS (
    SELECT trials.*, ROW_NUMBER() OVER (
        PARTITION BY study_id, assignment ORDER BY at DESC, started DESC, runs.uid DESC, trials.id DESC
    ) AS place
    FROM trials JOIN runs ON runs.id = run_id
),
newest AS (SELECT * FROM ranked WHERE place = 1)
"""
"""The table `newest`: of each assignment in each study, the trial that counts."""

_BEST = (
    NEWEST
    + """,
ordered AS (
    SELECT newest.*, ROW_NUMBER() OVER (
        PARTITION BY study_id
        ORDER BY CASE WHEN baseline_us > 0 THEN time_us / baseline_us ELSE time_us END, assignment
    ) AS position
    FROM newest WHERE outcome = 'ok' AND time_us IS NOT NULL
)
SELECT * FROM ordered WHERE position = 1
"""
)


@dataclass(frozen=True)
class LastVerdict:
    """A verdict as it was kept; the assignment is None for the default against itself."""

    assignment: Assignment | None
    comparison: Comparison
    at: float


@dataclass(frozen=True)
class StudySummary:
    """A study and how far it came.

    Attributes:
        number: the study's number in this database.
        key: what it is of.
        outcomes: how many assignments ended in each way, by their newest trials.
        best: the fastest, relative to the default; None when none ran.
        verdict: the last comparison; None when there was none.
        last_run: when a trial last ended, in seconds since 1970.
        program: what was tuned then.
    """

    number: int
    key: StudyKey
    outcomes: dict[str, int] = field(default_factory=dict[str, int])
    best: Trial | None = None
    verdict: LastVerdict | None = None
    last_run: float = 0.0
    program: str = ""


def summaries(store: Store) -> list[StudySummary]:
    """All studies, by workload and number."""
    counts: dict[int, dict[str, int]] = {}
    by_outcome = NEWEST + "SELECT study_id, outcome, count(*) AS n FROM newest GROUP BY study_id, outcome"
    for row in store.read(by_outcome + " ORDER BY outcome"):
        counts.setdefault(row["study_id"], {})[row["outcome"]] = row["n"]
    best = {row["study_id"]: trial_from_row(dict(row)) for row in store.read(_BEST)}
    last = {
        row["study_id"]: (row["started"], row["program"])
        for row in store.read(
            "SELECT study_id, started, program FROM runs JOIN "
            "(SELECT DISTINCT study_id, run_id FROM trials) ON run_id = runs.id ORDER BY started, uid"
        )
    }
    verdicts = _verdicts(store)
    found: list[StudySummary] = []
    for row in store.read("SELECT id, key FROM studies ORDER BY name, id"):
        number = row["id"]
        started, program = last.get(number, (0.0, ""))
        found.append(
            StudySummary(
                number, stored(row["key"], from_json), counts.get(number, {}), best.get(number),
                verdicts.get(number), started, program,
            )
        )  # fmt: skip
    return found


def find_studies(store: Store, word: str) -> list[int]:
    """Numbers of the studies that a word stands for: a number, or a workload's name or key.

    Raises:
        StoreError: there is none.
    """
    if word.isdecimal() and len(word) < 16:
        found = store.read("SELECT id FROM studies WHERE id = ?", (int(word),))
    else:
        query = "SELECT id FROM studies WHERE ? IN (name, workload, digest) ORDER BY id"
        found = store.read(query, (word,))
    if not found:
        raise StoreError(f"no study or workload '{word}'", location=store.path, hint="see iree-tuner db list")
    return [row["id"] for row in found]


def all_studies(store: Store) -> list[int]:
    """Numbers of all studies."""
    return [row["id"] for row in store.read("SELECT id FROM studies ORDER BY id")]


def key_of(store: Store, number: int) -> StudyKey:
    """The key of a study that `find_studies` found."""
    (row,) = store.read("SELECT key FROM studies WHERE id = ?", (number,))
    return stored(row["key"], from_json)


def ranked(trials: Sequence[Trial]) -> list[Trial]:
    """Best first: trials that ran by their time relative to the default's, then the others by outcome."""

    def order(trial: Trial) -> tuple[object, ...]:
        time_us = trial.time_us if trial.time_us is not None else float("inf")
        relative = time_us / trial.baseline_us if trial.baseline_us > 0 else time_us
        return (trial.outcome != "ok", trial.outcome != "too_slow", relative, trial.outcome, trial.at)

    return sorted(trials, key=order)  # pyright: ignore[reportArgumentType]


def _verdicts(store: Store) -> dict[int, LastVerdict]:
    found: dict[int, LastVerdict] = {}
    for row in store.read("SELECT * FROM verdicts ORDER BY at, uid"):
        chosen = None if row["assignment"] is None else stored(row["assignment"], assignment_of)
        comparison = stored(row["comparison"], comparison_from_json)
        found[row["study_id"]] = LastVerdict(chosen, comparison, row["at"])
    return found
