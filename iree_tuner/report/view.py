"""A run as a page shows it: its record and its trials, from a database or from memory.

None, or an empty tuple, stands for unknown data.
"""

from __future__ import annotations

import json
import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct, structs

from iree_tuner.measure.statistics import Comparison
from iree_tuner.report.numbers import clipped, short, unlike
from iree_tuner.space.joint import JOINED, SPACE, named
from iree_tuner.spec.external import SEARCH_FLAG, SPEC_FLAG
from iree_tuner.store import Store, StoreError
from iree_tuner.store.queries import FailureGroup, group_failures, key_of
from iree_tuner.store.record import (
    Count,
    Finite,
    Positive,
    RunRecord,
    TimelineRecord,
    Use,
    WholeRecord,
    WorkloadRecord,
    conditions_of,
    known,
    record_of,
)
from iree_tuner.store.rows import comparison_from_json, text
from iree_tuner.store.trial import Setting, Trial

_FINE = ("ok", "too_slow")
_LONGEST_MESSAGE = 2000
_ANY_SCORE = 1e-9, 1e9  # no clock gave what lies beyond, and no axis holds it
_USUAL = "llvm-cpu:host"

_OF_RUN = "SELECT study_id FROM trials WHERE run_id = ? UNION SELECT study_id FROM verdicts WHERE run_id = ?"
_WITH_ANYTHING = (
    "SELECT run_id FROM trials UNION SELECT run_id FROM verdicts UNION SELECT run_id FROM findings"
)


@dataclass(frozen=True)
class TrialPoint:
    """A trial."""

    order: int  # its place among the workload's trials, from 1 on
    outcome: str  # how it ended (see `device.outcome`)
    score: float | None  # its time relative to the default's; None if it did not run
    time_us: float | None  # its time, in microseconds
    pipeline: str  # label of its space; empty for the only one
    knobs: Mapping[str, int]  # its knobs there


class WorkloadPart(WorkloadRecord, frozen=True):
    """A workload of the program."""

    label: str = ""  # a shorter name, unique in the report
    floor_us: float | None = None  # the least that one call can take by the roofline
    earlier: int = 0  # how many of its candidates an earlier run had tried
    points: tuple[TrialPoint, ...] = ()
    target: str = ""  # its target, where that is not what the result is for
    kernel: str = ""  # name of the external kernel whose variants were tried; empty for configurations


class Slice(Struct, frozen=True):
    """Part of a program's time: all calls of one workload, or of one dispatch that has none."""

    label: str = msgspec.field(name="name", default="")  # the workload's label, or the dispatch's name
    calls: Count | None = None  # in one invocation
    time_us: Positive = 0.0  # of all these calls; 0 where it is not known
    flops: Positive | None = None  # operations of all these calls, and `bytes` that they move at least
    bytes: Positive | None = None
    element_type: str = ""  # of the computation
    attainable_us: Positive | None = None  # the roofline's least time for all these calls
    workload: str = ""  # the workload's key, and `workload_name` its name; empty where it has none
    workload_name: str = ""
    share: Positive = 0.0  # part of the time of the whole


class RoofLevel(Struct, frozen=True):
    """A level of memory: how fast it is read, and what fits in it (None: everything)."""

    bytes_per_s: Positive
    capacity_bytes: Positive | None = None


class Roof(Struct, frozen=True):
    """The device's limits."""

    # operations per second by element type
    peaks: Mapping[str, Positive] = msgspec.field(name="flops_per_s", default_factory=dict[str, float])
    levels: Sequence[RoofLevel] = ()  # nearest first
    how: str = ""  # where the numbers are from


class TimeProfile(Struct, frozen=True):
    """Where the time of one invocation went."""

    when: Literal["before", "after"] = "before"  # `before` or `after` tuning
    whole_us: Positive | None = None  # time of the whole program
    slices: Sequence[Slice] = msgspec.field(name="rows", default=())  # its parts, largest first
    method: str = ""  # how they were timed
    roof: Roof = msgspec.field(name="roofline", default=Roof())  # of the device that they were timed on
    notes: Sequence[str] = ()  # what a reader should know

    @property
    def explained_us(self) -> float:
        """Time of all parts."""
        return sum(each.time_us for each in self.slices)

    @property
    def rest_us(self) -> float | None:
        """Time of the whole that no part explains; negative where parts overlap."""
        return None if self.whole_us is None else self.whole_us - self.explained_us


