"""Candidates of one kind for one workload: the protocol between the engine and their makers.

The engine knows only this: a candidate has a key (an `Assignment`), can be compiled in a worker, is timed in
its kind's bench next to that bench's default, and can be described. The compiler's configurations are here;
external kernels' variants are in `kernels.variants`, scripts' knobs in `script.choices`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from iree_tuner.compiler.versions import installed
from iree_tuner.device.device_facts import DeviceFacts, facts_of, machine_of
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.measurer import AnyBench
from iree_tuner.program.dispatch import fingerprint
from iree_tuner.search.cost.landscape import SpaceLandscape
from iree_tuner.search.strategy import Strategy, make_strategy
from iree_tuner.space.compilers_choice import Written, nearest_member, starting_point_of
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.joint import JointSpace
from iree_tuner.space.verify.constraints import Constraints
from iree_tuner.spec.io import Starter
from iree_tuner.store.reproducer import FailedCandidate, write_reproducer
from iree_tuner.store.trial import Setting, StudyKey, Trial
from iree_tuner.targets import Target
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import Effort
from iree_tuner.tuning.records import Records

if TYPE_CHECKING:
    from iree_tuner.tuning.baseline import Baseline, Task

_ALIKE = 3.0
"""Times: cold caches and what surrounds a dispatch make less of a difference."""

_RELATIVES = 3
_EACH = 3


@dataclass(frozen=True)
class CompileLimits:
    """The limits of a candidate's compilation."""

    compile_s: float = math.inf  # seconds on an idle machine
    most_ops: int = 0  # operations before code generation; 0 for any number


class CandidateKind(Protocol):
    """Candidates of one kind for one workload."""

    name: str  # of the kind: empty for the compiler's configurations, else of the kernel or script
    workload: str
    default: Built  # how that default was built
    default_us: float  # the first measurement
    own_digest: str  # of the default's code, which is not timed again; empty if no candidate can have it
    limits: CompileLimits  # of each compilation
    most_places: int  # addresses of the code at which they can be built (see `device.placement`)
    wrong: str  # what is wrong with the default's results: then a reference is taken as correct
    over: str  # the part of the program's dispatch that the default is, on one line; empty for all of it

    @property
    def bench(self) -> AnyBench:
        """The bench that candidates are timed in."""
        ...

    @property
    def size(self) -> int:
        """How many candidates there are."""
        ...

    def strategy(self, name: str, seed: int) -> Strategy:
        """The strategy that proposes candidates."""
        ...

    def study(self) -> StudyKey:
        """The facts that must be equal for trials of another run to be used in this one."""
        ...

    def submit(
        self, assignment: Assignment, limits: CompileLimits, *, place: int, verify: bool
    ) -> Future[Built]:
        """Begin to compile one; `lab.builder.result` says how it ended.

        Args:
            place: of the code, see `device.placement`.
            verify: whether the IR is verified after each pass, for code that is to be used.
        """
        ...

    def reproduce(self, trial: Trial) -> str:
        """A folder that shows a failure; empty where none is written."""
        ...


def default_scale(kind: CandidateKind, task: Task, weight_us: float) -> float:
    """The time of the default that candidates are compared with, relative to the program's default.

    A kernel is compared with its problem alone, of which the compiler may make much faster or slower code.
    The scale is 1 if they are nearly alike, and for the compiler's configurations. `weight_us` is the
    program's time per invocation for the task with its default.
    """
    if not kind.name or not task.calls or not weight_us:
        return 1.0
    found = kind.default_us * task.calls / weight_us
    return 1.0 if 1.0 / _ALIKE < found < _ALIKE else found


