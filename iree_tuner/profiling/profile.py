"""A program's profile, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from iree_tuner.profiling import roofline as rooflines
from iree_tuner.profiling.roofline import Roofline

Method = Literal["hal", "standalone"]
Kind = Literal["dispatch", "transfer", "overhead"]

FORMAT = 1
"""Number of the JSON that profiles are written as."""


@dataclass(frozen=True)
class ProfileRow:
    """The time of one dispatch, or of other work of the device, in an invocation."""

    name: str  # of the dispatch, as the program's executables export it; in parentheses for other work
    kind: Kind  # `dispatch`; `transfer` for fills and copies; `overhead` for the time between them
    calls: float  # in one invocation
    time_us: float  # of all of them
    share: float  # part of the whole's time
    flops: float = 0.0  # arithmetic operations of all calls; 0 where they are not known
    bytes: float = 0.0  # that all calls read and write; 0 where they are not known
    element_type: str = ""  # of the elements that are multiplied or combined
    attainable_us: float = 0.0  # the roofline's least time for all calls; 0 if not known
    workload: str = ""  # key of its workload; empty where it has none
    workload_name: str = ""
    tunable: bool = False  # whether it can be tuned
    note: str = ""  # why it cannot, or why there is no time of it

    @property
    def flops_per_s(self) -> float:
        """Achieved arithmetic."""
        return self.flops / self.time_us * 1e6 if self.time_us else 0.0

    @property
    def bytes_per_s(self) -> float:
        """Achieved movement of data."""
        return self.bytes / self.time_us * 1e6 if self.time_us else 0.0


@dataclass(frozen=True)
class WorkloadShare:
    """The dispatches of one workload together."""

    workload: str
    name: str
    dispatches: tuple[str, ...]
    calls: float
    time_us: float
    share: float
    attainable_us: float


@dataclass(frozen=True)
class Profile:
    """Where a program's time goes."""

    program: str  # where it came from
    target: str
    device: str
    functions: tuple[str, ...]  # the entry functions that were run, once each an invocation
    method: Method  # `hal`: from profiled invocations; `standalone`: dispatches were timed alone
    whole_us: float  # one invocation without profiling: mean of the quietest quarter of its samples
    whole_range_us: tuple[float, float]  # quartiles of all samples, which are far apart on a busy machine
    rows: tuple[ProfileRow, ...]  # largest time first
    # time of a profiled invocation, by the profile's own clock, from its first submission to the device to
    # the end of its last work; 0 where there is none. The rows are parts of it
    profiled_us: float = 0.0
    roofline: Roofline | None = None  # the device's bounds; None where they are not known
    conditions: tuple[tuple[str, str], ...] = ()  # what it was measured under, as names and values
    notes: tuple[str, ...] = ()  # what a reader of the numbers should know

    @property
    def dispatches_us(self) -> float:
        """Sum over dispatches, and nothing else."""
        return sum(row.time_us for row in self.rows if row.kind == "dispatch")

    @property
    def explained_us(self) -> float:
        """Sum over all rows."""
        return sum(row.time_us for row in self.rows)

    @property
    def rest_us(self) -> float:
        """The whole less all rows; negative where they add up to more."""
        return self.whole_us - self.explained_us

    def by_workload(self) -> tuple[WorkloadShare, ...]:
        """Rows that have a workload, summed by it; largest time first."""
        rows: dict[str, list[ProfileRow]] = {}
        for row in self.rows:
            if row.workload:
                rows.setdefault(row.workload, []).append(row)
        sums = ("calls", "time_us", "share", "attainable_us")
        summed = (
            WorkloadShare(
                key, group[0].workload_name, tuple(row.name for row in group),
                *(sum(getattr(row, name) for row in group) for name in sums),
            )
            for key, group in rows.items()
        )  # fmt: skip
        return tuple(sorted(summed, key=lambda each: -each.time_us))


def to_json(profile: Profile) -> dict[str, object]:
    """As JSON-ready data; sums are added for readers."""
    return {
        "format": FORMAT, "program": profile.program, "target": profile.target, "device": profile.device,
        "functions": list(profile.functions), "method": profile.method, "whole_us": profile.whole_us,
        "whole_range_us": list(profile.whole_range_us), "profiled_us": profile.profiled_us,
        "dispatches_us": profile.dispatches_us, "explained_us": profile.explained_us,
        "rest_us": profile.rest_us, "rows": [asdict(row) for row in profile.rows],
        "roofline": None if profile.roofline is None else rooflines.to_json(profile.roofline),
        "conditions": dict(profile.conditions), "notes": list(profile.notes),
    }  # fmt: skip
