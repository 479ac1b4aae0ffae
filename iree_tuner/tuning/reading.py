"""A program's tasks, read while the workers start; and where its time goes."""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.errors import TunerError
from iree_tuner.profiling.profile import Profile
from iree_tuner.profiling.run import Tools, profile_program
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.tuning.baseline import Task, make_tasks
from iree_tuner.tuning.budget import Budget
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Observer
from iree_tuner.tuning.plan import TuningPlan

_ROUNDS, _FEW_ROUNDS = 6, 2  # of whole and profiled invocations


class NothingToTuneError(TunerError):
    """A program without dispatches that can be tuned; the message says why."""


def read_tasks(program: Program, lab: Lab, watch: Observer, functions: Sequence[str] = ()) -> list[Task]:
    """The workloads of a program, or of some of its functions; see `read_dispatches`."""
    return read_dispatches(program, lab, watch, functions)[1]


def read_dispatches(
    program: Program, lab: Lab, watch: Observer, functions: Sequence[str] = ()
) -> tuple[Sequence[Dispatch], list[Task]]:
    """A program's dispatches, and what of them can be tuned, read while the workers start.

    Raises:
        NothingToTuneError: it has nothing that can be tuned.
        TunerError: it cannot be compiled.
    """
    lab.start()
    extraction = extract(program, lab.target, lab.compilers, functions)
    tasks = make_tasks(extraction.dispatches)
    watch.extracted(extraction, tasks)
    if not tasks:
        message = f"the program has no dispatches that can be tuned: {_why_none(extraction.dispatches)}"
        raise NothingToTuneError(message, location=program.name)
    return extraction.dispatches, tasks


def _why_none(dispatches: Sequence[Dispatch]) -> str:
    """Why none of a program's dispatches can be tuned."""
    reasons = dict.fromkeys(each.reason for each in dispatches if each.reason)
    if dispatches and not reasons:
        return "they run only while the program is loaded, or in functions that are not called"
    return "; ".join(reasons) or "the compiler makes no dispatches of it"


def profile_of(
    program: Program, vmfb: bytes, dispatches: Sequence[Dispatch], lab: Lab, plan: TuningPlan,
    budget: Budget, watch: Observer,
) -> tuple[Profile | None, str]:  # fmt: skip
    """Where a compiled program's time goes; None, and why, where that cannot be found out."""
    watch.working("profiling the program")
    start = budget.timeline.clock()
    known = plan.rooflines is not None and plan.rooflines.exists()
    try:
        found = profile_program(
            program, lab.target, run=plan.run, dispatches=dispatches, vmfb=vmfb, cache=plan.rooflines,
            rounds=_FEW_ROUNDS if budget.limited or not plan.profiled else _ROUNDS,
            with_roofline=known or (plan.profiled and not budget.is_short),
            tools=Tools(lab.compilers, lab.builder, lab.measurer, lab.cold),
        )  # fmt: skip
    except TunerError as error:
        return None, f"the program was not profiled: {error}"
    budget.measured.profile_s = budget.timeline.clock() - start
    return found, "; ".join(found.notes)
