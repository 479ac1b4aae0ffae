"""A run's record: what the database keeps of it besides trials, `--json` prints, and a report shows.

The database keeps it as findings: each has a kind and a body, one JSON object. The kinds are `workload`
(`WorkloadRecord`), `whole` (`WholeRecord`), `profile` (`profiling.profile.to_json`, and `when` it was taken),
`conditions`, `use` (`Use`), and `flags`, which is no part of the record (`tuning/flags.py`). Findings of
other versions are read, too: unknown members are passed over, and members that are missing or of another type
have their defaults. Times are in microseconds (`_us`) or seconds (`_s`), shares from 0 to 1.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from types import NoneType, UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from iree_tuner.device.outcome import Readings
from iree_tuner.store.rows import plain, text
from iree_tuner.store.trial import Setting, Trial

MOST = sys.float_info.max
Finite = Annotated[float, Meta(ge=-MOST, le=MOST)]
Positive = Annotated[float, Meta(gt=0, le=MOST)]
Count = Annotated[int, Meta(ge=0)]
Pair = tuple[Finite, Finite]
"""The lower and the upper end."""

Outcomes = Mapping[str, Annotated[int, Meta(gt=0)]]
"""How many candidates ended in each way."""


@dataclass(frozen=True)
class Finding:
    """One finding of a run."""

    kind: str  # see the module, or one that a newer version wrote
    body: Mapping[str, object]  # one JSON object
    at: float = 0.0  # when it was kept, in seconds since 1970


class Compared(Struct, kw_only=True, frozen=True):
    """A comparison with the compiler's default."""

    verdict: str | None = None  # `win`, `lose`, `tie` or `mended`; None or empty where nothing was compared
    speedup: Positive | None = None  # the default's time by the other's, and its confidence `interval`
    interval: tuple[Positive, Positive] | None = None


class TimedRecord(Compared, kw_only=True, frozen=True):
    """A comparison with its times: the default's, the other's, and the number of paired samples."""

    default_us: Positive | UnsetType = UNSET
    time_us: Positive | UnsetType = UNSET
    pairs: Count | UnsetType = UNSET


class KernelRecord(TimedRecord, frozen=True):
    """An external kernel that was tried for a workload."""

    kernel: str = ""
    count: Count = 0  # the number of its variants, of which `trials` were tried
    trials: Count = 0
    outcomes: Outcomes = {}  # number of trials by outcome
    note: str = ""  # why it was rejected
    over: str = ""  # what it was compared with, if not with the program's own dispatch
    knobs: Mapping[str, int] | UnsetType = UNSET  # of the variant that won


class WorkloadRecord(TimedRecord, frozen=True):
    """One workload and its last comparison."""

    workload: str = ""  # its name; `key` its key, `family` its op family
    key: str = ""
    family: str = ""
    dispatches: Sequence[str] = ()  # its dispatches, with their `calls` in one invocation
    calls: Count | None = None
    share: Finite | None = None  # its part of the program's time before tuning
    count: Count | None = None  # members of its search space, of which `trials` were tried
    trials: Count = 0
    outcomes: Outcomes = {}  # number of trials by outcome
    seconds: Finite | None = None  # spent on it; `searched_s` without the final comparison
    searched_s: Finite | None = None
    note: str = ""  # why there was no search, or why a candidate was rejected
    competitors: Sequence[KernelRecord] | UnsetType = UNSET  # external kernels that were tried
    configuration: Mapping[str, str] | UnsetType = UNSET  # attributes of the winner by op
    replaced_by: str | UnsetType = UNSET  # `kernel`, for example: what the result has instead


class Size(Compared, frozen=True):
    """A comparison of the program on inputs of one size, `dim`; `error` where that version failed."""

    dim: str = ""
    error: str | UnsetType = UNSET


class StepRecord(Compared, frozen=True):
    """A comparison of the whole program before the last one: `what` was compared with `against`."""

    what: str = ""
    against: str = ""
    error: str = ""
    sizes: Sequence[Size] = ()


