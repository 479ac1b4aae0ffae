"""Where candidates are made and judged."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol, Self

from iree.compiler import ir

from iree_tuner.compiler.worker import WorkerError, Workers
from iree_tuner.program.source import Program
from iree_tuner.reduce.candidate import Candidate, count, edited, printed
from iree_tuner.reduce.judge import Answer, CommandJudge, ask

_EDIT_S = 60.0
_CALLS = 2000
"""Of edits, before a worker is replaced: a context keeps all attributes and types that it has seen."""

_NONE = (WorkerError, ir.MLIRError, TypeError, ValueError, RecursionError)
"""How an edit may end: a verifier crashed, or there is IR that the bindings cannot read, make or walk."""


class JudgeLab(Protocol):
    """The resources of a reducer."""

    @property
    def jobs(self) -> int:
        """How many candidates are made, and judged, at a time."""
        ...

    def printed(self, program: Program) -> Candidate:
        """The program without any edit. Raises what `candidate.printed` raises."""
        ...

    def count(self, text: str, step: int) -> int:
        """How many edits of a step a module has."""
        ...

    def edited(self, text: str, step: int, sets: Sequence[frozenset[int]]) -> list[Candidate | None]:
        """The module with each of some sets of edits made; None if it is no candidate."""
        ...

    def judged(self, contents: Sequence[bytes], suffix: str = ".mlir") -> Generator[Answer]:
        """The judge's answers on candidates, in their order; closing this gives up the rest."""
        ...


class InWorkers:
    """Candidates made and judged in workers, which an edit or a judge may end.

    Args:
        judge: the command.
        jobs: how many candidates are made, and judged, at a time.
        timeout_s: for a judge, which is killed then; the candidate does not show the defect.
    """

    def __init__(self, judge: CommandJudge, jobs: int, timeout_s: float) -> None:
        self.jobs = jobs
        self._judge = judge
        self._timeout_s = timeout_s
        self.editors = Workers(jobs, _CALLS)
        self.judges = Workers(jobs, memory_bytes=None)  # the limit would be the command's as well

    def printed(self, program: Program) -> Candidate:
        """See `JudgeLab`."""
        return self.editors.call(printed, program)

    def count(self, text: str, step: int) -> int:
        """See `JudgeLab`."""
        try:
            return self.editors.call(count, text, step, timeout_s=_EDIT_S)
        except _NONE:
            return 0

    def edited(self, text: str, step: int, sets: Sequence[frozenset[int]]) -> list[Candidate | None]:
        """See `JudgeLab`."""
        calls = [self.editors.submit(edited, text, step, each, timeout_s=_EDIT_S) for each in sets]
        found = list[Candidate | None]()
        for call in calls:
            try:
                found.append(self.editors.wait(call))
            except _NONE:
                found.append(None)
        return found

    def judged(self, contents: Sequence[bytes], suffix: str = ".mlir") -> Generator[Answer]:
        """See `JudgeLab`."""
        calls = [
            self.judges.submit(ask, self._judge, content, suffix, timeout_s=self._timeout_s)
            for content in contents
        ]
        try:
            for call in calls:
                try:
                    yield self.judges.wait(call)
                except WorkerError as error:  # it took too long, or was killed from outside
                    yield Answer(False, None, str(error))
        finally:
            for call in calls:
                call.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.judges.close()
        self.editors.close()
