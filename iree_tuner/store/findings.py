"""A run's findings other than trials: the bodies that `Store.add_finding` keeps and a report shows.

A finding belongs to a run, has one of the kinds below, and a body that is one JSON object. Members may be
missing, and unknown ones are passed over: a report shows what is there. Times are in microseconds, shares
from 0 to 1, intervals are pairs of speedups.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, cast

Kind = Literal["profile", "workload", "whole", "conditions", "use", "flags", "time"]


@dataclass(frozen=True)
class Finding:
    """One finding of a run.

    Attributes:
        kind: a `Kind`, or one that a newer version wrote.
        body: see the class of the kind below.
        at: when it was kept, in seconds since 1970.
    """

    kind: str
    body: Mapping[str, object]
    at: float = 0.0


class ProfileBody(TypedDict, total=False):
    """`profile`: where the time went; what a profile is as JSON, and when it was taken.

    Members:
        when: `before` or `after` tuning.
        functions: entry functions that ran.
        whole_us: one invocation of the whole program.
        method: how the parts were timed.
        rows: one a dispatch (see `StoredProfileRow`).
        notes: what a reader of the numbers should know.
        roofline: `flops_per_s` by element type; `levels`, each with `bytes_per_s` and `capacity_bytes`;
            `how`.
    """

    when: Literal["before", "after"]
    functions: Sequence[str]
    whole_us: float
    method: str
    rows: Sequence[Mapping[str, object]]
    notes: Sequence[str]
    roofline: Mapping[str, object] | None


class StoredProfileRow(TypedDict, total=False):
    """A row of a profile.

    Members:
        name: of the dispatch, or in parentheses of something else that takes time.
        workload: the workload's key; empty where it has none.
        workload_name: the workload's name.
        calls: in one invocation of the program.
        time_us: of all these calls.
        share: part of `whole_us`.
        flops: operations of all these calls; 0 where they are not known.
        bytes: data that they move at least; 0 where that is not known.
        element_type: of the computation.
        attainable_us: the least time for all these calls that the roofline allows.
    """

    name: str
    workload: str
    workload_name: str
    calls: float
    time_us: float
    share: float
    flops: float
    bytes: float
    element_type: str
    attainable_us: float


class WorkloadBody(TypedDict, total=False):
    """`workload`: what became of one workload.

    Members:
        workload: its name.
        key: its key.
        share: its part of the time before tuning.
        calls: in one invocation of the program.
        space_count: members of its search space.
        verdict: `win`, `lose` or `tie`; empty where nothing was compared.
        speedup: over the compiler's default, with its `interval`; None where nothing was compared.
        default_us: one call with the default, and `time_us` with the result.
        floor_us: the least that one call can take by the roofline.
        trials: how many were tried.
        outcomes: how many ended in each way.
        seconds: spent on it.
        note: why there was no search, or what spoke against a candidate.
    """

    workload: str
    key: str
    share: float
    calls: int
    space_count: int
    verdict: str
    speedup: float | None
    interval: Sequence[float] | None
    default_us: float | None
    time_us: float | None
    floor_us: float | None
    trials: int
    outcomes: Mapping[str, int]
    seconds: float
    note: str


class WholeBody(TypedDict, total=False):
    """`whole`: the program with and without what was found.

    Members:
        function: the entry function that was compared.
        verdict: `win`, `lose` or `tie`; `speedup` and `interval`, `default_us` and `time_us` as above.
        pairs: how many paired samples there were.
        flags: compiler flags that are part of the result, and `flags_speedup`, what they alone are worth.
        runtime_flags: flags of the runtime that make it faster still; by how much, `runtime_flags_speedup`.
        left_out: workloads whose entries are left out, for the whole is better without.
        steps: what was compared on the way, in order (see `WholeStep`).
        note: why there is no comparison, or why winners were dropped.
    """

    function: str
    verdict: str
    speedup: float | None
    interval: Sequence[float] | None
    default_us: float | None
    time_us: float | None
    pairs: int
    flags: Sequence[str]
    flags_speedup: float | None
    runtime_flags: Sequence[str]
    runtime_flags_speedup: float | None
    left_out: Sequence[str]
    steps: Sequence[Mapping[str, object]]
    note: str


class WholeStep(TypedDict, total=False):
    """A comparison of the whole program on the way to the last one; `what` was in it."""

    what: str
    speedup: float
    interval: Sequence[float]
    verdict: str


class ConditionsBody(TypedDict, total=False):
    """`conditions`: the fields of `store.trial.Setting`, and more of the same as text; `readings`.

    Members:
        setting: names and values.
        readings: names of `device.outcome.Readings`, each with its least and largest value.
    """

    setting: Mapping[str, object]
    readings: Mapping[str, object]


class FlagsBody(TypedDict, total=False):
    """`flags`: choices of compiler flags, for a run that goes on where this one was killed.

    Members:
        key: of program, target and effort.
        choices: each with its `options`, its `comparison` (None for the program as given), and the number of
            the choice among these that it was compared with, `base`.
        build_s, check_s: what compiling and checking the program took, in seconds.
        searched_s: for how long earlier runs had searched that this one went on with.
    """

    key: str
    choices: Sequence[Mapping[str, object]]
    build_s: float
    check_s: float
    searched_s: float


class TimeBody(TypedDict, total=False):
    """`time`: where the time of the run went, in seconds since it began.

    Members:
        stages: in order, each with `name`, `begin` and `end`.
        workers: each with its name, `worker`, and the stretches in which it was `busy`.
    """

    stages: Sequence[Mapping[str, object]]
    workers: Sequence[Mapping[str, object]]


class UseBody(TypedDict, total=False):
    """`use`: `commands` that apply the result, to be copied as they stand, and the path of the `spec`."""

    commands: Sequence[str]
    spec: str


def body_text(body: Mapping[str, object]) -> str:
    """A body as JSON. Numbers that JSON does not have become texts, and so do values that are not JSON."""
    return json.dumps(_plain(body), default=str, allow_nan=False)


def body_of(text: str) -> dict[str, object]:
    """A body from its text. Raises TypeError for anything except an object, ValueError if it is no JSON."""
    data: object = json.loads(text)
    if not isinstance(data, dict):
        raise TypeError("the body is not an object")
    return cast("dict[str, object]", data)


def _plain(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {str(name): _plain(member) for name, member in members.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in cast("Sequence[object]", value)]
    return value
