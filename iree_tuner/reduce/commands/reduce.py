"""`iree-tuner spec reduce`: shrink a program or a spec that triggers a defect."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.markup import escape
from rich.status import Status

from iree_tuner.cli.output import Json, people, print_json
from iree_tuner.device.device_facts import usable_cores
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import STANDARD, name_of, planned_output, read_bytes, write
from iree_tuner.program.source import Program
from iree_tuner.reduce.reducer import Candidate, CommandJudge, InWorkers, Reducer, ReductionProgress
from iree_tuner.report.progress import tell_stopping
from iree_tuner.tuning.stop import StopRequest

_MOST_JOBS = 8
"""Default number of concurrent judges. More would waste work: only the first success counts."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class JudgeFlags:
    """The command that decides whether a candidate still triggers the defect.

    Attributes
    ----------
    judge
        Shell command that tests a candidate. {} stands for the candidate's path. Without {}, the path is
        appended.
    judge_status
        Exit status of the judge if the defect is present: a number, fail (not 0), or crash (128 or more).
        Default: 0, or fail with --judge-output.
    judge_output
        Text in the judge's output if the defect is present.
    timeout
        Time limit for one judge in seconds. A candidate that takes longer counts as free of the defect.
    jobs
        Number of concurrent judges. Default: one per core, at most 8.
    """

    judge: Annotated[str, Parameter(allow_leading_hyphen=True)]
    judge_status: int | Literal["fail", "crash"] | None = None
    judge_output: Annotated[str, Parameter(allow_leading_hyphen=True)] = ""
    timeout: float = 300.0
    jobs: int | None = None

    def lab(self) -> InWorkers:
        """Create the judge. Raises UsageError for numbers out of range."""
        if self.timeout <= 0:
            raise UsageError(f"--timeout must be above 0, but is {self.timeout:g}")
        if self.jobs is not None and self.jobs < 1:
            raise UsageError(f"--jobs must be at least 1, but is {self.jobs}")
        status = self.judge_status if self.judge_status is not None else "fail" if self.judge_output else 0
        judge = CommandJudge(self.judge, status, self.judge_output)
        return InWorkers(judge, self.jobs or min(_MOST_JOBS, usable_cores()), self.timeout)


def reduce(
    program: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    judging: JudgeFlags,
    output: Annotated[Path, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)] = STANDARD,
    as_json: Json = False,
) -> int:
    """Shrink a program or a spec that triggers a defect. A command of yours tests each candidate.

    `reduce` runs the command (the judge) on smaller and smaller candidates. All candidates are valid IR. The
    judge must exit with status 0 if a candidate still triggers the defect, as with llvm-reduce and cvise.
    --judge-status and --judge-output set other criteria. The judge runs in an empty folder: name other files
    by absolute paths. Ctrl-C writes the smallest candidate so far, with exit status 130.

    Example: `iree-tuner spec reduce big.mlir --judge "iree-opt {}" --judge-output "error: x" -o small.mlir`

    Parameters
    ----------
    program
        MLIR text or bytecode in any dialect of the compiler. `-` reads standard input.
    output
        Write the result to this file, .mlir. `-` prints text.
    as_json
        Print the sizes before and after as JSON.
    """
    if str(program).startswith("--"):  # a parameter that takes `-` takes mistyped options too
        raise UsageError(f"unknown option {program}")
    if as_json and output == STANDARD:
        raise UsageError("--json requires --output: JSON and the program cannot share standard output")
    source = Program(name_of(program), read_bytes(program))
    if not source.data.strip():
        raise TunerError("the program is empty", location=source.name)
    if output != STANDARD:
        planned_output(output, ".mlir")
    with (
        people.status("testing the input") as status,
        StopRequest(tell_stopping) as stop,
        judging.lab() as lab,
    ):
        reducer = Reducer(lab, _Lines(status).add)
        try:
            with stop.cancelling(lab.editors, lab.judges):
                reducer.run(source)
        finally:  # whatever ended it, what was found took long to find
            if (found := reducer.progress()) is not None:
                _write(found, output, as_json=as_json, interrupted=stop.requested)
    if stop.requested:
        raise KeyboardInterrupt
    return 0


class _Lines:
    """Print one line per step that shrinks the program.

    On a terminal, also show the current step's progress.
    """

    def __init__(self, status: Status) -> None:
        self._status = status
        self._last: ReductionProgress | None = None
        self._shown: Candidate | None = None

    def add(self, progress: ReductionProgress) -> None:
        last, self._last = self._last, progress
        if last is not None and last.step != progress.step:
            if last.smallest is not (self._shown or last.start):
                people.print(_line(last))
            self._shown = last.smallest
        self._status.update(escape(_line(progress)))


def _line(progress: ReductionProgress) -> str:
    return f"{progress.step}: {_size(progress.smallest)}, {progress.judged} tested"


def _write(found: ReductionProgress, output: Path, *, as_json: bool, interrupted: bool) -> None:
    if output == STANDARD:
        print(found.smallest.text, end="")
    else:
        write(output, found.smallest.text)
    if as_json:
        print_json({
            "path": str(output), "ops_before": found.start.size.ops, "ops": found.smallest.size.ops,
            "bytes_before": len(found.start.text.encode()), "bytes": len(found.smallest.text.encode()),
            "judged": found.judged, "remembered": found.remembered, "refused": found.refused,
            "interrupted": interrupted,
        })  # fmt: skip
    sizes = f"{_size(found.start)} -> {_size(found.smallest)}"
    people.print(f"{output}: {sizes}; {found.judged} candidates tested", soft_wrap=True)


def _size(candidate: Candidate) -> str:
    return f"{candidate.size.ops} ops, {len(candidate.text.encode())} bytes"
