"""A script's knobs as candidates: compiled on the dispatches that it lowers, timed and kept as others are.

A script's knobs as a search space: constraint IR, as every space is.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
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
from iree_tuner.measure.candidate import Built
from iree_tuner.ops.workload import Workload
from iree_tuner.program.bindings import Harness
from iree_tuner.program.dispatch import fingerprint
from iree_tuner.script.build import build_here
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
from iree_tuner.store.study import StudyKey
from iree_tuner.store.trial import Trial
from iree_tuner.targets import Target
from iree_tuner.tuning.candidate import CompileLimits, setting_on
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.records import Records


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
    return Space(workload, build_constraints(pipeline, fill, context))


def own_choice(script: Script) -> Assignment:
    """Where a search sets out from: the values in the script."""
    return Assignment.of(script.defaults)


class ScriptLandscape:
    """A script's space as strategies see it. Nothing is known about it beforehand, because scripts differ."""

    kind = "script"

    def __init__(self, space: Space) -> None:
        self._space = space
        self.features, self.neighbors = space.names, space.neighbors
        self.shuffled = self.staged = space.shuffled  # a script has no secondary options

    def is_plain(self, assignment: Assignment) -> bool:
        """Always."""
        del assignment
        return True

    def encode(self, assignments: Sequence[Assignment]) -> Array:
        """A row of logarithms for each."""
        rows = [self._space.encode(each) for each in assignments]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(self.features))

    def guess(self, rows: Array) -> Array | None:
        """None."""
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


class ScriptChoices:
    """The choices of a script's knobs: a `CandidateKind`.

    The script, with one knob at least, lowers the subjects; `workload` is that of one of them.
    """

    own_digest = ""  # no choice is the compiler's code
    most_places = 1
    wrong = ""
    over = ""

    def __init__(
        self, script: Script, subjects: Sequence[Subject], workload: Workload, lab: Lab, records: Records
    ) -> None:
        self.name = script.name
        self.workload = workload.key
        self.bench = JointBench.of([each.bench for each in subjects], [each.calls for each in subjects])
        self.default = Built("ok", self.bench.default)
        self.default_us = sum(each.calls * each.default_us for each in subjects)
        self.limits = CompileLimits(lab.builder.timeout_s)
        self.space = script_space(script, workload, lab.context)
        self._script = script
        self._subjects = subjects
        self._workload = workload
        self._lab = lab
        self._records = records

    @property
    def size(self) -> int:
        """How many choices there are."""
        return self.space.count()

    @property
    def start(self) -> Assignment:
        """The script's own choice."""
        return own_choice(self._script)

    def strategy(self, name: str, seed: int) -> Strategy:
        """By its name, starting at the script's own choice."""
        return make_strategy(name, ScriptLandscape(self.space), seed, self.start)

    def study(self) -> StudyKey:
        """Of this script, on these dispatches and this device."""
        code = hashlib.sha256("".join(fingerprint(each.bench.harness) for each in self._subjects).encode())
        text = self._script.chosen({knob.name: knob.values[0] for knob in self._script.knobs}).data
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
            self._script.chosen(assignment).data,
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
                self._script.chosen(trial.assignment).data, f"{failed.name}-{self.name}", trial.outcome,
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
