"""The loop: steps in turns, each with delta debugging, until none makes the module smaller."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from iree_tuner.errors import TunerError
from iree_tuner.program.source import Program
from iree_tuner.reduce.candidate import STEPS, Candidate
from iree_tuner.reduce.ddmin import ddmin
from iree_tuner.reduce.judge import Answer
from iree_tuner.reduce.lab import JudgeLab

_NOT_FOUND = (126, 127)
"""The status of a shell that cannot run a command."""

_QUOTED = 400
"""Characters of a judge's output in a message."""


@dataclass(frozen=True)
class ReductionProgress:
    """How far a reduction is.

    Attributes:
        step: what is being taken out.
        start: the input.
        smallest: the smallest module that shows the defect.
        judged: how often the judge was asked.
        remembered: candidates that were equal to one judged before.
        refused: sets of edits that gave no smaller module, or none that verifies.
    """

    step: str
    start: Candidate
    smallest: Candidate
    judged: int
    remembered: int
    refused: int


class Reducer:
    """A module that is made smaller.

    Args:
        lab: makes and judges candidates.
        tell: is called after each few candidates.

    Attributes:
        smallest: the smallest module so far that shows the defect, also after `run` was interrupted; None
            until the input is known to show it.
    """

    def __init__(self, lab: JudgeLab, tell: Callable[[ReductionProgress], None] = lambda _: None) -> None:
        self.smallest: Candidate | None = None
        self._start: Candidate | None = None
        self._lab = lab
        self._tell = tell
        self._shows: dict[bytes, bool] = {}
        self._judged = self._remembered = self._refused = 0

    def run(self, program: Program) -> Candidate:
        """Make a program smaller; see `smallest`.

        Raises:
            CompileError: it cannot be parsed, or not as it is printed.
            TunerError: it does not show the defect, or not as it is printed.
        """
        self._start = self.smallest = start = self._shown(program)
        self._shows[_key(start.text)] = True  # edits that leave a module as it is are done with at once
        step = unchanged = 0
        while unchanged < len(STEPS):
            unchanged = 0 if self._step(step) else unchanged + 1
            step = (step + 1) % len(STEPS)
        return self.smallest

    def progress(self, step: str = "") -> ReductionProgress | None:
        """How far it is; None before the input is known to show the defect."""
        if self._start is None or self.smallest is None:
            return None
        return ReductionProgress(
            step, self._start, self.smallest, self._judged, self._remembered, self._refused
        )

    def _shown(self, program: Program) -> Candidate:
        start = self._lab.printed(program)
        suffix = ".mlirbc" if program.is_bytecode else ".mlir"
        (answer,) = self._lab.judged([program.data], suffix)
        self._judged += 1
        if not answer.shows:
            raise _refusal(program, answer, "the input does not trigger the defect")
        content = start.text.encode()
        if content != program.data:
            (answer,) = self._lab.judged([content])
            self._judged += 1
            if not answer.shows:
                raise _refusal(
                    program, answer, "the input does not trigger the defect after it is printed and parsed"
                )
        return start

    def _step(self, step: int) -> bool:
        """Make the edits of a step that keep the defect; whether there were any."""
        before = self._base()
        if STEPS[step].alone:
            while self._first(step, self._base(), self._singles(step)) is not None:
                continue
        else:
            ddmin(self._lab.count(before, step), lambda sets: self._first(step, before, sets))
        return self._base() != before

    def _base(self) -> str:
        assert self.smallest is not None, "steps come after the input was judged"
        return self.smallest.text

    def _singles(self, step: int) -> Iterator[frozenset[int]]:
        return (frozenset({edit}) for edit in range(self._lab.count(self._base(), step)))

    def _first(self, step: int, base: str, sets: Iterator[frozenset[int]]) -> int | None:
        """The first set of edits whose candidate shows the defect; it becomes the smallest."""
        start = 0
        while some := list(islice(sets, self._lab.jobs)):
            hit = self._first_of(self._lab.edited(base, step, some))
            if (progress := self.progress(STEPS[step].name)) is not None:
                self._tell(progress)
            if hit is not None:
                return start + hit
            start += len(some)
        return None

    def _first_of(self, made: Sequence[Candidate | None]) -> int | None:
        """The first candidate that shows the defect: as is known already, or by asking the judge."""
        unknown = {_key(each.text): each.text for each in made if each and _key(each.text) not in self._shows}
        with closing(self._lab.judged([text.encode() for text in unknown.values()])) as answers:
            for position, candidate in enumerate(made):
                if candidate is None:
                    self._refused += 1
                    continue
                key = _key(candidate.text)
                if key in self._shows:
                    self._remembered += 1
                else:
                    self._judged += 1
                    self._shows[key] = next(answers).shows
                if self._shows[key]:
                    if candidate.text != self._base():
                        self.smallest = candidate
                    return position
        return None


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _refusal(program: Program, answer: Answer, what: str) -> TunerError:
    ended = "" if answer.status is None else f"status {answer.status}, "
    said = " ".join(answer.output.split())[-_QUOTED:] or "no output"
    hint = "the judge runs in an empty folder: use absolute paths" if answer.status in _NOT_FOUND else None
    return TunerError(f"{what}: the judge said: {ended}{said}", location=program.name, hint=hint)
