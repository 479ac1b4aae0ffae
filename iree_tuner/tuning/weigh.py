"""Where the time goes: every task's default, built and timed, and what there is to search."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from iree_tuner.build.candidate import Built
from iree_tuner.errors import TunerError
from iree_tuner.program.dispatch import Harness
from iree_tuner.space.build import build_space
from iree_tuner.space.space import Space
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.task import Task


@dataclass(frozen=True)
class Weighed:
    """A task with its default.

    Attributes:
        task: the workload and its dispatches.
        harness: of the dispatch that stands for the task, the one called most.
        default: the compiler's own choice, built.
        default_us: its time, in microseconds a run; 0 when it does not run.
        space: what can be tried; None when there is nothing, with the reason in `note`.
        share: part of the time of all tasks, from 0 to 1.
        note: why there is nothing to try.
    """

    task: Task
    harness: Harness
    default: Built
    default_us: float
    space: Space | None
    share: float = 0.0
    note: str = ""


def weigh(tasks: Sequence[Task], lab: Lab, stop: StopRequest) -> list[Weighed]:
    """Build and time all defaults, or those until a request to stop; largest share first."""
    weighed = (_weigh_one(task, lab) for task in tasks)
    found = list(itertools.takewhile(lambda _: not stop.requested, weighed))
    total = sum(item.default_us * item.task.calls for item in found) or 1.0
    shared = [
        Weighed(
            item.task, item.harness, item.default, item.default_us, item.space,
            item.default_us * item.task.calls / total, item.note,
        )
        for item in found
    ]  # fmt: skip
    return sorted(shared, key=lambda item: -item.share)


def _weigh_one(task: Task, lab: Lab) -> Weighed:
    dispatch = task.dispatches[0]
    harness = dispatch.harness
    assert harness is not None, "tasks hold only dispatches that can be run"
    default = lab.builder.build(harness, None)
    if default.outcome != "ok":
        note = f"the default ends in {default.outcome}: {default.message}"
        return Weighed(task, harness, default, 0.0, None, note=note)
    timed = lab.measurer.time(default.vmfb, harness)
    if timed.outcome != "ok":
        note = f"the default ends in {timed.outcome}: {timed.message}"
        return Weighed(task, harness, default, 0.0, None, note=note)
    default_us = min(timed.samples_us)
    try:
        space = build_space(task.workload, dispatch.limits, lab.context)
    except TunerError as error:
        return Weighed(task, harness, default, default_us, None, note=str(error))
    return Weighed(task, harness, default, default_us, space)
