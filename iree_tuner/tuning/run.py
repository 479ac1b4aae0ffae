"""One run: what was asked for, what it works with, and what it knows. Every step is given this object."""

from __future__ import annotations

import math
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.program.source import Program
from iree_tuner.spec.starters import read_starters, shipped_specs
from iree_tuner.tuning.budget import Budget
from iree_tuner.tuning.candidate import CandidateKind
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Observer
from iree_tuner.tuning.options import TuningOptions, effort_named
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.timeline import Timeline
from iree_tuner.tuning.versions import ProgramVersions


@dataclass(eq=False)
class Run:
    """A run. `tuning.loop` has its steps in their order.

    Attributes:
        program: what is tuned.
        cases: how the program is run, with its cases of sizes.
        options: what was asked for.
        lab: where candidates are compiled and measured, with the target as it was given.
        records: what the run keeps, and the request to stop.
        watch: gets the progress.
        timeline: of the run, which has begun.
        how: how the program is run on the first of its sizes: candidates are tried on one.
        effort: how much is tried.
        starters: configurations to try first, by the workload's key.
        rooflines: file that keeps rooflines that were measured.
        budget: the time of the run.
        versions: the program as a whole, in versions that are compared.
        before_s: for how long a run that did not end has searched with each choice of flags; 0 where none is
            gone on with.
        competing: other kinds of candidates, by the workload's key, and how many of each are tried at most.
        replaced: keys of workloads of which the program is expected to have nothing left in the end.
    """

    program: Program
    cases: ProgramRun
    options: TuningOptions
    lab: Lab
    records: Records
    watch: Observer
    timeline: Timeline

    def __post_init__(self) -> None:
        """Raises TunerError for a starter that is not a spec."""
        options, lab = self.options, self.lab
        self.how = self.cases.cases[0]
        self.stop = self.records.stop
        self.effort = effort_named(options.effort)
        given = options.starters
        specs = shipped_specs(lab.target.backend) if given is None else map(Path, given)
        self.starters = read_starters(specs, lab.context)
        self.rooflines = Path(options.db).with_name("rooflines.json") if options.db else None
        self.budget = Budget(options.budget_s or math.inf, self.timeline, lab.jobs, self.stop)
        self.versions = ProgramVersions(
            self.program, self.cases, lab, self.watch, ErrorDepth(), self.budget.measured
        )
        self.before_s = 0.0
        self.competing: dict[str, list[tuple[CandidateKind, float]]] = {}
        self.replaced: Collection[str] = ()

    @property
    def try_flags(self) -> bool:
        """Whether compiler flags, and flags of the runtime, are tried too."""
        options = self.options
        return not options.self_test and (options.is_long if options.try_flags is None else options.try_flags)

    @property
    def profiled(self) -> bool:
        """Whether the program is profiled, before and after."""
        return self.options.is_long if self.options.profile is None else self.options.profile

    def at_once(self) -> AbstractContextManager[None]:
        """For steps that a request to stop ends at once."""
        return self.stop.cancelling(self.lab.compilers, self.lab.measurer.workers)
