"""A program's tasks, read while the workers start."""

from __future__ import annotations

from iree_tuner.errors import TunerError
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Observer
from iree_tuner.tuning.task import Task, make_tasks


def read_tasks(program: Program, lab: Lab, watch: Observer) -> list[Task]:
    """What can be tuned in a program. Raises TunerError when it cannot be compiled, or has nothing."""
    lab.start()
    extraction = extract(program, lab.target, lab.compilers)
    tasks = make_tasks(extraction.dispatches)
    watch.extracted(extraction, tasks)
    if not tasks:
        raise TunerError("the program has no dispatches that can be tuned", location=program.name)
    return tasks
