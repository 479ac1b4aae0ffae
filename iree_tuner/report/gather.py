"""Findings and trials, from a database or from memory, as what a report shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePath

from iree_tuner.measure.statistics import Comparison
from iree_tuner.report import reading
from iree_tuner.report.bodies import conditions_body, use_body
from iree_tuner.report.data import (
    Compared,
    ReportedRun,
    ReportedStep,
    RunReport,
    Stretch,
    TimePart,
    TimeProfile,
    TrialPoint,
    Use,
    WholePart,
    WorkloadPart,
)
from iree_tuner.report.labels import clipped, short, unlike
from iree_tuner.report.profiles import profile_of
from iree_tuner.report.reading import Body
from iree_tuner.space.joint import JOINED, SPACE, named
from iree_tuner.store.causes import cause_of
from iree_tuner.store.failures import FailureGroup
from iree_tuner.store.findings import Finding
from iree_tuner.store.trial import Setting, Trial

_FINE = ("ok", "too_slow")
_LONGEST_MESSAGE = 2000
_ANY_SCORE = 1e-9, 1e9  # no clock gave what lies beyond, and no axis holds it


@dataclass(frozen=True)
class Tried:
    """Trials of a workload.

    Attributes:
        key: the workload's key.
        name: its name.
        trials: in any order.
        label: of its space or spaces; empty where it is not known.
        size: members of the space; None where it is not known.
        judged: the last comparison of a candidate with the default.
        won: whether what was compared is better.
        earlier: how many trials an earlier run had made.
        setting: what they were taken under.
        kernel: name of the external kernel that was tried; empty for configurations.
    """

    key: str
    name: str
    trials: Sequence[Trial]
    label: str = ""
    size: int | None = None
    judged: Comparison | None = None
    earlier: int = 0
    setting: Setting | None = None
    kernel: str = ""


def gather(run: ReportedRun, findings: Iterable[Finding], tried: Sequence[Tried]) -> RunReport:
    """Everything that is known of a run. Missing parts are left out; of several findings the last counts."""
    by_kind: dict[str, list[Body]] = {}
    for each in sorted(findings, key=lambda finding: finding.at):
        by_kind.setdefault(each.kind, []).append(each.body)
    conditions = by_kind.get("conditions", ())
    used = _target(conditions)
    workloads, aside = _workloads(by_kind.get("workload", ()), tried, used)
    labels = {each.key: each.label for each in workloads if each.key and not each.kernel}
    profiles = [profile_of(body, labels) for body in by_kind.get("profile", ())]
    before = next((each for each in reversed(profiles) if each.when == "before"), None)
    whole = _whole(by_kind["whole"][-1]) if "whole" in by_kind else None
    return RunReport(
        run=run,
        workloads=workloads if before is None else tuple(_with_floor(each, before) for each in workloads),
        aside=aside,
        whole=whole,
        before=before,
        after=next((each for each in reversed(profiles) if each.when == "after"), None),
        failures=_failures(tried),
        conditions=_conditions(conditions, run, tried),
        time=_time(by_kind["time"][-1]) if "time" in by_kind else TimePart(),
        use=_use(
            by_kind.get("use", ()), run, _compiled_with(conditions, tried), workloads, whole or WholePart()
        ),
    )


def _time(body: Body) -> TimePart:
    stages = (_stretch(reading.text(each.get("name")), each) for each in reading.objects(body.get("stages")))
    busy = (
        _stretch(
            reading.text(each.get("worker")), dict(zip(("begin", "end"), reading.listed(pair), strict=False))
        )
        for each in reading.objects(body.get("workers"))
        for pair in reading.listed(each.get("busy"))
    )
    return TimePart(
        tuple(each for each in stages if each is not None), tuple(each for each in busy if each is not None)
    )


def _stretch(name: str, ends: Body) -> Stretch | None:
    begin, end = reading.number(ends.get("begin")), reading.number(ends.get("end"))
    return (
        Stretch(name, begin, end) if name and begin is not None and end is not None and begin <= end else None
    )


def _target(conditions: Sequence[Body]) -> str:
    """The program and target of the result; empty where that is not known."""
    return reading.text(reading.members(conditions[-1].get("setting")).get("target")) if conditions else ""


def _workloads(
    bodies: Sequence[Body], tried: Sequence[Tried], used: str
) -> tuple[tuple[WorkloadPart, ...], tuple[WorkloadPart, ...]]:
    """Workloads, and ones that were tried for another target than the used one, or before the last time."""
    told = {reading.text(body.get("key")) or reading.text(body.get("workload")): body for body in bodies}
    found: list[WorkloadPart] = []
    aside: list[WorkloadPart] = []
    for each in sorted(tried, key=lambda each: -max((trial.at for trial in each.trials), default=0.0)):
        target = each.setting.target if each.setting is not None else ""
        same = (part for part in found if part.key and part.kernel == each.kernel)
        if (used and target and target != used) or any(each.key == part.key for part in same):
            aside.append(replace(_workload({}, each), target=target or "another target"))
        else:  # what was found of a workload is about its configurations
            found.append(_workload({} if each.kernel else told.pop(each.key, {}), each))
    found += [_workload(body, None) for body in told.values()]
    return _in_order(found), _in_order(aside)


def _in_order(found: Sequence[WorkloadPart]) -> tuple[WorkloadPart, ...]:
    order = sorted(
        found, key=lambda each: (-(each.share if each.share is not None else -1.0), -each.tried, each.name)
    )
    labels = unlike([each.label for each in order])
    return tuple(replace(each, label=label) for each, label in zip(order, labels, strict=True))


def _workload(body: Body, tried: Tried | None) -> WorkloadPart:
    name = (tried and tried.name) or reading.text(body.get("workload")) or "unnamed workload"
    outcomes = {
        reading.text(outcome): number
        for outcome, value in reading.members(body.get("outcomes")).items()
        if (number := reading.count(value))
    }
    part = WorkloadPart(
        name=name,
        label=short(name),
        key=reading.text(body.get("key")),
        share=reading.number(body.get("share")),
        calls=reading.count(body.get("calls")),
        compared=_compared(body),
        floor_us=reading.positive(body.get("floor_us")),
        tried=reading.count(body.get("trials")) or 0,
        outcomes=outcomes,
        space_count=reading.count(body.get("space_count")) or None,
        seconds=reading.number(body.get("seconds")),
        note=reading.text(body.get("note")),
    )
    if tried is None:
        return part
    judged = tried.judged
    if judged is not None and not part.compared.verdict:
        part = replace(part, compared=_judged(judged))
    if tried.kernel:
        part = replace(part, name=f"{name} by {tried.kernel}", label=f"{part.label} by {tried.kernel}")
    return replace(
        part,
        key=tried.key,
        kernel=tried.kernel,
        tried=len(tried.trials),
        earlier=tried.earlier,
        outcomes=dict(Counter(trial.outcome for trial in tried.trials).most_common()),
        space_count=tried.size or part.space_count,
        points=_points(tried),
    )


def _with_floor(part: WorkloadPart, before: TimeProfile) -> WorkloadPart:
    """With the least time of a call, where only a profile says it."""
    found = next((each for each in before.slices if each.label == part.label), None)
    if part.floor_us is not None or found is None or not found.calls or found.attainable_us is None:
        return part
    return replace(part, floor_us=found.attainable_us / found.calls)


def _judged(comparison: Comparison) -> Compared:
    """A candidate that loses is not used, and the default stays."""
    return Compared(
        "win" if comparison.verdict == "win" else "tie", comparison.speedup, comparison.interval,
        comparison.default_us, comparison.candidate_us,
    )  # fmt: skip


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
    """The space that a trial is of, where there are several, and its knobs there."""
    if JOINED in label:
        with suppress(KeyError, IndexError):  # labels that are not those of this trial
            return named(trial.assignment, label)
    knobs = {name: value for name, value in trial.assignment.items() if name != SPACE}
    return f"space {trial.assignment[SPACE]}" if SPACE in trial.assignment else "", knobs


def _compared(body: Body) -> Compared:
    return Compared(
        verdict=reading.text(body.get("verdict")),
        speedup=reading.positive(body.get("speedup")),
        interval=reading.interval(body.get("interval")),
        default_us=reading.positive(body.get("default_us")),
        time_us=reading.positive(body.get("time_us")),
    )


def _whole(body: Body) -> WholePart:
    return WholePart(
        compared=_compared(body),
        function=reading.text(body.get("function")),
        pairs=reading.count(body.get("pairs")),
        flags=reading.texts(body.get("flags")),
        flags_speedup=reading.positive(body.get("flags_speedup")),
        runtime_flags=reading.texts(body.get("runtime_flags")),
        runtime_flags_speedup=reading.positive(body.get("runtime_flags_speedup")),
        left_out=reading.texts(body.get("left_out")),
        steps=tuple(
            ReportedStep(reading.text(each.get("what")), _compared(each))
            for each in reading.objects(body.get("steps"))
        ),
        note=reading.text(body.get("note")),
    )


def _failures(tried: Sequence[Tried]) -> tuple[FailureGroup, ...]:
    """As `store.failures` groups them, of this run only."""
    groups: dict[tuple[str, str, str], FailureGroup] = {}
    where: dict[tuple[str, str, str], set[str]] = {}
    newest_first = sorted(
        ((trial, each) for each in tried for trial in each.trials if trial.outcome not in _FINE),
        key=lambda found: -found[0].at,
    )
    for trial, each in newest_first:
        group = (trial.outcome, reading.text(cause_of(trial.outcome, trial.message)), each.kernel)
        where.setdefault(group, set()).add(each.key)
        message = clipped(reading.text(trial.message), _LONGEST_MESSAGE)
        known = groups.get(group) or FailureGroup(*group[:2], 0, 0, message, "", each.kernel)
        groups[group] = replace(
            known, count=known.count + 1, studies=len(where[group]),
            reproducer=known.reproducer or reading.text(trial.reproducer),
        )  # fmt: skip
    return tuple(sorted(groups.values(), key=lambda each: (-each.count, each.outcome, each.named_cause)))


def _conditions(
    bodies: Sequence[Body], run: ReportedRun, tried: Sequence[Tried]
) -> tuple[tuple[str, str], ...]:
    """Names and values as text; where nothing was kept, from the trials and their setting."""
    body = bodies[-1] if bodies else {}
    setting = next((each.setting for each in tried if each.setting is not None), None)
    if not reading.members(body.get("setting")) and setting is not None:
        trials = [trial for each in tried for trial in each.trials]
        body = {**conditions_body(setting, trials), **body}
    found: dict[str, str] = {}
    for name, value in reading.members(body.get("setting")).items():
        found[_words(name)] = _said(value)
    for name, value in reading.members(body.get("readings")).items():
        found[_words(name)] = _range(name, value)
    for name, value in body.items():
        if name not in ("setting", "readings"):
            found[_words(name)] = _said(value)
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
    return words.get(name) or reading.text(name).replace("_", " ")


def _range(name: str, value: object) -> str:
    ends = [found for each in reading.listed(value) if (found := reading.number(each)) is not None]
    if not ends:
        return _said(value)
    _, form, unit = _UNITS.get(name, ("", "{:g}", ""))
    written = list(dict.fromkeys(form.format(end) for end in (min(ends), max(ends))))
    return " to ".join(written) + unit


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return " ".join(filter(None, map(_said, reading.listed(value))))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(each)}" for name, each in reading.members(value).items())
    return reading.text(value) if isinstance(value, str) else "" if value is None else str(value)


def _compiled_with(conditions: Sequence[Body], tried: Sequence[Tried]) -> tuple[Sequence[str], str] | None:
    """Compiler flags and target of the result; None where they are not known."""
    told = reading.members(conditions[-1].get("setting")) if conditions else {}
    if told.get("flags") is not None:
        return reading.texts(told["flags"]), reading.text(told.get("target"))
    setting = next((each.setting for each in tried if each.setting is not None), None)
    return None if setting is None else (setting.flags, setting.target)


def _use(
    bodies: Sequence[Body],
    run: ReportedRun,
    compiled: tuple[Sequence[str], str] | None,
    workloads: Sequence[WorkloadPart],
    whole: WholePart,
) -> Use:
    """The kept commands, or ones made from the command line, if there is anything to apply."""
    if bodies:
        body = bodies[-1]
        return Use(reading.texts(body.get("commands")), reading.text(body.get("spec")))
    best = (each for each in workloads if each.compared.verdict == "win" and not each.kernel)
    won = [each for each in best if each.name not in whole.left_out]
    if compiled is None or whole.compared.verdict == "lose" or not (won or whole.flags):
        return Use()
    spec = f"{PurePath(run.program).name.rsplit('.', 1)[0]}.spec.mlir"
    made = use_body(run.program, compiled[0], spec, compiled[1])
    return Use(tuple(made.get("commands", ())), spec, assumed=True)
