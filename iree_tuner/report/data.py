"""The contents of a report, as plain data. None, or an empty tuple, stands for unknown data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from iree_tuner.store.failures import FailureGroup


@dataclass(frozen=True)
class Compared:
    """A comparison with the compiler's default.

    Attributes:
        verdict: `win`, `lose` or `tie`; empty when nothing was compared.
        speedup: default's time by the other's, with its `interval`.
        default_us: the default's time, and `time_us` the other's, in microseconds.
    """

    verdict: str = ""
    speedup: float | None = None
    interval: tuple[float, float] | None = None
    default_us: float | None = None
    time_us: float | None = None


@dataclass(frozen=True)
class TrialPoint:
    """A trial.

    Attributes:
        order: its place among the workload's trials, from 1 on.
        outcome: how it ended (see `device.outcome`).
        score: its time relative to the default's; None if it did not run.
        time_us: its time, in microseconds.
        pipeline: label of its space; empty where there is one only.
        knobs: its knobs there.
    """

    order: int
    outcome: str
    score: float | None
    time_us: float | None
    pipeline: str
    knobs: Mapping[str, int]


@dataclass(frozen=True)
class WorkloadPart:
    """A workload of the program.

    Attributes:
        name: as the tuner writes it.
        label: a shorter name, unique in the report.
        key: its key.
        share: its part of the program's time before tuning.
        calls: how often the program runs it.
        compared: the best candidate with the default.
        floor_us: the least that one call can take by the roofline.
        tried: how many candidates there were.
        earlier: how many of these an earlier run had tried.
        outcomes: how many ended in each way.
        space_count: members of its search space.
        seconds: spent on it.
        note: why there was no search, or what spoke against a candidate.
        points: its trials, oldest first.
        target: what it was tried for, where that is not what the result is for.
        kernel: name of the external kernel whose variants were tried; empty for configurations.
    """

    name: str
    label: str
    key: str = ""
    share: float | None = None
    calls: int | None = None
    compared: Compared = Compared()
    floor_us: float | None = None
    tried: int = 0
    earlier: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict[str, int])
    space_count: int | None = None
    seconds: float | None = None
    note: str = ""
    points: tuple[TrialPoint, ...] = ()
    target: str = ""
    kernel: str = ""


@dataclass(frozen=True)
class Slice:
    """Part of a program's time: all calls of one workload, or of one dispatch that has none.

    Attributes:
        label: the workload's label, or the dispatch's name.
        calls: in one invocation.
        time_us: of all these calls.
        flops: operations of all these calls, and `bytes` that they move at least.
        element_type: of the computation.
        attainable_us: the least time for all these calls that the roofline allows.
    """

    label: str
    calls: int | None = None
    time_us: float = 0.0
    flops: float | None = None
    bytes: float | None = None
    element_type: str = ""
    attainable_us: float | None = None


@dataclass(frozen=True)
class RoofLevel:
    """A level of memory: how fast it is read, and what fits in it (None: everything)."""

    bytes_per_s: float
    capacity_bytes: float | None = None


@dataclass(frozen=True)
class Roof:
    """The device's limits.

    Attributes:
        peaks: operations a second, by element type.
        levels: nearest first.
        how: where the numbers are from.
    """

    peaks: Mapping[str, float] = field(default_factory=dict[str, float])
    levels: tuple[RoofLevel, ...] = ()
    how: str = ""


@dataclass(frozen=True)
class TimeProfile:
    """Where the time of one invocation went.

    Attributes:
        when: `before` or `after` tuning.
        whole_us: time of the whole program.
        slices: its parts, largest first.
        method: how they were timed.
        roof: of the device that they were timed on.
        notes: what a reader should know.
    """

    when: str
    whole_us: float | None = None
    slices: tuple[Slice, ...] = ()
    method: str = ""
    roof: Roof = Roof()
    notes: tuple[str, ...] = ()

    @property
    def explained_us(self) -> float:
        """Time of all parts."""
        return sum(each.time_us for each in self.slices)

    @property
    def rest_us(self) -> float | None:
        """Time of the whole that no part explains; negative where parts overlap."""
        return None if self.whole_us is None else self.whole_us - self.explained_us


@dataclass(frozen=True)
class ReportedStep:
    """A comparison of the whole program on the way to the last one; `what` was in it."""

    what: str
    compared: Compared


@dataclass(frozen=True)
class WholePart:
    """The program with and without the result.

    Attributes:
        compared: the last comparison.
        function: the entry function that was run.
        pairs: how many paired samples there were.
        flags: compiler flags that are part of the result.
        flags_speedup: what they alone are worth.
        runtime_flags: flags of the runtime that make it faster still.
        runtime_flags_speedup: by how much.
        left_out: workloads that are left out, for the whole is better without.
        steps: what was compared on the way.
        note: why there is no comparison, or why winners were dropped.
    """

    compared: Compared = Compared()
    function: str = ""
    pairs: int | None = None
    flags: tuple[str, ...] = ()
    flags_speedup: float | None = None
    runtime_flags: tuple[str, ...] = ()
    runtime_flags_speedup: float | None = None
    left_out: tuple[str, ...] = ()
    steps: tuple[ReportedStep, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Use:
    """How to apply the result.

    Attributes:
        commands: to be copied as they stand.
        spec: path of the spec.
        assumed: whether the path is only what the command line would have called it.
    """

    commands: tuple[str, ...] = ()
    spec: str = ""
    assumed: bool = False


@dataclass(frozen=True)
class Stretch:
    """A part of the run's time, in seconds since it began: of a stage, or in which a worker was busy."""

    name: str
    begin: float
    end: float


@dataclass(frozen=True)
class TimePart:
    """Where the time of the run went.

    Attributes:
        stages: in order.
        busy: of each worker, by its name.
    """

    stages: tuple[Stretch, ...] = ()
    busy: tuple[Stretch, ...] = ()


@dataclass(frozen=True)
class ReportedRun:
    """A run as the database, or its caller, knows it.

    Attributes:
        program: its name, often a path.
        number: the run's number in its database; None for one that is in none.
        options: what it was started with.
        started, ended: in seconds since 1970.
        state: `done`, `interrupted`, `failed`, or `running`, also for one that was killed.
    """

    program: str
    number: int | None = None
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    started: float | None = None
    ended: float | None = None
    state: str = ""


@dataclass(frozen=True)
class RunReport:
    """Everything that a page shows.

    Attributes:
        run: what ran.
        workloads: largest share of the time first.
        aside: what was tried under other compiler flags, which are not used.
        whole: the program with and without the result; None where nothing is known of it.
        before, after: profiles.
        failures: what failed, by cause, the most frequent first; `studies` counts workloads.
        conditions: names and values of the measurement's conditions.
        use: how to apply the result.
        time: where the time of the run went.
    """

    run: ReportedRun
    workloads: tuple[WorkloadPart, ...] = ()
    aside: tuple[WorkloadPart, ...] = ()
    whole: WholePart | None = None
    before: TimeProfile | None = None
    after: TimeProfile | None = None
    failures: tuple[FailureGroup, ...] = ()
    conditions: tuple[tuple[str, str], ...] = ()
    use: Use = Use()
    time: TimePart = TimePart()

    @property
    def tried(self) -> int:
        """How many candidates there were."""
        return sum(each.tried for each in (*self.workloads, *self.aside))

    @property
    def wins(self) -> tuple[WorkloadPart, ...]:
        """Workloads that got faster."""
        return tuple(each for each in self.workloads if each.compared.verdict == "win")
