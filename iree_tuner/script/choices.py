"""A search of a script's knobs: each choice is compiled, checked and timed on the dispatches that it lowers.

The knobs are a space, as constraint IR; the choices are candidates, timed and kept as others are.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.versions import installed
from iree_tuner.compiler.worker import WorkerError, session_for
from iree_tuner.device.bench import Bench, JointBench, joined
from iree_tuner.device.outcome import Outcome
from iree_tuner.errors import TunerError
from iree_tuner.measure.candidate import Built
from iree_tuner.ops.workload import Workload
from iree_tuner.program.bindings import Harness
from iree_tuner.program.dispatch import Dispatch, fingerprint
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.script.build import bench_of, build_here
from iree_tuner.script.script import Script
from iree_tuner.search.cost.terms import Array
from iree_tuner.search.strategy import Strategy, make_strategy
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.constraints import build_constraints, knob_attribute
from iree_tuner.space.constraints import knob as declare
from iree_tuner.space.expressions import require
from iree_tuner.space.space import Space
from iree_tuner.spec.io import embed
from iree_tuner.store.reproducer import FailedCandidate, write_reproducer
from iree_tuner.store.trial import StudyKey, Trial
from iree_tuner.targets import Target
from iree_tuner.tuning.baseline import time_default, why_it_fails
from iree_tuner.tuning.candidate import CompileLimits, setting_on
from iree_tuner.tuning.engine import play
from iree_tuner.tuning.finals import FinalPlan, play_searches
from iree_tuner.tuning.jobs import Jobs
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.stop import StopRequest


def script_space(script: Script, workload: Workload, context: ir.Context) -> Space:
    """The values that a script's knobs may have, for a workload that it lowers. The dialects are loaded."""

    def fill() -> Mapping[str, ir.Attribute]:
        declared = {each.name: declare(each.name, each.values, "a value that the script names")
                    for each in script.knobs}  # fmt: skip
        for each in script.knobs:
            if each.divides:
                around, inside = declared[each.divides], declared[each.name]
                message = f"{each.name} ({{}}) must divide {each.divides} ({{}})"
                require((around % inside).equals(0), message, inside, around)
        return {name: knob_attribute(name) for name in declared}

    with context:
        pipeline = iree_codegen.TransformDialectCodegenPipelineAttr.get()
        return Space(workload, build_constraints(pipeline, fill))


class ScriptLandscape:
    """A script's space as strategies see it. Nothing is known about it beforehand, because scripts differ."""

    kind = "script"

    def __init__(self, space: Space) -> None:
        self._space = space
        self.features, self.neighbors = space.names, space.neighbors
        self.shuffled = self.staged = space.shuffled  # a script has no secondary options

    def is_plain(self, assignment: Assignment) -> bool:
        return True

    def encode(self, assignments: Sequence[Assignment]) -> Array:
        """A row of logarithms for each."""
        rows = [self._space.encode(each) for each in assignments]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(self.features))

    def guess(self, rows: Array) -> Array | None:
        del rows


SCRIPT = "script:"
"""How the label of a script's space begins; its name follows."""


@dataclass(frozen=True)
class Subject:
    """A dispatch that the script lowers."""

    name: str  # of its export
    calls: int  # how often the program calls it
    bench: Bench  # its harness and default
    default_us: float  # time of the compiler's own code
    workload: Workload


class ScriptChoices:
    """The choices of a script's knobs: a `CandidateKind`.

    The script, with one knob at least, lowers the subjects. The study is one of the first's workload.
    """

    own_digest = ""  # no choice is the compiler's code
    most_places = 1
    wrong = ""
    over = ""

    def __init__(self, script: Script, subjects: Sequence[Subject], lab: Lab, records: Records) -> None:
        self.name = script.name
        workload = subjects[0].workload
        self.workload = workload.key
        self.bench = JointBench.of([each.bench for each in subjects], [each.calls for each in subjects])
        self.default = Built("ok", self.bench.default)
        self.default_us = sum(each.calls * each.default_us for each in subjects)
        self.limits = CompileLimits(lab.builder.timeout_s)
        self.space = script_space(script, workload, lab.context)
        self.script = script
        self._subjects = subjects
        self._workload = workload
        self._lab = lab
        self._records = records

    @property
    def size(self) -> int:
        return self.space.count()

    def strategy(self, name: str, seed: int) -> Strategy:
        return make_strategy(name, ScriptLandscape(self.space), seed, Assignment.of(self.script.defaults))

    def study(self) -> StudyKey:
        """Of this script, on these dispatches and this device."""
        code = hashlib.sha256("".join(fingerprint(each.bench.harness) for each in self._subjects).encode())
        text = self.script.chosen({knob.name: knob.values[0] for knob in self.script.knobs}).data
        return StudyKey(
            setting_on(self._lab.target, self._lab.measurer.facts, cold=self._lab.cold), self._workload,
            code.hexdigest()[:16], hashlib.sha256(text).hexdigest()[:16], f"{SCRIPT}{self.name}", self.size,
        )  # fmt: skip

    def submit(
        self, assignment: Assignment, limits: CompileLimits, *, place: int, verify: bool
    ) -> Future[Built]:
        """All dispatches with the script, its knobs set."""
        del place, verify  # there is one place, and the IR is always verified
        return self._lab.compilers.submit(
            build_all_here, [each.bench.harness.module for each in self._subjects],
            [each.name for each in self._subjects], self._lab.target.flags,
            self.script.chosen(assignment).data,
            timeout_s=min(limits.compile_s, self._lab.builder.timeout_s),
        )  # fmt: skip

    def reproduce(self, trial: Trial) -> str:
        """The dispatch that failed with the script inside, and a command of IREE's own tools."""
        folder = self._records.failures
        if folder is None:
            return ""
        failed = next((each for each in self._subjects if each.name in trial.message), self._subjects[0])
        try:
            return self._lab.compilers.call(
                write_reproducer_here, folder, failed.bench.harness, self._lab.target,
                self.script.chosen(trial.assignment).data, f"{failed.name}-{self.name}", trial.outcome,
                trial.message,
            )  # fmt: skip
        except WorkerError:
            return ""


