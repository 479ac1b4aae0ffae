"""A program under one choice of flags: what can be tuned, and where its time goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from iree_tuner.errors import TunerError
from iree_tuner.profiling.profile import Profile
from iree_tuner.profiling.roofline import Roofline
from iree_tuner.profiling.run import Tools, profile_program
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.tuning.baseline import Task, make_tasks
from iree_tuner.tuning.flags import untuned
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Observer
from iree_tuner.tuning.run import Run
from iree_tuner.tuning.versions import Change, ProgramVersion

_ROUNDS, _FEW_ROUNDS = 6, 2  # of whole and profiled invocations
_PROFILE_S, _PROFILE_RUNS = 4.0, 50.0  # of a 1B step on a CPU it was 58 runs, of an 8B step on a GPU 36
_BASELINE_S, _BASELINE_BESIDE_S = 0.5, 0.2  # of one, alone and where others compile meanwhile


_NO_PROFILE = "the program was not profiled"


class NothingToTuneError(TunerError):
    """A program without dispatches that can be tuned; the message says why."""


@dataclass(frozen=True)
class ReadProgram:
    """A program under a choice of flags."""

    program: Program  # with the changes of the choice
    version: ProgramVersion  # the choice
    lab: Lab  # with the target of these flags
    dispatches: Sequence[Dispatch]
    tasks: Sequence[Task]  # what can be tuned
    # further workloads, which only other kinds of candidates compute (`Run.competing`), each with the
    # program's time for it, in microseconds an invocation
    extra: Sequence[tuple[Task, float]] = ()
    profile: Profile | None = None  # where the time goes; None where it was not looked at

    @property
    def roofline(self) -> Roofline | None:
        """The device's, where it is known."""
        return self.profile.roofline if self.profile else None

    @property
    def weights_us(self) -> Mapping[str, float]:
        """The program's time for each workload, by its key, in microseconds per invocation."""
        if self.profile is None:
            return {}
        return {each.workload: each.time_us for each in self.profile.by_workload() if each.workload}


def read_tasks(program: Program, lab: Lab, watch: Observer) -> Sequence[Task]:
    """The workloads of a program; see `read_program`."""
    return read_program(program, untuned(lab.target), lab, watch).tasks


def read_program(
    program: Program, version: ProgramVersion, lab: Lab, watch: Observer, functions: Sequence[str] = ()
) -> ReadProgram:
    """A program's dispatches, and the tasks to tune, read while the workers start.

    `version` is what the program and the lab's target were made of.

    Raises:
        NothingToTuneError: it has nothing that can be tuned.
        TunerError: it cannot be compiled.
    """
    lab.start()
    extraction = extract(program, lab.target, lab.compilers, functions)
    tasks = make_tasks(extraction.dispatches)
    flags = f" with {version.what}" if version.changes else ""
    watch.extracted(f"{program.name} on {lab.target.device}{flags}", extraction, tasks)
    if not tasks:
        message = f"the program has no dispatches that can be tuned: {_why_none(extraction.dispatches)}"
        raise NothingToTuneError(message, location=program.name)
    return ReadProgram(program, version, lab, extraction.dispatches, tasks)


def _why_none(dispatches: Sequence[Dispatch]) -> str:
    reasons = dict.fromkeys(each.reason for each in dispatches if each.reason)
    if dispatches and not reasons:
        return "they run only while the program is loaded, or in functions that are not called"
    return "; ".join(reasons) or "the compiler makes no dispatches of it"


def with_profile(run: Run, read: ReadProgram) -> ReadProgram:
    """The program with a profile, if there is time for one."""
    if read.profile is not None:
        return read
    measured = run.budget.measured
    predicted_s = measured.profile_s or max(_PROFILE_S, _PROFILE_RUNS * measured.invocation_s)
    # Of many workloads few are searched: a profile says which, and only their baselines are measured.
    baselines_s = len(read.tasks) * (_BASELINE_S if run.lab.alternate else _BASELINE_BESIDE_S)
    many = baselines_s > predicted_s
    wanted = run.profiled or (many and run.options.profile is None)
    if not wanted or run.options.self_test or run.stop.requested:
        return read
    if not run.budget.profile_fits(predicted_s, baselines_s):
        if run.profiled:
            run.watch.noted(f"{_NO_PROFILE}: it would take {predicted_s:.0f} s of the budget")
        return read
    profile, problem = None, ""
    with run.timeline.stage("profile"), run.at_once():
        try:
            vmfb = run.versions.vmfb(read.version)
        except TunerError as error:
            run.watch.noted(f"{_NO_PROFILE}: {error}")
            return read
        profile, problem = profile_of(run, read, vmfb)
    if problem:
        run.watch.noted(problem)
    return replace(read, profile=profile)


def profile_of(
    run: Run, read: ReadProgram, vmfb: bytes, changes: Sequence[Change] = ()
) -> tuple[Profile | None, str]:
    """The profile of a compiled program, which may have changes, or None and why."""
    run.watch.working("profiling the program")
    replaced = dict[str, Sequence[str]]()  # by the code that is called instead
    for each in changes:
        code = each.how.split(" ")[0]
        replaced[code] = (*replaced.get(code, ()), *each.dispatches)
    lab, budget, start = read.lab, run.budget, run.timeline.clock()
    known = run.rooflines is not None and run.rooflines.exists()
    try:
        found = profile_program(
            read.program, lab.target, run=run.how, dispatches=read.dispatches, vmfb=vmfb, cache=run.rooflines,
            rounds=_FEW_ROUNDS if budget.limited or not run.profiled else _ROUNDS,
            with_roofline=known or (run.profiled and not budget.is_short),
            tools=Tools(lab.compilers, lab.builder, lab.measurer, lab.cold),
            method="hal" if changes else None, replaced=replaced or None,
        )  # fmt: skip
    except TunerError as error:
        return None, f"{_NO_PROFILE}: {error}"
    budget.measured.profile_s = run.timeline.clock() - start
    return found, "; ".join(found.notes)
