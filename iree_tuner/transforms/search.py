"""Search a script's knobs: each choice is compiled, checked and timed on the dispatches that it lowers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from iree_tuner.build.candidate import Built
from iree_tuner.build.outcome import Outcome
from iree_tuner.errors import TunerError
from iree_tuner.measure.bench import Bench
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.search.registry import make_strategy
from iree_tuner.space.configuration import Assignment
from iree_tuner.transforms.build import build_here
from iree_tuner.transforms.check import bench_of
from iree_tuner.transforms.script import Script
from iree_tuner.transforms.space import ScriptLandscape, own_choice, script_space
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.stop import StopRequest

_HOPELESS = 2.0  # times the best so far

Watch = Callable[[str], None]
"""Told what is going on, a line at a time."""


@dataclass(frozen=True)
class ScriptTrial:
    """One choice of a script's knobs, on all dispatches that the script lowers.

    Attributes:
        assignment: the choice.
        outcome: `ok`, or how it ended on the first dispatch where it failed.
        time_us: of all their calls in one invocation of the program; infinite where one failed.
        score: the time over that of the compiler's own code.
        message: why it failed.
        vmfbs: the harnesses, in the order of the dispatches.
    """

    assignment: Assignment
    outcome: Outcome
    time_us: float = math.inf
    score: float = math.inf
    message: str = ""
    vmfbs: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Subject:
    """A dispatch that the script lowers.

    Attributes:
        name: of its export.
        calls: how often the program calls it.
        bench: its harness and default.
        default_us: time of the compiler's own code.
    """

    name: str
    calls: int
    bench: Bench
    default_us: float


@dataclass(frozen=True)
class ScriptSearch:
    """What became of a search.

    Attributes:
        subjects: the dispatches that were timed.
        trials: all choices, in the order in which they ended; the script's own is the first.
        ranked: those that are right on more than one seed, fastest first, a few.
        members: how many choices there are.
        left_out: dispatches that the script lowers and that cannot be timed alone, with the reason.
    """

    subjects: tuple[Subject, ...]
    trials: tuple[ScriptTrial, ...]
    ranked: tuple[ScriptTrial, ...]
    members: int
    left_out: tuple[str, ...] = ()

    @property
    def default_us(self) -> float:
        """Time of the compiler's own code, in the calls of one invocation."""
        return sum(each.calls * each.default_us for each in self.subjects)


def search_script(
    program: Program, script: Script, lowered: Sequence[str], lab: Lab, stop: StopRequest,
    *, strategy: str = "local", trials: int = 64, seconds: float = math.inf, seed: int = 0,
    finalists: int = 3, watch: Watch = lambda _: None,
) -> ScriptSearch:  # fmt: skip
    """Try choices of a script's knobs, its own first.

    Args:
        program: what is compiled.
        script: it lowers something of it.
        lowered: which functions, as `compile_with_script` found.
        lab: where it is built and timed.
        stop: no more is begun when it is requested.
        strategy: proposes choices.
        trials: how many at most.
        seconds: no more are begun after that.
        seed: of everything random.
        finalists: how many are checked on more than one seed.
        watch: told of progress.

    Raises:
        TunerError: the script has no knobs, or nothing that it lowers can be timed alone.
        CompileError: the program does not compile.
    """
    if not script.knobs:
        raise TunerError("the script has no knobs to search", location=script.path)
    subjects, left_out, dispatch = _subjects(program, lowered, lab)
    if dispatch is None or dispatch.workload is None:
        raise TunerError(f"nothing that the script lowers can be timed alone: {'; '.join(left_out)}")
    space = script_space(script, dispatch.workload, lab.context)
    start = own_choice(script)
    asking = make_strategy(strategy, ScriptLandscape(space), seed, start)
    search = _Search(script, subjects, lab)
    until = time.monotonic() + seconds
    found: list[ScriptTrial] = [*search.tried([start])]
    asking.tell(found)
    while len(found) < trials and time.monotonic() < until and not stop.requested:
        best = min(each.score for each in found)
        watch(f"{len(found)} of {min(trials, space.count())} choices, best {1 / best:.2f}x")
        asked = asking.ask(min(2 * lab.jobs, trials - len(found)))
        new = [each for each in asked if each != start]
        if not asked:
            break
        told = list(search.tried(new))
        asking.tell(told)
        found += told
    watch("checking the best")
    ranked = search.right(sorted(found, key=lambda each: each.score), finalists)
    return ScriptSearch(subjects, tuple(found), tuple(ranked), space.count(), left_out)


