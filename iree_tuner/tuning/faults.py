"""Dispatches that are wrong in their program, each compared on the values that it gets there.

`begin_entry_check` says whether the entries of a spec are right where the program uses them, and `blame`
which dispatches make a version of the program compute something else.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from iree_tuner.check.parts import DispatchFault, Fault, JudgedDispatches, Pieces, judge_here
from iree_tuner.check.trace import follow_here
from iree_tuner.compiler.worker import SentPath
from iree_tuner.device.program_inputs import argument_of, why_not_called
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.errors import TunerError
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.entries import Taken
from iree_tuner.program.parts import Parts, take_apart
from iree_tuner.program.source import Program
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.targets import Target
from iree_tuner.tuning.baseline import tolerance_of
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.versions import ProgramVersion, ProgramVersions, with_entries

_COVERED = "only the comparison of the whole program covers them"
_TIMEOUT_S = 600.0
_NOT_REACHED = "the first pass with generated inputs does not lead there"

Asked = tuple[Program, Target, frozenset[str] | None]
"""A program, what it is compiled for, and the dispatches that are wanted; all of them without."""


@dataclass(frozen=True)
class Soundness:
    """The findings about entries in their program."""

    wrong: Mapping[SpecEntry, DispatchFault]  # entries with wrong results, and the fault of each
    judged: JudgedDispatches
    uncompared: tuple[str, ...] = ()  # configured dispatches that could not be compared
    reason: str = ""  # why they could not
    run: ProgramRun = field(default_factory=ProgramRun)  # how the program was run
    covered: bool = True  # whether the comparison of the whole program covers these

    @property
    def notes(self) -> tuple[str, ...]:
        blamed = self.run.blamed
        found = [
            f"left out, because {blamed(f'{fault.dispatch} computes wrong results with it')}: "
            f"{entry.workload.name}: {fault.message}"
            for entry, fault in self.wrong.items()
        ]
        found += [
            blamed(f"by default, {fault.dispatch} reads uninitialized memory: {fault.message}")
            for fault in self.judged.own
        ]
        if self.uncompared:
            names, covered = ", ".join(self.uncompared), f"; {_COVERED}" if self.covered else ""
            found.append(f"not compared in the program: {names} ({self.reason}){covered}")
        if self.judged.overflown:
            names = ", ".join(self.judged.overflown)
            found.append(f"with generated inputs, results are infinite or NaN in {names}")
        return tuple(found)


def begin_entry_check(
    entries: Sequence[SpecEntry], program: Program, run: ProgramRun, dispatches: Sequence[Dispatch], lab: Lab
) -> Callable[[float, bool], Soundness]:
    """Begin to compare each dispatch that entries configure with the compiler's own code, on equal inputs.

    The functions of `run` are taken apart. The function that is returned waits for the findings, within
    `seconds` and for `narrow` floats as `judge_here` has it. It raises TunerError if the program cannot be
    taken apart, or does not run, and WorkerError if it died or did not come back.
    """
    # For the exports of dispatches that entries configure, these entries.
    names = {
        each.name: own
        for each in dispatches
        if (own := [entry for entry in entries if entry.workload == each.workload])
    }
    asked: list[Asked] = [(program, lab.target, None)]
    if names:
        asked.append((with_entries(program, entries, lab.context), lab.target, frozenset(names)))
    begun = begin_parts(asked, run, lab)
    loading = [lab.loader.load_ahead(each, lambda parts: parts.vmfb) for each in begun if lab.loader]

    def found(seconds: float, narrow: bool) -> Soundness:
        with in_parts(begun, lab) as pieces:
            wait(loading)  # both at once, which takes as long as one
            measurer = lab.measurer
            judged = measurer.workers.call(
                judge_here, pieces[0], pieces[1] if names else None, measurer.device, run,
                sums_of(dispatches), seconds, narrow=narrow, timeout_s=_TIMEOUT_S,
            )  # fmt: skip
        wrong: dict[SpecEntry, DispatchFault] = {}
        for fault in judged.faults:
            for entry in names.get(fault.dispatch, ()):
                wrong.setdefault(entry, fault)
        compared = set(judged.compared)
        parts = pieces[0].parts
        missing = _missing(parts, run)
        reason = missing or "; ".join(parts.left_out) or _NOT_REACHED
        uncompared = tuple(name for name in names if name not in compared)
        return Soundness(wrong, judged, uncompared, reason, run, covered=not missing)

    return found


def not_checked(error: TunerError) -> str:
    """The note about a program that cannot be taken apart."""
    return f"dispatches in the program: not checked: {error}; {_COVERED}"


def _missing(parts: Parts, run: ProgramRun) -> str:
    """Why an input cannot be generated; empty if all can."""
    for (name, number), value in zip(parts.takes, parts.values, strict=False):
        given = run.input(number) if name == parts.takes[0][0] else None
        argument = argument_of(run, name, number, Taken(value.element_type, value.shape), given)
        if reason := argument.why_no_value(run.missing):
            return reason
    return ""


def sums_of(dispatches: Sequence[Dispatch]) -> Mapping[str, Tolerance]:
    """The sums of each dispatch, by its export."""
    return {each.name: tolerance_of(each.workload) for each in dispatches if each.workload is not None}


def begin_parts(asked: Sequence[Asked], run: ProgramRun, lab: Lab) -> list[Future[Parts]]:
    """Have programs taken apart, all at once: the functions that are run."""
    functions = functions_run(run)
    return [
        lab.compilers.submit(take_apart, program.data, program.name, target, functions, only)
        for program, target, only in asked
    ]


def functions_run(run: ProgramRun) -> tuple[str, ...]:
    """The functions whose inputs can be made, in their order; empty if the program does not say."""
    if run.functions:
        return run.functions
    found: list[str] = []
    for entry in run.entries:
        given = () if found else run.inputs
        if not why_not_called(entry, run, given):
            found.append(entry.name)
    return tuple(found)


@contextmanager
def in_parts(begun: Sequence[Future[Parts]], lab: Lab) -> Generator[list[Pieces]]:
    """Programs that were taken apart, as files."""
    made = [lab.compilers.wait(each) for each in begun]
    lab.settle()
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        pieces: list[Pieces] = []
        for number, parts in enumerate(made):
            path = Path(folder) / f"{number}.vmfb"
            path.write_bytes(parts.vmfb)
            pieces.append(Pieces(SentPath(path), replace(parts, vmfb=b"")))
        yield pieces


_WORDS: dict[Fault, str] = {
    "wrong": "computes wrong results",
    "unwritten": "reads uninitialized memory",
    "fails": "does not run",
}


@dataclass(frozen=True)
class Blame:
    """The faults of a version."""

    version: ProgramVersion
    findings: tuple[DispatchFault, ...] = ()  # faults of its dispatches, in order
    problem: str = ""  # why there are no findings
    run: ProgramRun = field(default_factory=ProgramRun)  # how it was run

    @property
    def note(self) -> str:
        if self.problem:
            return f"{self.version.what}: its dispatches were not compared: {self.problem}"
        if not self.findings:
            return f"{self.version.what}: each of its dispatches is correct alone"
        faults = (f"{each.dispatch} {_WORDS[each.fault]}: {each.message}" for each in self.findings)
        return f"{self.version.what}: {self.run.blamed('; '.join(faults))}"


def blame(
    version: ProgramVersion, given: Target, versions: ProgramVersions, program: Program, run: ProgramRun,
    dispatches: Sequence[Dispatch], lab: Lab, seconds: float,
) -> Blame:  # fmt: skip
    """Find where a version begins to differ from the program as the compiler makes it.

    Args:
        version: whose results are wrong.
        given: the target of the correct version.
        versions: of the program.
        program, run: the program and how it is run; the run's functions are followed.
        dispatches: of the program.
        lab: where it is compiled and run.
        seconds: see `follow_here`.
    """
    try:
        other = versions.applied(version)
        begun = begin_parts([(program, given, None), (other.program, other.target, None)], run, lab)
        with in_parts(begun, lab) as pieces:
            measurer = lab.measurer
            findings = measurer.workers.call(
                follow_here, *pieces, measurer.device, run, sums_of(dispatches), seconds,
                timeout_s=_TIMEOUT_S,
            )  # fmt: skip
    except TunerError as error:
        return Blame(version, problem=str(error))
    return Blame(version, findings, run=run)