def versus(what: str, against: str) -> str:
    """The names of two versions for people: `tuned vs. default`."""
    named = f"{what} vs. {against}".replace("default flags with the spec", "tuned")
    return named.replace("default flags and ", "").replace("default flags", "default")


class ChangeRecord(Struct, frozen=True):
    """A change by a source of candidates, `count` times: layers with other constants are one change."""

    source: str = ""
    where: str = ""  # what is replaced; empty for the whole program
    how: str = ""
    count: Count = 1


class Stretch(Struct, frozen=True):
    """A stage of the run, in seconds since it began."""

    name: str
    begin: Finite
    end: Finite


class Worker(Struct, frozen=True):
    """When a worker was `busy`, and how many seconds each of its functions took."""

    worker: str
    busy: Sequence[Pair] = ()
    seconds: Mapping[str, Finite] = {}


class TimelineRecord(Struct, frozen=True):
    """Where the time of the run went."""

    stages: Sequence[Stretch] = ()
    workers: Sequence[Worker] = ()


class EarlierRecord(Compared, frozen=True):
    """An earlier result that the run may replace, and the comparison of the new one with it."""

    state: str = ""  # kept, beaten, not compared, or none (`tuning.verdict`)
    note: str = ""  # why, for the last two


class WholeRecord(TimedRecord, frozen=True):
    """The program with and without the result."""

    program: str = ""  # its name, tuned for `target`
    target: str = ""
    spec: str | None = None  # where it was written, and `kernel_spec`; None where it was not
    kernel_spec: str | None = None
    workloads: Count = 0  # how many there are, and how many are `wins`
    wins: Count = 0
    sizes: Sequence[Size] = ()  # the comparison on each size, for several
    flags: Sequence[str] = ()  # compiler flags of the result, and `flags_speedup`, their own
    flags_speedup: Positive | None = None
    runtime_flags: Sequence[str] = ()  # flags of the runtime, and `runtime_flags_speedup`, their own
    runtime_flags_speedup: Positive | None = None
    entries: Count = 0  # how many the spec has
    changes: Sequence[ChangeRecord] = ()  # that are part of the result
    left_out: Sequence[str] = ()  # workloads whose entries are left out: the program is faster without
    steps: Sequence[StepRecord] = ()  # all comparisons on the way, in order
    seconds: Finite = 0.0  # of the run, and of each of its `stages`
    stages: Mapping[str, Finite] = {}
    timeline: TimelineRecord = TimelineRecord()
    searched_s: Finite = 0.0  # time of the search, its rate, and the part of it in which devices measured
    candidates_per_hour: Finite = 0.0
    devices_busy: Finite = 0.0
    checked_s: Finite = 0.0  # time for comparing results
    interrupted: bool = False  # whether the run was stopped
    dropped: bool = False  # whether winners were left out, because they do not help the program
    note: str = ""  # why there is no comparison, or why winners were dropped
    earlier: EarlierRecord | UnsetType = UNSET  # where the run's output was there already
    # the compared entry function; memory is provided once if `memory_provided`
    function: str | UnsetType = UNSET
    memory_provided: bool | UnsetType = UNSET


class Use(Struct, frozen=True):
    """How to apply the result: `commands`, to be copied as they stand, and the path of the `spec`.

    `again` is the command that repeats the run.
    """

    commands: Sequence[str] = ()
    spec: str = ""
    again: str = ""


class RunRecord(Struct, frozen=True):
    """A run, without its trials."""

    workloads: Sequence[WorkloadRecord] = ()  # in the order in which they were kept
    whole: WholeRecord | None = None  # None where nothing is known of it
    profiles: Sequence[Mapping[str, Any]] = ()  # as they were kept
    # `setting`, a `store.trial.Setting`; `readings`, each with its least and largest value; and more of the
    # same as text
    conditions: Mapping[str, Any] = {}
    use: Use | None = None  # None where the command line did not keep it

    def findings(self) -> list[Finding]:
        """As the database keeps it."""
        bodies = {
            "profile": self.profiles, "workload": self.workloads, "whole": [self.whole],
            "conditions": [self.conditions], "use": [self.use],
        }  # fmt: skip
        return [Finding(kind, as_json(each)) for kind, found in bodies.items() for each in found if each]


