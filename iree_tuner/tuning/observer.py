"""Who watches a run: the command line's progress, a journal, a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from iree_tuner.execute.statistics import Comparison
from iree_tuner.execute.trial import Trial
from iree_tuner.program.extract import Extraction
from iree_tuner.tuning.result import WorkloadResult
from iree_tuner.tuning.task import Task


@dataclass(frozen=True)
class SearchStanding:
    """How a workload's search stands.

    Attributes:
        task: the workload and its dispatches.
        share: part of the program's time.
        tried: candidates so far.
        best: the best score so far, at most 1.
        gain_us: microseconds of an invocation that the best would save.
        open: whether there is more to try.
    """

    task: Task
    share: float
    tried: int
    best: float
    gain_us: float
    open: bool


class Observer(Protocol):
    """Called as things happen, from the thread that tunes. Must not raise."""

    def extracted(self, extraction: Extraction, tasks: Sequence[Task]) -> None:
        """The program's dispatches are known."""
        ...

    def working(self, what: str) -> None:
        """Something begins that takes a while and is no search."""
        ...

    def noted(self, message: str) -> None:
        """Something was found out on the way."""
        ...

    def started(self, task: Task, share: float, trials: int) -> None:
        """Search begins on a task, or goes on, with at most so many trials in all."""
        ...

    def standing(self, standings: Sequence[SearchStanding]) -> None:
        """How all searches stand."""
        ...

    def tried(self, task: Task, trials: Sequence[Trial], best: Trial | None) -> None:
        """A round of candidates is done; `best` is the best of all rounds."""
        ...

    def finished(self, result: WorkloadResult) -> None:
        """A task has its verdict."""
        ...

    def compared(self, what: str, comparison: Comparison) -> None:
        """The whole program was compared, with `what` and without."""
        ...

    def stopping(self) -> None:
        """A signal asks the run to end. Called within its handler: do no more than write a line."""
        ...


class Silent:
    """Watches nothing."""

    def extracted(self, extraction: Extraction, tasks: Sequence[Task]) -> None:
        """Ignored."""

    def working(self, what: str) -> None:
        """Ignored."""

    def noted(self, message: str) -> None:
        """Ignored."""

    def started(self, task: Task, share: float, trials: int) -> None:
        """Ignored."""

    def standing(self, standings: Sequence[SearchStanding]) -> None:
        """Ignored."""

    def tried(self, task: Task, trials: Sequence[Trial], best: Trial | None) -> None:
        """Ignored."""

    def finished(self, result: WorkloadResult) -> None:
        """Ignored."""

    def compared(self, what: str, comparison: Comparison) -> None:
        """Ignored."""

    def stopping(self) -> None:
        """Ignored."""