@dataclass(frozen=True)
class ReportedRun:
    """A run as the database, or its caller, knows it."""

    program: str  # its name, often a path
    number: int | None = None  # the run's number in its database; None for one that is in none
    options: Mapping[str, object] = field(default_factory=dict[str, object])  # what it was started with
    # started, ended: in seconds since 1970
    started: float | None = None
    ended: float | None = None
    state: str = ""  # `done`, `interrupted`, `failed`, or `running`, also for one that was killed


@dataclass(frozen=True)
class RunReport:
    """Everything that a page shows."""

    run: ReportedRun
    workloads: tuple[WorkloadPart, ...] = ()  # largest share of the time first
    aside: tuple[WorkloadPart, ...] = ()  # what was tried under other compiler flags, which are not used
    whole: WholeRecord | None = None  # the program with and without the result; None if not known
    # before, after: profiles
    before: TimeProfile | None = None
    after: TimeProfile | None = None
    # failures by cause, the most frequent first; `studies` counts workloads
    failures: tuple[FailureGroup, ...] = ()
    conditions: tuple[tuple[str, str], ...] = ()  # names and values of the measurement's conditions
    use: Use = field(default_factory=Use)  # how to apply the result
    assumed: bool = False  # whether the spec's path is only what the command line would have called it

    @property
    def tried(self) -> int:
        """How many candidates there were."""
        return sum(each.trials for each in (*self.workloads, *self.aside))

    @property
    def wins(self) -> tuple[WorkloadPart, ...]:
        """Workloads that got faster."""
        return tuple(each for each in self.workloads if each.verdict == "win")

    @property
    def profiles(self) -> tuple[TimeProfile, ...]:
        return tuple(each for each in (self.before, self.after) if each is not None)

    @property
    def time(self) -> TimelineRecord:
        """Where the time of the run went."""
        return self.whole.timeline if self.whole else TimelineRecord()


@dataclass(frozen=True)
class Tried:
    """Trials of a workload."""

    key: str
    name: str
    trials: Sequence[Trial]  # in any order
    label: str = ""  # of its space or spaces; empty where it is not known
    size: int | None = None  # members of the space; None where it is not known
    judged: Comparison | None = None  # the last comparison of a candidate with the default
    earlier: int = 0  # how many trials an earlier run had made
    setting: Setting | None = None  # what they were taken under
    kernel: str = ""  # name of the external kernel that was tried; empty for configurations


def view(run: ReportedRun, record: RunRecord, tried: Sequence[Tried]) -> RunReport:
    """Everything that is known of a run. Missing parts are left out."""
    setting = next((each.setting for each in tried if each.setting is not None), None)
    conditions = record.conditions
    if not _members(conditions.get("setting")) and setting is not None:
        trials = (trial for each in tried for trial in each.trials)
        conditions = {**conditions_of(setting, trials), **conditions}
    used = text(str(_members(record.conditions.get("setting")).get("target", "")))
    workloads, aside = _workloads(record.workloads, tried, used)
    labels = {each.key: each.label for each in workloads if each.key and not each.kernel}
    profiles = {profile.when: profile for profile in (_profile(body, labels) for body in record.profiles)}
    before, after = profiles.get("before"), profiles.get("after")
    if before is not None and after is not None:
        before = _under_the_roof_of(before, after)
    assumed = None
    if not record.use:
        assumed = _assumed(run, _members(conditions.get("setting")), workloads, record.whole)
    if before is not None:
        workloads = tuple(_with_floor(each, before) for each in workloads)
    return RunReport(
        run, workloads, aside, record.whole, before, after, _failures(tried),
        _conditions(conditions, run), record.use or assumed or Use(), assumed is not None,
    )  # fmt: skip


def report_of_run(store: Store, number: int | None = None, program: str | None = None) -> RunReport:
    """The facts about a run, by default the last one with anything to show. Raises StoreError without one.

    `program` selects the runs of a program, by its path or its file's name.
    """
    run = _find(store, number, program)
    assert run.number is not None
    return view(run, record_of(store.findings(run.number)), _tried(store, run))


