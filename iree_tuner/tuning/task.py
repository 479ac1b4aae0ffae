"""Tasks: the workloads of a program, each with the dispatches that share it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iree_tuner.ops.workload import Workload
from iree_tuner.program.dispatch import Dispatch


@dataclass(frozen=True)
class Task:
    """A workload to tune once. `dispatches` are the ones that have it, the most called first."""

    workload: Workload
    dispatches: tuple[Dispatch, ...]

    @property
    def calls(self) -> int:
        """How often the program runs this workload."""
        return sum(dispatch.calls.count for dispatch in self.dispatches)


def make_tasks(dispatches: Sequence[Dispatch]) -> list[Task]:
    """Group what can be tuned by workload, without what runs only while a program is loaded."""
    groups: dict[Workload, list[Dispatch]] = {}
    for dispatch in dispatches:
        if dispatch.tunable and dispatch.workload is not None and dispatch.calls.count:
            groups.setdefault(dispatch.workload, []).append(dispatch)
    return [
        Task(workload, tuple(sorted(group, key=lambda dispatch: -dispatch.calls.count)))
        for workload, group in groups.items()
    ]
