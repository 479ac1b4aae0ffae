"""Who watches a run: the command line's progress, a journal, a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from iree_tuner.measure.statistics import Comparison
from iree_tuner.measure.trial import Trial
from iree_tuner.program.extract import Extraction
from iree_tuner.tuning.result import WorkloadResult
from iree_tuner.tuning.task import Task


class Observer(Protocol):
    """Called as things happen, from the thread that tunes. Must not raise."""

    def extracted(self, extraction: Extraction, tasks: Sequence[Task]) -> None:
        """The program's dispatches are known."""
        ...

    def started(self, task: Task, share: float, trials: int) -> None:
        """Search begins on a task, with at most so many trials."""
        ...

    def tried(self, task: Task, trials: Sequence[Trial], best: Trial | None) -> None:
        """A round of candidates is done; `best` is the best of all rounds."""
        ...

    def finished(self, result: WorkloadResult) -> None:
        """A task has its verdict."""
        ...

    def compared(self, comparison: Comparison) -> None:
        """The whole program was compared with and without the spec."""
        ...


class Silent:
    """Watches nothing."""

    def extracted(self, extraction: Extraction, tasks: Sequence[Task]) -> None:
        """Ignored."""

    def started(self, task: Task, share: float, trials: int) -> None:
        """Ignored."""

    def tried(self, task: Task, trials: Sequence[Trial], best: Trial | None) -> None:
        """Ignored."""

    def finished(self, result: WorkloadResult) -> None:
        """Ignored."""

    def compared(self, comparison: Comparison) -> None:
        """Ignored."""