def use_of(
    program: str, flags: Sequence[str], spec: str | Path | None, target: str = "",
    kernels: Path | None = None, *, provided_memory: bool = False,
) -> Use:  # fmt: skip
    """Commands that compile a program with a spec: this project's, and the compiler's with it embedded.

    `flags` are all of the target and of the result: executables of kernels are matched by them. `target` is
    as `iree-tuner compile` takes it, and `kernels` is the path of the spec of external kernels. Only the
    first command can make functions that take their memory.
    """
    quoted, memory = shlex.quote(program), " --provided-memory" * provided_memory
    tuned = f" {shlex.quote(str(spec))}" if spec else ""
    chosen = f" --target {shlex.quote(target)}" if target not in ("", _USUAL) else ""
    own, options = (f" --spec{tuned}" if tuned else ""), list(flags)
    if kernels is not None:
        own += f" --kernels {shlex.quote(str(kernels))}"
        options += [f"{SPEC_FLAG}={kernels}", f"{SEARCH_FLAG}={kernels.parent}"]
    # Not by the compiler's flag: GPUs ignore it, and elsewhere it may deadlock (docs/upstream).
    embed = f"iree-tuner spec embed {quoted}{tuned}{chosen} -o tuned.mlir && " if tuned else ""
    commands = [
        f"iree-tuner compile {quoted}{own}{chosen}{memory} -o tuned.vmfb",
        f"{embed}iree-compile {'tuned.mlir' if embed else quoted} {shlex.join(options)} -o tuned.vmfb",
    ]
    return Use(commands, str(spec or ""))


def _find(store: Store, number: int | None, program: str | None) -> ReportedRun:
    runs = store.read(f"SELECT *, id IN ({_WITH_ANYTHING}) AS used FROM runs ORDER BY started, id")
    if not runs:
        raise StoreError(
            "the database has no runs yet", location=store.path, hint="iree-tuner tune makes one"
        )
    if number is not None:
        found = [row for row in runs if row["id"] == number]
        if not found:
            numbers = [row["id"] for row in runs]
            hint = f"its runs are {min(numbers)} to {max(numbers)}"
            raise StoreError(f"the database has no run {number}", location=store.path, hint=hint)
    else:
        found = [row for row in runs if row["used"]]
        if not found:
            raise StoreError("no run in the database has any trials yet", location=store.path)
    if program is not None:
        paths = [(row, PurePath(row["program"])) for row in found]
        found = [row for row, path in paths if program in (row["program"], path.name, path.stem)]
        if not found:
            names = dict.fromkeys(row["program"] for row in runs if row["used"])
            hint = f"there are runs of {', '.join(list(names)[-4:])}"
            raise StoreError(f"the database has no run of '{program}'", location=store.path, hint=hint)
    row = found[-1]
    options = _members(json.loads(row["options"]))
    return ReportedRun(row["program"], row["id"], options, row["started"], row["ended"], row["state"])


def _tried(store: Store, run: ReportedRun) -> list[Tried]:
    """The studies that the run worked on, as of its end."""
    numbers = [row["study_id"] for row in store.read(_OF_RUN, (run.number, run.number))]
    own = {
        row["study_id"]: row["n"]
        for row in store.read(
            "SELECT study_id, count(DISTINCT assignment) AS n FROM trials WHERE run_id = ? GROUP BY study_id",
            (run.number,),
        )
    }
    found: list[Tried] = []
    for study in numbers:
        key = key_of(store, study)
        verdicts = store.read(
            "SELECT comparison FROM verdicts WHERE study_id = ? AND run_id = ? AND assignment IS NOT NULL "
            "ORDER BY at, uid",
            (study, run.number),
        )
        judged = comparison_from_json(json.loads(verdicts[-1]["comparison"])) if verdicts else None
        end = math.inf if run.ended is None else run.ended
        trials = [trial for trial in store.trials(study).values() if trial.at <= end]
        found.append(Tried(
            key.workload.key, key.workload.name, trials, key.space_label, key.space_size or None,
            judged, max(0, len(trials) - own.get(study, 0)), key.setting, key.kernel,
        ))  # fmt: skip
    return found


