"""The queries of commands.

Failures grouped by their cause: what a fuzzer of the compiler would report.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from iree_tuner.measure.statistics import Comparison
from iree_tuner.ops.workload import Workload
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.causes import StoreError, cause_of, store_errors, stored, stored_json
from iree_tuner.store.rows import assignment_of, comparison_from_json, trial_from_row
from iree_tuner.store.store import Store
from iree_tuner.store.trial import StudyKey, Trial, from_json

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
    """A stored verdict; the assignment is None for the default compared with itself."""

    assignment: Assignment | None
    comparison: Comparison
    at: float


@dataclass(frozen=True)
class StudySummary:
    """A study and its results so far."""

    number: int  # the study's number in this database
    key: StudyKey
    # number of assignments by the outcome of their newest trial
    outcomes: dict[str, int] = field(default_factory=dict[str, int])
    best: Trial | None = None  # the fastest, relative to the default; None when none ran
    verdict: LastVerdict | None = None  # the last comparison; None when there was none
    last_run: float = 0.0  # when a trial last ended, in seconds since 1970
    program: str = ""  # what was tuned then


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
    verdicts: dict[int, LastVerdict] = {}
    for row in store.read("SELECT * FROM verdicts ORDER BY at, uid"):
        chosen = None if row["assignment"] is None else stored(row["assignment"], assignment_of)
        comparison = stored(row["comparison"], comparison_from_json)
        verdicts[row["study_id"]] = LastVerdict(chosen, comparison, row["at"])
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
    """Numbers of the studies with this number, or with this name or key of a workload. Raises StoreError."""
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


# Trials that are no longer wanted.


@dataclass(frozen=True)
class Unwanted:
    """The trials to delete: those that fit all given conditions."""

    older_than_s: float | None = None  # age since the trial ended
    outcome: str | None = None
    compiler: str | None = None
    studies: tuple[int, ...] | None = None  # numbers of studies


def unwanted(store: Store, choice: Unwanted) -> list[int]:
    """Numbers of the trials that fit."""
    chosen = set(choice.studies or ())
    found: list[int] = []
    for row in store.read("SELECT id, key FROM studies"):
        if choice.studies is not None and row["id"] not in chosen:
            continue
        if choice.compiler in (None, stored_json(row["key"])["setting"]["compiler"]):
            query, values = "SELECT id FROM trials WHERE study_id = ?", [row["id"]]
            if choice.outcome is not None:
                query, values = f"{query} AND outcome = ?", [*values, choice.outcome]
            if choice.older_than_s is not None:
                query, values = f"{query} AND at < ?", [*values, time.time() - choice.older_than_s]
            found.extend(trial["id"] for trial in store.read(query, values))
    return found


def prune(store: Store, trials: list[int]) -> None:
    """Delete trials, then runs (with their findings), studies and verdicts without any; return the space.

    Data of a run that has not ended stays, because the run may be going on.
    """
    with store.write() as connection:
        connection.execute("CREATE TEMP TABLE touched (study INTEGER, run INTEGER, running INTEGER)")
        for number in trials:
            connection.execute(
                "INSERT INTO touched SELECT DISTINCT study_id, run_id, state = 'running' "
                "FROM trials JOIN runs ON runs.id = run_id WHERE trials.id = ?",
                (number,),
            )
        connection.executemany("DELETE FROM trials WHERE id = ?", [(number,) for number in trials])
        # A run that found all its trials in earlier ones has verdicts only.
        connection.execute(
            "INSERT INTO touched SELECT DISTINCT study_id, run_id, state = 'running' "
            "FROM verdicts JOIN runs ON runs.id = run_id WHERE study_id IN (SELECT study FROM touched)"
        )
        empty = (
            "IN (SELECT study FROM touched GROUP BY study HAVING max(running) = 0) "
            "AND NOT EXISTS (SELECT 1 FROM trials WHERE study_id = {0})"
        )
        connection.execute("DELETE FROM verdicts WHERE study_id " + empty.format("verdicts.study_id"))
        connection.execute("DELETE FROM studies WHERE id " + empty.format("studies.id"))
        left = (
            "IN (SELECT run FROM touched WHERE NOT running) "
            "AND NOT EXISTS (SELECT 1 FROM trials WHERE run_id = {0}) "
            "AND NOT EXISTS (SELECT 1 FROM verdicts WHERE run_id = {0})"
        )
        connection.execute("DELETE FROM findings WHERE run_id " + left.format("findings.run_id"))
        connection.execute("DELETE FROM runs WHERE id " + left.format("runs.id"))
        connection.execute("DROP TABLE touched")
    with store_errors(store.path):
        store.connection.execute("VACUUM")


# Results for similar workloads: the same op and types, in sizes that are near.


_OTHER_TARGET = 4.0  # up to sizes that differ by a factor of 16
_OTHER_PROCESSOR = 1.0
_OTHER_RELEASE = 0.25


@dataclass(frozen=True)
class Relative:
    """A study of a similar workload."""

    key: StudyKey  # what was measured
    distance: float  # how different it is; 0 for the same workload under the same setting
    best: tuple[Trial, ...]  # its best trials, the fastest first, one for each executable


def relatives(store: Store, key: StudyKey, studies: int, trials: int) -> list[Relative]:
    """The nearest studies that have something better than the default, at most `studies` of them.

    Studies with the key's own digest are left out: a run uses their trials as its own.
    """
    found = [
        (distance, other, number)
        for number, other in _keys(store).items()
        if other.digest != key.digest and (distance := _distance(key, other)) is not None
    ]
    nearest: list[Relative] = []
    for distance, other, number in sorted(found, key=lambda each: (each[0], each[1].digest)):
        best = _best(store, number, trials)
        if best:
            nearest.append(Relative(other, distance, best))
        if len(nearest) == studies:
            break
    return nearest


def _keys(store: Store) -> dict[int, StudyKey]:
    return {row["id"]: stored(row["key"], from_json) for row in store.read("SELECT id, key FROM studies")}


def _distance(key: StudyKey, other: StudyKey) -> float | None:
    """None for another kind of workload, or a space with other knobs."""
    if other.space_label != key.space_label or _kind(other.workload) != _kind(key.workload):
        return None
    pairs = zip(key.workload.loops, other.workload.loops, strict=True)
    sizes = sum(abs(math.log2(max(1, one) / max(1, two))) for one, two in pairs)
    here, there = key.setting, other.setting
    return (
        sizes
        + _OTHER_TARGET * (here.target != there.target or here.device != there.device)
        + _OTHER_PROCESSOR * (here.processor != there.processor)
        + _OTHER_RELEASE * (here.compiler != there.compiler)
    )


def _kind(workload: Workload) -> Workload:
    """The workload without its sizes."""
    loops = tuple(0 for _ in workload.loops)
    companions = tuple(replace(each, loops=tuple(0 for _ in each.loops)) for each in workload.companions)
    return replace(workload, loops=loops, companions=companions, dag="", dynamic=())


def _best(store: Store, number: int, count: int) -> tuple[Trial, ...]:
    ran = [trial for trial in store.trials(number).values() if trial.outcome == "ok" and trial.score < 1.0]
    distinct: dict[str, Trial] = {}
    for trial in sorted(ran, key=lambda each: (each.score, each.assignment.items_)):
        distinct.setdefault(trial.digest or str(trial.assignment), trial)
    return tuple(distinct.values())[:count]


@dataclass(frozen=True)
class FailureGroup:
    """Trials that failed for one reason."""

    outcome: str  # how they ended
    cause: str  # what they have in common
    count: int  # how many assignments
    studies: int  # in how many studies
    message: str  # what the newest one said
    reproducer: str  # folder that shows the newest one that has such a folder; empty when none has
    kernel: str = ""  # name of the external kernel that failed; empty where the compiler's own code did

    @property
    def named_cause(self) -> str:
        """The cause, with the kernel that it is of."""
        return f"{self.kernel}: {self.cause}" if self.kernel else self.cause


def failures(store: Store) -> list[FailureGroup]:
    """Failures by cause, the most frequent first.

    Failures of an external kernel are its own: they say nothing about the compiler or other kernels.
    """
    kernels = {number: key.kernel for number, key in _keys(store).items()}
    query = NEWEST + (
        "SELECT study_id, outcome, message, reproducer FROM newest "
        "WHERE outcome NOT IN ('ok', 'too_slow') ORDER BY at DESC, id DESC"
    )
    return group_failures(
        (row["outcome"], row["message"], row["reproducer"], kernels[row["study_id"]], row["study_id"])
        for row in store.read(query)
    )


def group_failures(failed: Iterable[tuple[str, str, str, str, object]]) -> list[FailureGroup]:
    """Group failures, the newest first, each with outcome, message, reproducer, kernel and study."""
    groups: dict[tuple[str, str, str], FailureGroup] = {}
    studies: dict[tuple[str, str, str], set[object]] = {}
    for outcome, message, reproducer, kernel, study in failed:
        group = (outcome, cause_of(outcome, message), kernel)
        studies.setdefault(group, set()).add(study)
        known = groups.get(group) or FailureGroup(*group[:2], 0, 0, message, "", kernel)
        groups[group] = replace(
            known, count=known.count + 1, studies=len(studies[group]),
            reproducer=known.reproducer or reproducer,
        )  # fmt: skip
    return sorted(groups.values(), key=lambda each: (-each.count, each.outcome, each.named_cause))
