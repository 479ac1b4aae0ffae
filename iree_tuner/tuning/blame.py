"""Find the dispatches that make a version of the program compute something else, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from iree_tuner.check.parts import DispatchFault, Fault
from iree_tuner.check.trace import follow_here
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.errors import TunerError
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.source import Program
from iree_tuner.targets import Target
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.sound import begin_parts, in_parts, sums_of
from iree_tuner.tuning.versions import ProgramVersion, with_entries

_TIMEOUT_S = 600.0

_WORDS: dict[Fault, str] = {
    "wrong": "computes wrong results",
    "unwritten": "reads uninitialized memory",
    "fails": "does not run",
}


@dataclass(frozen=True)
class Blame:
    """The faults of a version.

    Attributes:
        version: it.
        findings: its dispatches that are to blame, in order.
        problem: why nothing was found out.
        run: how it was run.
    """

    version: ProgramVersion
    findings: tuple[DispatchFault, ...] = ()
    problem: str = ""
    run: ProgramRun = field(default_factory=ProgramRun)

    @property
    def note(self) -> str:
        """In a sentence."""
        if self.problem:
            return f"{self.version.what}: its dispatches were not compared: {self.problem}"
        if not self.findings:
            return f"{self.version.what}: each of its dispatches is correct alone"
        faults = (f"{each.dispatch} {_WORDS[each.fault]}: {each.message}" for each in self.findings)
        return f"{self.version.what}: {self.run.blamed('; '.join(faults))}"


def blame(
    version: ProgramVersion, given: Target, program: Program, run: ProgramRun, dispatches: Sequence[Dispatch],
    lab: Lab, seconds: float,
) -> Blame:  # fmt: skip
    """Look where a version begins to differ from the program as the compiler makes it.

    Args:
        version: whose results are wrong.
        given: what the program is compiled for otherwise.
        program: it.
        run: how it is run; its functions are followed.
        dispatches: of the program.
        lab: where it is compiled and run.
        seconds: see `follow_here`.
    """
    other = with_entries(program, version.entries, lab.context)
    try:
        begun = begin_parts([(program, given, None), (other, version.target, None)], run, lab)
        with in_parts(begun, lab) as pieces:
            measurer = lab.measurer
            findings = measurer.workers.call(
                follow_here, *pieces, measurer.device, run, sums_of(dispatches), seconds,
                timeout_s=_TIMEOUT_S,
            )  # fmt: skip
    except TunerError as error:
        return Blame(version, problem=str(error))
    return Blame(version, findings, run=run)
