"""Reproducers for the failed trials of one search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from iree_tuner.compiler.versions import installed
from iree_tuner.program.bindings import Harness
from iree_tuner.space.configuration import Assignment, Configuration
from iree_tuner.store.reproducer import FailedCandidate, write_reproducer
from iree_tuner.store.trial import Trial
from iree_tuner.targets import Target


@dataclass(frozen=True)
class Reproducing:
    """Called with each failed trial; where its reproducer is, empty where none is wanted or could be written.

    Attributes:
        folder: of all reproducers; None for none.
        workload: name of the workload, for people.
        harness: what was compiled.
        target: the target of the code.
        configure: what an assignment stands for.
    """

    folder: Path | None
    workload: str
    harness: Harness
    target: Target
    configure: Callable[[Assignment], Configuration]

    def __call__(self, trial: Trial) -> str:
        """Write the reproducer."""
        if self.folder is None:
            return ""
        failure = FailedCandidate(
            workload=self.workload,
            harness=self.harness,
            configuration=self.configure(trial.assignment),
            flags=self.target.flags,
            outcome=trial.outcome,
            message=trial.message,
            device=trial.device or self.target.device or "",
            versions=installed(),
        )
        path, _ = write_reproducer(self.folder, failure)
        return path
