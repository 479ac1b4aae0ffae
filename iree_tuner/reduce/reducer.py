"""The loop: steps in turns, each with delta debugging, until none makes the module smaller."""

from __future__ import annotations

import hashlib
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Literal, Self

from iree.compiler import ir

from iree_tuner.compiler.context import new_context, walk
from iree_tuner.compiler.session import CompileError, parse_module
from iree_tuner.compiler.worker import WorkerError, Workers
from iree_tuner.errors import TunerError
from iree_tuner.program.source import Program
from iree_tuner.reduce import edits
from iree_tuner.reduce.function import (
    STAND_INS,
    attributes_of,
    is_resource,
    parts_of,
    static_sizes,
    values_of,
)


@dataclass(frozen=True)
class ReductionStep:
    """A kind of edits."""

    name: str
    edits: Callable[[ir.Module], Sequence[edits.Edit]]  # the edits that a module has
    alone: bool = False  # whether only one of them can be made at a time


STEPS = (
    ReductionStep("entries of specs", edits.entries),
    ReductionStep("symbols", edits.top_level),
    ReductionStep("nested symbols", edits.nested),
    ReductionStep("results", edits.results),
    ReductionStep("unused ops", edits.unused),
    ReductionStep("last ops", edits.returned_operands),
    ReductionStep("ops by operands", edits.by_operand),
    ReductionStep("ops by arguments", edits.by_argument),
    ReductionStep("ops by tensor.empty", edits.by_empty),
    ReductionStep("ops by constants", edits.by_constant),
    ReductionStep("arguments", edits.arguments),
    ReductionStep("arguments of actions", edits.handed_over),
    ReductionStep("inputs of linalg.generic", edits.inputs),
    ReductionStep("attributes", edits.attributes),
    ReductionStep("constants", edits.splats),
    ReductionStep("sizes", edits.smaller_sizes, alone=True),
)
"""All steps, the ones that take out most first."""


@dataclass(frozen=True, order=True)
class ProgramSize:
    """The counts of a module, the most important first: every accepted edit makes it smaller so."""

    work: int  # ops that compute something, symbols and terminators among them
    ops: int
    values: int  # results, block arguments and operands
    attributes: int  # attributes of ops, and their parts
    elements: int  # numbers in dense constants that are not splats; 1 for a resource
    extent: int  # the sum of the static sizes of all values


def size_of(module: ir.Module) -> ProgramSize:
    """Count a module's parts."""
    ops, values = list(walk(module.operation)), list(values_of(module))
    found = [attribute for op in ops for attribute in attributes_of(op).values()]
    return ProgramSize(
        work=sum(op.name not in STAND_INS for op in ops),
        ops=len(ops),
        values=len(values) + sum(len(op.operands) for op in ops),
        attributes=len(found) + sum(map(_leaves, found)),
        elements=sum(map(_elements, found)),
        extent=sum(sum(static_sizes(value.type)) for value in values),
    )


def _leaves(attribute: ir.Attribute) -> int:
    return sum(1 + _leaves(part) for part in parts_of(attribute).values())


def _elements(attribute: ir.Attribute) -> int:
    if isinstance(attribute, ir.DenseElementsAttr) and not attribute.is_splat:
        return len(attribute)
    return int(is_resource(attribute))


@dataclass(frozen=True)
class Candidate:
    """A module as text, and its size."""

    text: str
    size: ProgramSize


def printed(program: Program) -> Candidate:
    """A program without any edit, as text.

    Raises:
        CompileError: it cannot be parsed, does not verify, or does not parse again after printing.
        TunerError: it is not text and not bytecode.
    """
    try:
        source = program.data if program.is_bytecode else program.data.decode()
    except UnicodeDecodeError:
        raise TunerError("not MLIR: neither text nor bytecode", location=program.name) from None
    text = _text(parse_module(source, _new_context(), program.name))
    try:
        return Candidate(text, size_of(parse_module(text, _new_context(), program.name)))
    except CompileError as error:
        raise CompileError(error.diagnostics, "the printed module does not parse") from None


def count(text: str, step: int) -> int:
    """The number of edits of a step."""
    with _context_for(text) as context, ir.Location.unknown():
        return len(STEPS[step].edits(parse_module(text, context)))


