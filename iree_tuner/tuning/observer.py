"""Observers of a run, such as the command line's progress display, a log, or a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from iree_tuner.measure.statistics import Comparison
from iree_tuner.program.extract import Extraction
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.baseline import Task
from iree_tuner.tuning.result import WorkloadResult


@dataclass(frozen=True)
class SearchStanding:
    """The state of a workload's search."""

    task: Task
    share: float  # the workload's share of the program's run time
    tried: int
    best: float  # the best score so far, at most 1
    gain_us: float  # the time per invocation that the best candidate would save, in microseconds
    open: bool  # whether there are more candidates to try


class Observer(Protocol):
    """Receives the events of a run, on the thread that tunes. Its methods must not raise."""

    def extracted(self, what: str, extraction: Extraction, tasks: Sequence[Task]) -> None:
        """The dispatches of a program, described by `what`, were extracted."""

    def working(self, what: str) -> None:
        """A step other than a search begins, described by `what`."""

    def noted(self, message: str) -> None:
        """The run has a note for the user."""

    def started(self, task: Task, share: float, trials: int) -> None:
        """The search of a task begins or continues, with at most `trials` trials in total."""

    def standing(self, standings: Sequence[SearchStanding]) -> None:
        """The state of all searches changed."""

    def tried(self, task: Task, trials: Sequence[Trial], best: Trial | None) -> None:
        """A batch of candidates was measured. `best` is the best of all batches."""

    def finished(self, result: WorkloadResult) -> None:
        """A task has a verdict."""

    def compared(self, what: str, comparison: Comparison) -> None:
        """Two versions of the whole program were compared: `what` is as `record.versus` says it."""

    def stopping(self) -> None:
        """A signal requests the end of the run. Called in the signal handler: only write a line."""


class Silent(Observer):
    """An observer that ignores all events."""