def _workloads(
    records: Sequence[WorkloadRecord], tried: Sequence[Tried], used: str
) -> tuple[tuple[WorkloadPart, ...], tuple[WorkloadPart, ...]]:
    """Workloads, and those that were tried for a target that is not used, or more than once."""
    told = {each.key or each.workload: each for each in records}
    found: list[WorkloadPart] = []
    aside: list[WorkloadPart] = []
    for each in sorted(tried, key=lambda each: -max((trial.at for trial in each.trials), default=0.0)):
        target = each.setting.target if each.setting is not None else ""
        same = (part for part in found if part.key and part.kernel == each.kernel)
        if (used and target and target != used) or any(each.key == part.key for part in same):
            aside.append(structs.replace(_workload(None, each), target=target or "another target"))
        else:  # what was found of a workload is about its configurations
            found.append(_workload(None if each.kernel else told.pop(each.key, None), each))
    found += [_workload(record, None) for record in told.values()]
    return _in_order(found), _in_order(aside)


def _in_order(found: Sequence[WorkloadPart]) -> tuple[WorkloadPart, ...]:
    def place(part: WorkloadPart) -> tuple[float, int, str]:
        return 1.0 if part.share is None else -part.share, -part.trials, part.workload

    order = sorted(found, key=place)
    labels = unlike([each.label for each in order])
    return tuple(structs.replace(each, label=label) for each, label in zip(order, labels, strict=True))


def _workload(record: WorkloadRecord | None, tried: Tried | None) -> WorkloadPart:
    record = record or WorkloadRecord()
    name = (tried and tried.name) or record.workload or "unnamed workload"
    members: dict[str, Any] = {**structs.asdict(record), "workload": name, "label": short(name)}
    part = WorkloadPart(**members)
    if tried is None:
        return part
    if tried.judged is not None and not part.verdict:
        compared = tried.judged
        part = structs.replace(  # a candidate that loses is not used, and the default stays
            part, verdict="win" if compared.verdict == "win" else "tie", speedup=compared.speedup,
            interval=compared.interval, default_us=compared.default_us, time_us=compared.candidate_us,
        )  # fmt: skip
    by = f" by {tried.kernel}" if tried.kernel else ""
    return structs.replace(
        part, workload=f"{name}{by}", label=f"{part.label}{by}", key=tried.key, kernel=tried.kernel,
        trials=len(tried.trials), earlier=tried.earlier, count=tried.size or part.count,
        outcomes=dict(Counter(trial.outcome for trial in tried.trials).most_common()),
        points=_points(tried),
    )  # fmt: skip


def _with_floor(part: WorkloadPart, before: TimeProfile) -> WorkloadPart:
    found = next((each for each in before.slices if each.label == part.label), None)
    if found is None or not found.calls or found.attainable_us is None:
        return part
    return structs.replace(part, floor_us=found.attainable_us / found.calls)


def _points(tried: Tried) -> tuple[TrialPoint, ...]:
    found: list[TrialPoint] = []
    low, high = _ANY_SCORE
    for order, trial in enumerate(sorted(tried.trials, key=lambda trial: trial.at), start=1):
        pipeline, knobs = _place(trial, tried.label)
        score = trial.score if trial.outcome in _FINE and low < trial.score < high else None
        time_us = None if score is None else trial.time_us
        found.append(TrialPoint(order, trial.outcome, score, time_us, pipeline, knobs))
    return tuple(found)


def _place(trial: Trial, label: str) -> tuple[str, dict[str, int]]:
    """The label of a trial's space, if there are several, and its knobs there."""
    if JOINED in label:
        with suppress(KeyError, IndexError):  # labels that are not those of this trial
            return named(trial.assignment, label)
    knobs = {name: value for name, value in trial.assignment.items() if name != SPACE}
    return f"space {trial.assignment[SPACE]}" if SPACE in trial.assignment else "", knobs


def _failures(tried: Sequence[Tried]) -> tuple[FailureGroup, ...]:
    """The run's failures, as `store.queries` groups them."""
    failed = ((trial, each) for each in tried for trial in each.trials if trial.outcome not in _FINE)
    newest_first = sorted(failed, key=lambda found: -found[0].at)
    groups = group_failures(
        (trial.outcome, text(trial.message), text(trial.reproducer), each.kernel, each.key)
        for trial, each in newest_first
    )
    return tuple(replace(each, message=clipped(each.message, _LONGEST_MESSAGE)) for each in groups)


