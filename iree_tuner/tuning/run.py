"""One run: what was asked for, what it works with, and what it knows. Every step is given this object."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.source import Program
from iree_tuner.spec.io import read_starters, shipped_specs
from iree_tuner.tuning.budget import Budget
from iree_tuner.tuning.candidate import CandidateKind
from iree_tuner.tuning.earlier import EarlierResult
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Observer
from iree_tuner.tuning.options import TuningOptions, effort_named
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.source import CandidateSource
from iree_tuner.tuning.timeline import Timeline
from iree_tuner.tuning.versions import Change, ProgramVersions


@dataclass(eq=False)
class Run:
    """A run, with its program as a whole (`versions`). `tuning.loop` has its steps in their order."""

    program: Program
    cases: ProgramRun  # how the program is run, with its cases of sizes
    options: TuningOptions
    lab: Lab  # where candidates are compiled and measured, with the target as it was given
    records: Records  # what the run keeps, and the request to stop
    watch: Observer
    timeline: Timeline  # of the run, which has begun
    sources: Sequence[CandidateSource]  # of candidates besides configurations
    folder: Path  # for files that the compiler reads, and that last as long as the run
    earlier: EarlierResult | None = None  # that the result may replace

    def __post_init__(self) -> None:
        """Raises TunerError for a starter that is not a spec."""
        options, lab = self.options, self.lab
        if options.self_test:
            self.sources, self.earlier = (), None
        # the run on the first of the sizes, with which candidates are tried
        self.how = self.cases.cases[0]
        self.stop = self.records.stop
        self.effort = effort_named(options.effort)
        given = options.starters
        specs = shipped_specs(lab.target.backend) if given is None else map(Path, given)
        # configurations to try first, by the workload's key
        self.starters = read_starters(specs, lab.context)
        # file of measured rooflines
        self.rooflines = Path(options.db).with_name("rooflines.json") if options.db else None
        self.budget = Budget(
            options.budget_s or math.inf, self.timeline, lab.jobs, self.stop, compiled=options.compiled,
            profiled=self.profiled,
        )  # fmt: skip
        self.versions = ProgramVersions(
            self.program, self.cases, lab, self.watch, ErrorDepth(), self.budget.measured,
            self.every_source, self.folder,
        )  # fmt: skip
        # time that an interrupted run has searched with each choice of flags
        self.before_s = 0.0
        # other kinds of candidates, by the workload's key, with the maximum number of trials
        self.competing: dict[str, list[tuple[CandidateKind, float]]] = {}
        # keys of workloads that sources are expected to replace
        self.replaced = set[str]()
        # of the first answer, whose results are right
        self.proven: Sequence[Change] = ()
        # of the program with the flags as they were given
        self.dispatches: Sequence[Dispatch] = ()

    @property
    def every_source(self) -> tuple[CandidateSource, ...]:
        """The sources of all changes, with those of the earlier result."""
        return (*self.sources, *(self.earlier.sources if self.earlier else ()))

    @property
    def profiled(self) -> bool:
        """Whether the program is profiled, before and after."""
        return self.options.is_long if self.options.profile is None else self.options.profile

    def at_once(self) -> AbstractContextManager[None]:
        """For steps that a request to stop ends at once."""
        return self.stop.cancelling(self.lab.compilers, self.lab.measurer.workers)
