"""Progress of a tuning run on standard error: live on a terminal, otherwise one line per workload."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from iree_tuner.measure.statistics import Comparison, speedup_of, times_of
from iree_tuner.program.extract import Extraction
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.baseline import Task
from iree_tuner.tuning.observer import Observer, SearchStanding, Silent
from iree_tuner.tuning.result import WorkloadResult

_SHOWN = 12
"""Number of searches in the live table."""

_LARGE = 0.01
"""A workload with a larger share of the time is reported even if it was not searched."""


def tell_stopping() -> None:
    """Answer Ctrl-C.

    This runs in a signal handler, and must not use anything that it may have interrupted.
    """
    message = "stopping: results so far, if there are any, are written; press Ctrl-C again to exit at once"
    os.write(2, f"\n{message}\n".encode())


class Progress:
    """An observer that prints the progress of a run, by default on standard error."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._status: Live | None = None
        self._tried: Counter[str] = Counter()
        self._standings: Sequence[SearchStanding] = ()

    def __enter__(self) -> Self:
        self.working("reading the program")
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def extracted(self, what: str, extraction: Extraction, tasks: Sequence[Task]) -> None:
        for diagnostic in extraction.diagnostics:
            self._console.print(str(diagnostic), style="yellow", markup=False)
        dispatches, workloads = len(extraction.dispatches), len(tasks)
        found = f"{dispatches} dispatch{'es' * (dispatches != 1)}"
        found = f"{what}: {found}, {workloads} workload{'s' * (workloads != 1)} to tune"
        self._console.print(found, markup=False)
        self._tried.clear()  # these are of other flags
        self.working("measuring the baselines")

    def working(self, what: str) -> None:
        if not (self._console.is_terminal or self._console.is_jupyter):
            return
        spinner = Group(*self._table(), Spinner("dots", Text(what)))
        if self._status is None:
            # Do not redirect standard output: results are printed there at the same time.
            self._status = Live(
                spinner, console=self._console, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._status.start()
        self._status.update(spinner)

    def noted(self, message: str) -> None:
        self._console.print(message, style="yellow", markup=False)

    def started(self, task: Task, share: float, trials: int) -> None:
        self.working(f"searching {task.workload.name} ({share:.0%} of the run time)")

    def standing(self, standings: Sequence[SearchStanding]) -> None:
        self._standings = standings

    def tried(self, task: Task, trials: Sequence[Trial], best: Trial | None) -> None:
        """Show the number of trials and the best speedup so far."""
        self._tried[task.workload.key] += len(trials)
        gain = f"best {1 / best.score:.2f}x" if best is not None else "none faster so far"
        self.working(f"{task.workload.name}: {self._tried[task.workload.key]} tried, {gain}")

    def finished(self, result: WorkloadResult) -> None:
        """Print a line for each workload that was searched, and for large workloads that were not."""
        if not result.trials and result.share < _LARGE:
            return
        told: list[str] = []
        if result.all_trials:
            told.append(f"{len(result.all_trials)} tried")
        if result.comparison is not None:
            told.append(f"{result.verdict}, {times_of(result.comparison)}")
        elif result.note:
            told.append(result.note)
        line = f"  {result.share:4.0%}  {result.task.workload.name}: {', '.join(told) or result.verdict}"
        self._console.print(line, markup=False)

    def compared(self, what: str, comparison: Comparison) -> None:
        """Print a comparison of two versions of the whole program."""
        self._console.print(f"program, {what}: {speedup_of(comparison)}", markup=False)

    def stopping(self) -> None:
        tell_stopping()

    def _table(self) -> Iterator[Table]:
        if len(self._standings) < 2:
            return
        table = Table("workload", "share", "tried", "best", "saves us", "", box=None)
        for each in sorted(self._standings, key=lambda one: -one.share)[:_SHOWN]:
            table.add_row(
                each.task.workload.name, f"{each.share:.1%}", str(each.tried), f"{1 / each.best:.2f}x",
                f"{each.gain_us:.0f}", "" if each.open else "done",
            )  # fmt: skip
        if len(self._standings) > _SHOWN:
            table.caption = f"and {len(self._standings) - _SHOWN} smaller workloads"
        yield table


@contextmanager
def watching(observer: Observer | None, *, shown: bool) -> Generator[Observer]:
    """The observer of a run; without one, progress on standard error if it is to be shown."""
    if observer is not None or not shown:
        yield observer or Silent()
        return
    with Progress() as progress:
        yield progress