def edited(text: str, step: int, chosen: frozenset[int]) -> Candidate | None:
    """The module after edits of a step, which may be unchanged.

    None if it is changed and no smaller, or does not verify; for a step of single edits also if it is
    unchanged.
    """
    context = _context_for(text)
    with context, ir.Location.unknown():
        module = parse_module(text, context)
        before = size_of(module)
        made = STEPS[step].edits(module)
        try:
            for number in sorted(chosen):
                made[number]()
            module.operation.verify()
            smaller = _text(module)
            size = size_of(parse_module(smaller, _context_for(smaller)))
        except (ir.MLIRError, CompileError):
            return None
    unchanged = smaller == text and not STEPS[step].alone
    return Candidate(smaller, size) if unchanged or size < before else None


def _text(module: ir.Module) -> str:
    return module.operation.get_asm(enable_debug_info=False)


def _context_for(text: str) -> ir.Context:
    """One context for all modules, because making one takes longer than parsing most of them.

    Modules with resources get a new one: a context that knows a resource's name renames the next one.
    """
    return _new_context() if "dialect_resources" in text else _kept_context()


def _new_context() -> ir.Context:
    context = new_context()
    context.enable_multithreading(False)  # docs/upstream/verify_deadlock.md
    return context


_kept_context = lru_cache(maxsize=1)(_new_context)

_PLACE = "{}"
"""Stands for the candidate's path in a command."""
_SHELL = "/bin/sh"
_SIGNAL = 128
"""The number that a shell adds to the number of the signal that ended a command."""
_NOT_FOUND = (126, 127)
"""The status of a shell that cannot run a command."""
_KEPT, _QUOTED = 4000, 400
"""Characters of the end of a judge's output that are kept, and that are in a message."""
_EDIT_S = 60.0
_CALLS = 2000
"""Of edits, before a worker is replaced: a context keeps all attributes and types that it has seen."""
_NONE = (WorkerError, ir.MLIRError, TypeError, ValueError, RecursionError)
"""How an edit may end: a verifier crashed, or there is IR that the bindings cannot read, make or walk."""

Wanted = int | Literal["fail", "crash"]
"""A status: a number; any but 0; or what a signal leaves, 128 or more."""
First = Callable[[Iterator[frozenset[int]]], int | None]
"""Which of some sets of edits is the first that keeps the defect; None where each loses it."""


@dataclass(frozen=True)
class CommandJudge:
    """A command, and how it ends if the defect is present."""

    command: str  # for a POSIX shell; `{}` stands for the candidate's path, which ends a command without it
    status: Wanted = 0  # that it ends with
    output: str = ""  # a text that its output, of both streams, has in it

    def on(self, path: Path) -> str:
        name = shlex.quote(str(path))
        return self.command.replace(_PLACE, name) if _PLACE in self.command else f"{self.command} {name}"

    def accepts(self, status: int, output: str) -> bool:
        """Whether this is how the command ends if the defect is present."""
        match self.status:
            case "fail":
                fits = status != 0
            case "crash":
                fits = status >= _SIGNAL
            case number:
                fits = status == number
        return fits and self.output in output


@dataclass(frozen=True)
class Answer:
    """A judge's answer."""

    shows: bool  # whether the defect does
    status: int | None  # as in a shell: 139 for signal 11; None after a time-out
    output: str  # the end of what it printed