def as_json(record: Struct | Mapping[str, Any]) -> Mapping[str, Any]:
    """A record as JSON-ready data. Numbers of numpy are numbers, other values become texts."""
    return msgspec.to_builtins(
        record, enc_hook=lambda value: float(value) if isinstance(value, float) else str(value)
    )


def record_of(findings: Iterable[Finding]) -> RunRecord:
    """The stored record; of several findings of a kind the last counts."""
    kept: dict[str, list[Mapping[str, Any]]] = {}
    for each in sorted(findings, key=lambda finding: finding.at):
        kept.setdefault(each.kind, []).append(each.body)
    last = {kind: bodies[-1] for kind, bodies in kept.items()}
    whole = dict(last.get("whole", {}))
    if "time" in last:  # had a finding of its own
        whole["timeline"] = last["time"]
    for names in known(whole.get("kernels"), Sequence[str]):  # what kernels replace, as often as it occurs
        counted = Counter(names).items()
        whole["changes"] = [{"source": "kernels", "where": name, "count": count} for name, count in counted]
    record = {
        # `count` was `space_count`
        "workloads": [{"count": body.get("space_count"), **body} for body in kept.get("workload", ())],
        "whole": whole if "whole" in last or "time" in last else None,
        "profiles": kept.get("profile", ()),
        "conditions": last.get("conditions", {}),
        "use": last.get("use"),
    }
    return known(record, RunRecord)[0]


def known(value: Any, kind: Any) -> list[Any]:  # noqa: ANN401 (any type that a member has)
    """A value as a type, in a list, which is empty for a value of another type.

    Members of objects with other types have their defaults, such items of lists are left out. Pairs ascend.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        tried = (known(value, each) for each in parts if each not in (NoneType, UnsetType))
        return next(filter(None, tried), [])
    if isinstance(value, Mapping) and isinstance(kind, type) and issubclass(kind, Struct):
        members, own = cast("Mapping[str, Any]", value), msgspec.structs.fields(kind)
        given = {
            each.name: found for each in own for found in known(members.get(each.encode_name), each.type)
        }
        return [] if any(each.required and each.name not in given for each in own) else [kind(**given)]
    if isinstance(value, Mapping) and origin is Mapping:
        items = cast("Mapping[object, Any]", value).items()
        return [{text(str(name)): found for name, each in items for found in known(each, parts[1])}]
    if isinstance(value, list | tuple) and origin is Sequence:
        return [[found for each in cast("Sequence[Any]", value) for found in known(each, parts[0])]]
    if isinstance(value, float) and parts[:1] == (int,) and math.isfinite(value):
        value = int(value)
    with suppress(msgspec.ValidationError):
        found = msgspec.convert(text(value) if isinstance(value, str) else value, kind)
        return [] if origin is tuple and found[0] > found[1] else [found]
    return []


def conditions_of(setting: Setting, trials: Iterable[Trial] = ()) -> Mapping[str, Any]:
    """The conditions of a measurement: the setting, and the least and the largest value of each reading."""
    taken = [trial.readings for trial in trials]
    readings: dict[str, Pair] = {}
    for name in (each.name for each in fields(Readings)):
        values = [value for each in taken if (value := getattr(each, name)) is not None]
        if values:
            readings[name] = (min(values), max(values))
    return {"setting": asdict(setting), "readings": readings}


def body_text(body: Mapping[str, object]) -> str:
    """A body as JSON. Other values and numbers that JSON does not have become texts."""
    return json.dumps(plain(body), default=str, allow_nan=False)


def body_of(text: str) -> dict[str, object]:
    """A body from its text. Raises TypeError for anything except an object, ValueError if it is no JSON."""
    data: object = json.loads(text)
    if not isinstance(data, dict):
        raise TypeError("the body is not an object")
    return cast("dict[str, object]", data)
