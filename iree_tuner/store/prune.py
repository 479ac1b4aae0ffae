"""Trials that are no longer wanted."""

from __future__ import annotations

import time
from dataclasses import dataclass

from iree_tuner.store.failure import store_errors, stored_json
from iree_tuner.store.store import Store


@dataclass(frozen=True)
class Unwanted:
    """Which trials to delete: the ones that fit all given conditions.

    Attributes:
        older_than_s: age since the trial ended.
        outcome: how it ended.
        compiler: release of the compiler.
        studies: numbers of studies.
    """

    older_than_s: float | None = None
    outcome: str | None = None
    compiler: str | None = None
    studies: tuple[int, ...] | None = None


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
    """Delete trials, then runs, with their findings, studies and verdicts without any; return the space.

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