def _subjects(
    program: Program, lowered: Sequence[str], lab: Lab
) -> tuple[tuple[Subject, ...], tuple[str, ...], Dispatch | None]:
    """Dispatches to time; those that cannot be, with the reason; and one with a workload."""
    subjects: list[Subject] = []
    left_out: list[str] = []
    one: Dispatch | None = None
    every = extract(program, lab.target, lab.compilers).dispatches
    for dispatch in (each for each in every if each.name in lowered):
        made = _subject(dispatch, lab)
        if isinstance(made, str):
            left_out.append(f"{dispatch.name}: {made}")
        else:
            subjects.append(made)
            one = one or dispatch
    return tuple(subjects), tuple(left_out), one


def _subject(dispatch: Dispatch, lab: Lab) -> Subject | str:
    bench = bench_of(dispatch, lab)
    if isinstance(bench, str):
        return bench
    lab.settle()
    timed = lab.measurer.time_default(bench)
    if timed.outcome != "ok":
        return f"the default ends in {timed.outcome}: {timed.message}"
    return Subject(dispatch.name, dispatch.calls.count, bench, min(timed.samples_us))


class _Search:
    """Builds and times choices."""

    def __init__(self, script: Script, subjects: Sequence[Subject], lab: Lab) -> None:
        self._script = script
        self._subjects = subjects
        self._lab = lab
        self._default_us = sum(each.calls * each.default_us for each in subjects)
        self._best = math.inf

    def tried(self, assignments: Sequence[Assignment]) -> Iterator[ScriptTrial]:
        """All are compiled, and then timed: on a processor, nothing compiles meanwhile."""
        futures = [
            [
                self._lab.compilers.submit(
                    build_here, subject.bench.harness.module, self._lab.target.flags,
                    self._script.chosen(assignment).data, timeout_s=self._lab.builder.timeout_s,
                )
                for subject in self._subjects
            ]
            for assignment in assignments
        ]  # fmt: skip
        built = [[self._lab.builder.result(each) for each in group] for group in futures]
        for assignment, group in zip(assignments, built, strict=True):
            trial = self._timed(assignment, group)
            self._best = min(self._best, trial.score)
            yield trial

    def right(self, trials: Sequence[ScriptTrial], count: int) -> list[ScriptTrial]:
        """The first whose numbers are right on more than one seed."""
        found: list[ScriptTrial] = []
        for trial in trials:
            if trial.outcome == "ok" and self._agrees(trial):
                found.append(trial)
            if len(found) == count:
                break
        return found

    def _agrees(self, trial: ScriptTrial) -> bool:
        pairs = zip(self._subjects, trial.vmfbs, strict=True)
        return all(self._lab.measurer.agrees(vmfb, subject.bench).ok for subject, vmfb in pairs)

    def _timed(self, assignment: Assignment, built: Sequence[Built]) -> ScriptTrial:
        total = 0.0
        for subject, each in zip(self._subjects, built, strict=True):
            if each.outcome != "ok":
                return ScriptTrial(assignment, each.outcome, message=f"{subject.name}: {each.message}")
            limit = _HOPELESS * min(1.0, self._best) * subject.default_us if self._best < math.inf else None
            timed = self._lab.measurer.time(each.vmfb, subject.bench, limit)
            if timed.outcome != "ok":
                return ScriptTrial(assignment, timed.outcome, message=f"{subject.name}: {timed.message}")
            total += subject.calls * min(timed.samples_us)
        vmfbs = tuple(each.vmfb for each in built)
        return ScriptTrial(assignment, "ok", total, total / self._default_us, vmfbs=vmfbs)