def ask(judge: CommandJudge, content: bytes, suffix: str) -> Answer:
    """Run a judge on a candidate, in a folder of its own. Runs in workers, whose process group it joins.

    Raises OSError if the folder cannot be created, or there is no shell.
    """
    with tempfile.TemporaryDirectory(prefix="judge_") as folder:
        path = Path(folder) / f"candidate{suffix}"
        path.write_bytes(content)
        done = subprocess.run(
            [_SHELL, "-c", judge.on(path)], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    status = done.returncode if done.returncode >= 0 else _SIGNAL - done.returncode
    output = done.stdout.decode(errors="replace")
    return Answer(judge.accepts(status, output), status, output[-_KEPT:])


class InWorkers:
    """Candidates made and judged in workers, because an edit or a judge may crash.

    `jobs` of each run at a time. A judge that takes longer than `timeout_s` is killed: no defect.
    """

    def __init__(self, judge: CommandJudge, jobs: int, timeout_s: float) -> None:
        self.jobs = jobs
        self._judge = judge
        self._timeout_s = timeout_s
        self.editors = Workers(jobs, _CALLS)
        self.judges = Workers(jobs, memory_bytes=None)  # the limit would be the command's as well

    def printed(self, program: Program) -> Candidate:
        """The program without any edit. Raises what `candidate.printed` raises."""
        return self.editors.call(printed, program)

    def count(self, text: str, step: int) -> int:
        try:
            return self.editors.call(count, text, step, timeout_s=_EDIT_S)
        except _NONE:
            return 0

    def edited(self, text: str, step: int, sets: Sequence[frozenset[int]]) -> list[Candidate | None]:
        """The module after each set of edits; None for a set that gives no candidate."""
        calls = [self.editors.submit(edited, text, step, each, timeout_s=_EDIT_S) for each in sets]
        found = list[Candidate | None]()
        for call in calls:
            try:
                found.append(self.editors.wait(call))
            except _NONE:
                found.append(None)
        return found

    def judged(self, contents: Sequence[bytes], suffix: str = ".mlir") -> Generator[Answer]:
        """The judge's answers on candidates, in their order; closing this cancels the rest."""
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


def ddmin(count: int, first: First) -> frozenset[int]:
    """A set of edits, of those from 0 to `count` - 1, that keeps the defect, and loses it with one more.

    All are tried together, then halves, quarters and so on down to single edits, each in addition to the
    edits that are known to keep it. `first` is asked only about sets whose answer is not known.
    """
    made: frozenset[int] = frozenset()
    left = list(range(count))
    size = count
    while left and size:
        progress = False
        start = 0
        while start < len(left):
            chunks = [left[at : at + size] for at in range(start, len(left), size)]
            hit = first(map(made.union, chunks))
            if hit is None:
                break
            progress = True
            start += hit * size
            made = made.union(chunks[hit])
            left = [edit for edit in left if edit not in made]
        if size > 1:
            size = (size + 1) // 2
        elif not progress:
            break
    return made


@dataclass(frozen=True)
class ReductionProgress:
    """The state of a reduction."""

    step: str  # what is being taken out
    start: Candidate
    smallest: Candidate  # the smallest module that shows the defect
    judged: int  # how often the judge was asked
    remembered: int  # candidates that were equal to one judged before
    refused: int  # sets of edits that gave no smaller module, or none that verifies


class Reducer:
    """A module that is made smaller."""

    def __init__(self, lab: InWorkers, tell: Callable[[ReductionProgress], None] = lambda _: None) -> None:
        # the smallest module that shows the defect, also after an interrupt; None until the input was judged
        self.smallest: Candidate | None = None
        self._start: Candidate | None = None
        self._lab = lab
        self._tell = tell
        self._shows: dict[bytes, bool] = {}
        self._judged = self._remembered = self._refused = 0

    def run(self, program: Program) -> Candidate:
        """Make a program smaller; see `smallest`.

        Raises:
            CompileError: it cannot be parsed, or not after printing.
            TunerError: it does not show the defect, or not after printing.
        """
        self._start = self.smallest = start = self._shown(program)
        self._shows[_key(start.text)] = True  # edits that leave a module as it is are done with at once
        step = unchanged = 0
        while unchanged < len(STEPS):
            unchanged = 0 if self._step(step) else unchanged + 1
            step = (step + 1) % len(STEPS)
        return self.smallest

    def progress(self, step: str = "") -> ReductionProgress | None:
        """The progress; None before the input was judged."""
        if self._start is None or self.smallest is None:
            return None
        counts = self._judged, self._remembered, self._refused
        return ReductionProgress(step, self._start, self.smallest, *counts)

    def _shown(self, program: Program) -> Candidate:
        start = self._lab.printed(program)
        asked = [(program.data, ".mlirbc" if program.is_bytecode else ".mlir", "")]
        if (content := start.text.encode()) != program.data:
            asked.append((content, ".mlir", " after it is printed and parsed"))
        for content, suffix, when in asked:
            (answer,) = self._lab.judged([content], suffix)
            self._judged += 1
            if not answer.shows:
                raise _refusal(program, answer, f"the input does not trigger the defect{when}")
        return start

    def _step(self, step: int) -> bool:
        """Make the edits of a step that keep the defect. Returns whether there were any."""
        before = self._base()
        if STEPS[step].alone:
            while True:
                count = self._lab.count(self._base(), step)
                if self._first(step, self._base(), (frozenset({edit}) for edit in range(count))) is None:
                    break
        else:
            ddmin(self._lab.count(before, step), lambda sets: self._first(step, before, sets))
        return self._base() != before

    def _base(self) -> str:
        assert self.smallest is not None, "steps come after the input was judged"
        return self.smallest.text

    def _first(self, step: int, base: str, sets: Iterator[frozenset[int]]) -> int | None:
        """The first set of edits whose candidate shows the defect, which becomes the smallest."""
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
        """The first candidate that shows the defect. The judge is asked about new candidates only."""
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