def build_all_here(
    harnesses: Sequence[bytes], names: Sequence[str], flags: tuple[str, ...], script: bytes
) -> Built:
    """Compile dispatches with a script; the first that fails says so. Runs in workers."""
    start = time.perf_counter()
    made: list[bytes] = []
    for harness, name in zip(harnesses, names, strict=True):
        built = build_here(harness, flags, script)
        if built.outcome != "ok":
            seconds = time.perf_counter() - start
            return replace(built, message=f"{name}: {built.message}", seconds=seconds)
        made.append(built.vmfb)
    return Built("ok", joined(made), seconds=time.perf_counter() - start)


def write_reproducer_here(
    folder: Path, harness: Harness, target: Target, script: bytes, name: str, outcome: Outcome, message: str
) -> str:
    """Write a dispatch with a script inside. Returns its path. Runs in workers."""
    session = session_for(target.flags)
    with session.context, ir.Location.unknown():
        module = session.parse(harness.module)
        embed(module, script, replace=True)
        data = to_bytecode(module)
    failure = FailedCandidate(
        workload=name, harness=replace(harness, module=data), configuration=None, flags=target.flags,
        outcome=outcome, message=message, device=target.device or "", versions=installed(), default=harness,
        files={"script.mlirbc": script},
    )  # fmt: skip
    return write_reproducer(folder, failure)[0]


ROUNDS, _FINAL_S = 64, 10.0

Watch = Callable[[str], None]
"""Gets messages of progress, a line at a time."""


@dataclass(frozen=True)
class ScriptSearch:
    """The result of a search."""

    subjects: tuple[Subject, ...]  # the dispatches that were timed
    # all choices, in the order in which they ended; the script's own is among the first
    trials: tuple[Trial, ...]
    # a few that are correct on several seeds, in the order of a comparison in turns
    ranked: tuple[Trial, ...]
    members: int  # how many choices there are
    # dispatches that the script lowers and that cannot be timed alone, with the reason
    left_out: tuple[str, ...] = ()

    @property
    def default_us(self) -> float:
        """Time of the compiler's own code, in the calls of one invocation."""
        return sum(each.calls * each.default_us for each in self.subjects)


def search_script(
    program: Program, script: Script, lowered: Sequence[str], lab: Lab, stop: StopRequest,
    *, strategy: str = "local", trials: int = 64, seconds: float = math.inf, seed: int = 0,
    finalists: int = 3, rounds: int = ROUNDS, watch: Watch = lambda _: None, records: Records | None = None,
) -> ScriptSearch:  # fmt: skip
    """Try choices of a script's knobs, its own first, on the `lowered` dispatches.

    Args:
        program, script, lowered: the functions are those that `compile_with_script` found.
        lab: where it is built and timed.
        stop: nothing more begins after a request.
        strategy, trials, seed: the strategy that proposes choices, at most `trials`.
        seconds: nothing more begins after this time.
        finalists, rounds: the finalists are checked on several seeds, and ranked in `rounds` turns.
        watch: gets the progress.
        records: store the trials, and have those of earlier runs.

    Raises:
        TunerError: the script has no knobs, or no dispatch that it lowers can be timed alone.
        CompileError: the program does not compile.
        DeviceLostError: the device does not run the compiler's own code any more.
    """
    if not script.knobs:
        raise TunerError("the script has no knobs to search", location=script.path)
    every = extract(program, lab.target, lab.compilers).dispatches
    lowers = [dispatch for dispatch in every if dispatch.name in lowered]
    made = play(lab, [subject_of(each, lab) for each in lowers])
    subjects = tuple(each for each in made if isinstance(each, Subject))
    left_out = tuple(
        f"{each.name}: {why}" for each, why in zip(lowers, made, strict=True) if isinstance(why, str)
    )
    if not subjects:
        raise TunerError(f"no dispatch that the script lowers can be measured alone: {'; '.join(left_out)}")
    records = records or Records(None, stop)
    kind = ScriptChoices(script, subjects, lab, records)
    own = [Assignment.of(script.defaults)]
    search = Search(kind, kind.strategy(strategy, seed), records, first=own, cap=trials)

    def tried(_: Search) -> None:
        best = f", best {1 / search.best.score:.2f}x" if search.best else ""
        watch(f"{search.tried} of {min(trials, kind.size)} assignments tried{best}")

    def plan(_: Search, __: int) -> FinalPlan:
        watch("final comparisons")
        return FinalPlan(finalists, 1, rounds, _FINAL_S, keep=finalists, least=0.0)

    finals = play_searches([search], lab, stop, plan, time.monotonic() + seconds, tried)
    named = finals[search].named if search in finals else ()
    ranked = [each.winner for each in named if each.winner is not None]
    return ScriptSearch(subjects, tuple(search.trials), tuple(ranked), kind.size, left_out)


def subject_of(dispatch: Dispatch, lab: Lab) -> Jobs[Subject | str]:
    """A dispatch with its default, timed; or why it cannot be measured alone."""
    bench = yield from bench_of(dispatch, lab)
    if isinstance(bench, str):
        return bench
    timed, bench = yield from time_default(bench, lab)
    if timed.outcome != "ok":
        return why_it_fails(timed)
    assert dispatch.workload is not None, "it has a bench"
    return Subject(dispatch.name, dispatch.calls.count, bench, min(timed.samples_us), dispatch.workload)