def _conditions(body: Mapping[str, Any], run: ReportedRun) -> tuple[tuple[str, str], ...]:
    found = {_words(name): _said(value) for name, value in _members(body.get("setting")).items()}
    found |= {_words(name): _range(name, value) for name, value in _members(body.get("readings")).items()}
    found |= {_words(name): _said(body[name]) for name in body if name not in ("setting", "readings")}
    for name, value in run.options.items():
        found.setdefault(_words(name), _said(value))
    return tuple((name, value) for name, value in found.items() if value)


_UNITS = {
    "clock_mhz": ("clock", "{:.0f}", " MHz"),
    "temperature_c": ("temperature", "{:.0f}", " °C"),
    "load": ("load of other processes", "{:.2f}", " cores"),
    "stolen": ("CPU time stolen by the hypervisor", "{:.1%}", ""),
    "throttled": ("samples discarded after throttling", "{:.0f}", ""),
}
"""The name, format and unit of each reading."""


def _words(name: str) -> str:
    words = {"cold": "cold caches"} | {key: words for key, (words, *_) in _UNITS.items()}
    return words.get(name) or text(name).replace("_", " ")


def _range(name: str, value: object) -> str:
    ends: list[float] = next(iter(known(value, Sequence[Finite])), [])
    if not ends:
        return _said(value)
    _, form, unit = _UNITS.get(name, ("", "{:g}", ""))
    written = list(dict.fromkeys(form.format(end) for end in (min(ends), max(ends))))
    return " to ".join(written) + unit


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return " ".join(filter(None, map(_said, cast("Sequence[object]", value))))
    if isinstance(value, Mapping):
        return ", ".join(f"{text(name)} {_said(each)}" for name, each in _members(value).items())
    return text(value) if isinstance(value, str) else "" if value is None else str(value)


def _members(value: object) -> Mapping[str, Any]:
    """An object; empty for another value."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _assumed(
    run: ReportedRun, setting: Mapping[str, Any], workloads: Sequence[WorkloadPart], whole: WholeRecord | None
) -> Use | None:
    """Commands as the command line would have made them, if there is a result to apply."""
    whole = whole or WholeRecord()
    best = (each for each in workloads if each.verdict == "win" and not each.kernel)
    won = [each for each in best if each.workload not in whole.left_out]
    if setting.get("flags") is None or whole.verdict == "lose" or not (won or whole.flags):
        return None
    spec = f"{PurePath(run.program).name.rsplit('.', 1)[0]}.spec.mlir"
    flags = next(iter(known(setting["flags"], Sequence[str])), ())
    return use_of(run.program, flags, spec, _said(setting.get("target")))


def _profile(body: Mapping[str, Any], labels: Mapping[str, str]) -> TimeProfile:
    """A profile from its body, with one slice for each label of a workload, by its key."""
    (found,) = cast("list[TimeProfile]", known(body, TimeProfile))
    slices: dict[str, Slice] = {}
    for each in found.slices:
        label = labels.get(each.workload) or short(each.workload_name or each.label or "unnamed")
        time_us = each.time_us or each.share * (found.whole_us or 0.0)
        if time_us:
            mine = structs.replace(each, label=label, time_us=time_us)
            slices[label] = _joined(slices[label], mine) if label in slices else mine
    return structs.replace(found, slices=sorted(slices.values(), key=lambda each: -each.time_us))


def _under_the_roof_of(before: TimeProfile, after: TimeProfile) -> TimeProfile:
    """A profile with the bounds of a later one: tuned dispatches may have raised the roofline."""
    raised = {each.label: each.attainable_us or math.inf for each in after.slices}
    slices = [
        structs.replace(each, attainable_us=min(raised.get(each.label, math.inf), each.attainable_us))
        if each.attainable_us
        else each
        for each in before.slices
    ]
    return structs.replace(before, slices=slices, roof=after.roof if after.roof.levels else before.roof)


def _joined(one: Slice, other: Slice) -> Slice:
    """The sum of two slices; a number that one of them lacks is unknown."""
    sums = {
        name: None if None in (ends := (getattr(one, name), getattr(other, name))) else sum(ends)
        for name in ("calls", "time_us", "flops", "bytes", "attainable_us")
    }
    return structs.replace(one, **sums)
