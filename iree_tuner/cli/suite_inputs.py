"""Runs of the suite on the command line: a folder of results, or a run in a history."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from iree_tuner.errors import TunerError, UsageError
from iree_tuner.suite.history import History, read_history, run_named
from iree_tuner.suite.results import Results, read_results

_HINT = "give a folder of results, or HISTORY.jsonl@RUN: id, beginning of a commit, first or last"


@dataclass(frozen=True)
class Named:
    """A run, and its history. The history is None for a folder."""

    results: Results
    history: History | None = None


def run_named_as(name: str) -> Named:
    """Load a run. Raises TunerError for a missing or empty run, and UsageError for an incomplete name."""
    path = Path(name)
    if path.is_dir():
        found = Named(read_results(path))
        if not found.results.rows:
            raise TunerError("the run has no rows yet", location=name)
        return found
    if path.is_file():
        raise UsageError(f"{name}: name a run of this history", hint=_HINT)
    file, at, run = name.rpartition("@")
    if not at or not Path(file).is_file():
        raise TunerError("there are no results of that name", location=name, hint=_HINT)
    history = read_history(Path(file))
    return Named(run_named(history, run), history)