class Configurations:
    """The compiler's own pipelines with other parameters: a `CandidateKind`. `starters` are tried first."""

    name = ""
    over = ""
    most_places = 1 << 10

    def __init__(
        self, baseline: Baseline, lab: Lab, effort: Effort, records: Records, starters: Sequence[Starter] = ()
    ) -> None:
        assert baseline.space is not None, "there is something to try"
        self.baseline = baseline
        self.space: JointSpace = baseline.space
        self.workload = baseline.task.workload.key
        self.bench = baseline.bench
        self.default = baseline.default
        self.default_us = baseline.default_us
        self.own_digest = baseline.default.digest
        self.wrong = baseline.wrong
        self.limits = CompileLimits(
            effort.compile_limit_s(baseline.default.idle_s, waited_for=lab.alternate),
            effort.most_ops(baseline.default.ops),
        )
        self._lab = lab
        self._starters = [Written(each.lowering_config, each.translation_info) for each in starters]
        self._start = starting_point_of(self.space, Written.by_compiler(baseline.task.dispatches[0]))
        self._failures = records.failures

    @property
    def size(self) -> int:
        return self.space.count()

    def strategy(self, name: str, seed: int) -> Strategy:
        """By its name, starting at the compiler's choice."""
        limits = self.baseline.task.dispatches[0].limits
        landscape = SpaceLandscape(self.space, machine_of(self._lab.measurer.facts, limits))
        return make_strategy(name, landscape, seed, self._start)

    def study(self) -> StudyKey:
        """Of the space, for this code, on this device."""
        return StudyKey(
            setting=setting_on(self._lab.target, self._lab.measurer.facts, cold=self._lab.cold),
            workload=self.baseline.task.workload,
            code=fingerprint(self.bench.harness),
            space=self.space.fingerprint,
            space_label=self.space.label,
            space_size=self.space.count(),
        )

    def first(self, records: Records) -> list[Assignment]:
        """The first candidates: from specs, then the best ones of similar workloads."""
        wanted = [starting_point_of(self.space, each) for each in self._starters]
        found = records.relatives(self.study(), _RELATIVES, _EACH)
        best = [each.best[place] for place in range(_EACH) for each in found if place < len(each.best)]
        wanted += [nearest_member(self.space, each.assignment) for each in best]
        return list(dict.fromkeys(each for each in wanted if each is not None and each != self._start))

    def doubts(self) -> list[str]:
        """Faults in the specs' configurations of the workload, found before any of them is compiled."""
        if not self._starters:
            return []
        constraints = Constraints(self.space.spaces, self.baseline.task.dispatches[0].limits)
        return [
            f"the starter for {self.baseline.task.workload.name} is illegal here: "
            f"{finding.message}; the nearest legal configuration is tried instead"
            for each in self._starters
            for finding in constraints.judge(each).findings
            if finding.severity == "error"
        ]

    def submit(
        self, assignment: Assignment, limits: CompileLimits, *, place: int, verify: bool
    ) -> Future[Built]:
        """The dispatch with the configuration on its ops."""
        return self._lab.builder.submit(
            self.bench.harness, self.space.configuration(assignment), place, limits.compile_s,
            limits.most_ops, verify,
        )  # fmt: skip

    def reproduce(self, trial: Trial) -> str:
        """With a command of IREE's own tools; empty where none is wanted or could be written."""
        if self._failures is None:
            return ""
        target = self._lab.target
        failure = FailedCandidate(
            workload=self.baseline.task.workload.name, harness=self.bench.harness,
            configuration=self.space.configuration(trial.assignment), flags=target.flags,
            outcome=trial.outcome, message=trial.message, device=trial.device or target.device or "",
            versions=installed(),
        )  # fmt: skip
        return write_reproducer(self._failures, failure)[0]


def setting_on(target: Target, facts: DeviceFacts | None = None, *, cold: bool = True) -> Setting:
    """The setting of this process, with a device whose host says this of it; by default of this machine."""
    versions = installed()
    uri = target.device or ""
    facts = facts or facts_of(uri)
    return Setting(
        compiler=versions["iree-base-compiler"] or "", runtime=versions["iree-base-runtime"] or "",
        target=str(target), flags=target.flags, device=uri.partition("://")[0], processor=facts.name,
        cores=facts.units, driver=facts.driver, cold=cold,
    )  # fmt: skip
