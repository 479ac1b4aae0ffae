"""Recordings: search spaces with their measured times, one workload a file, to develop searches on.

The first line says what was measured, each other line is a candidate: its pipeline, its knobs and how it
went. The line whose pipeline is null is the compiler's default.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from iree_tuner.ops.contraction import Contraction
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.workload import Workload
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.joint import named, unnamed
from iree_tuner.store.rows import OUTCOMES, Record, assignment_of, number, optional, trial_to_json
from iree_tuner.store.trial import Setting, StudyKey, Trial, from_json, to_json
from iree_tuner.targets import machine as machines
from iree_tuner.targets.machine import Machine

FORM = 1
"""Version of the form, in the first line of each file."""

_OPERANDS = ("lhs", "rhs", "result")


@dataclass(frozen=True)
class Recording:
    """A study with its trials and the other data that a replay needs."""

    key: StudyKey  # what was measured, and under which setting
    trials: tuple[Trial, ...]  # results of the candidates
    # medians of a second measurement, of the best and of the default (None)
    again_us: Mapping[Assignment | None, float] = field(default_factory=dict[Assignment | None, float])
    machine: Machine | None = None  # the input of cost models
    start: Assignment | None = None  # the member at or near the compiler's choice; None if not known


def to_recording(recording: Recording) -> Iterator[Record]:
    """Its lines. Data without a place in the form, such as messages, is left out."""
    key, again_us = recording.key, recording.again_us
    yield _header(recording)
    in_order = sorted(recording.trials, key=lambda trial: trial.at)
    baselines = [trial.baseline_us for trial in in_order if trial.baseline_us > 0]  # failures have none
    if baselines:
        line: dict[str, object] = {
            "pipeline": None, "knobs": None, "outcome": "ok", "time_us": baselines[-1],
            "min_us": baselines[-1], "samples": 1, "compile_s": None,
        }  # fmt: skip
        yield line | _again(None, again_us)
    for trial in recording.trials:
        pipeline, knobs = named(trial.assignment, key.space_label)
        line = dict[str, object](pipeline=pipeline, knobs=knobs, outcome=trial.outcome)
        if trial.samples_us:
            line |= {
                "time_us": statistics.median(trial.samples_us), "min_us": min(trial.samples_us),
                "samples": len(trial.samples_us), "default_us": trial.baseline_us,
            }  # fmt: skip
        yield line | {"compile_s": trial.compile_s} | _again(trial.assignment, again_us)


def _again(assignment: Assignment | None, again_us: Mapping[Assignment | None, float]) -> dict[str, object]:
    return {"again_us": again_us[assignment]} if assignment in again_us else {}


def _header(recording: Recording) -> dict[str, object]:
    key = recording.key
    setting, workload = key.setting, key.workload
    header: dict[str, object] = {
        "recording": FORM, "device": setting.processor, "driver": setting.driver,
        "compiler": setting.compiler, "target": setting.target, "op": workload.op,
    }  # fmt: skip
    header |= {role: workload.loops[loops[0]] for role, loops in workload.roles if len(loops) == 1}
    if len(workload.types) == len(_OPERANDS):
        header |= dict(zip(_OPERANDS, map(str, workload.types), strict=True))
    if recording.machine is not None:
        header["machine"] = machines.to_json(recording.machine)
    if recording.start is not None:
        pipeline, knobs = named(recording.start, key.space_label)
        header["start"] = {"pipeline": pipeline, "knobs": knobs}
    if recording.trials:
        header["conditions"] = _conditions(recording.trials)
    # The form's short names do not give the study back; its key does.
    return header | {
        "indexing_maps": list(map(str, workload.maps)),
        "space_size": key.space_size,
        "study": to_json(key),
    }


def _conditions(trials: Sequence[Trial]) -> dict[str, object]:
    ends = [trial.at for trial in trials]
    found: dict[str, object] = {"from": min(ends), "to": max(ends)}
    for name in ("clock_mhz", "temperature_c", "load", "stolen"):
        values = [getattr(trial.readings, name) for trial in trials]
        known = [value for value in values if value is not None]
        found[name] = [min(known), max(known)] if known else None
    baselines = [trial.baseline_us for trial in trials if trial.baseline_us]
    found["default_us"] = [min(baselines), max(baselines)] if baselines else None
    return found


def from_recording(
    header: Mapping[str, object], lines: Iterable[Mapping[str, object]], default_us: float
) -> Iterator[Record]:
    """Records of a recording. One that this project did not write becomes a study for each pipeline.

    A recording holds the median and the least of the samples, and so does the trial. Times of other projects'
    recordings have a protocol of their own (number 0), so that no run uses them as its own.
    """
    if header["recording"] != FORM:
        raise ValueError(f"version {header['recording']} of the format is unknown")
    name = hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()[:16]
    yield {
        "kind": "run", "run": name, "program": "recording", "options": {}, "started": 0.0, "ended": 0.0,
        "state": "done",
    }  # fmt: skip
    own = header.get("study")
    if own is not None:
        base = from_json(cast("Record", own))
    else:
        names = ("compiler", "target", "device", "driver")
        compiler, target, device, driver = (str(header[each]) for each in names)
        backend = target.partition(":")[0]
        setting = Setting(compiler, compiler, target, (), backend, device, 0, driver, protocol=0)
        size = int(number(header["space_size"]))
        base = StudyKey(setting, workload_of(header), "recording", name, "", size)
    known: dict[str, StudyKey] = {}
    for line in lines:
        if line["pipeline"] is None:
            continue
        pipeline = line["pipeline"]
        if not isinstance(pipeline, str):
            raise TypeError("the pipeline is not a text")
        if pipeline not in known:
            content = json.dumps([header, pipeline], sort_keys=True).encode()
            space = hashlib.sha256(content).hexdigest()[:16]
            known[pipeline] = base if own is not None else replace(base, space=space, space_label=pipeline)
            yield {"kind": "study", "study": known[pipeline].digest, "key": to_json(known[pipeline])}
        knobs = assignment_of(line["knobs"])
        if own is not None:
            knobs = unnamed(pipeline, knobs, base.space_label)
        trial = trial_to_json(_trial(base.workload.key, knobs, line, default_us))
        content = json.dumps([name, line], sort_keys=True).encode()
        uid = hashlib.sha256(content).hexdigest()[:16]  # the same line again is the same trial
        yield {"kind": "trial", "uid": uid, "study": known[pipeline].digest, "run": name, "trial": trial}


def _trial(workload: str, knobs: Assignment, line: Mapping[str, object], default_us: float) -> Trial:
    outcome = line["outcome"]
    if outcome not in OUTCOMES:
        raise ValueError(f"unknown outcome {outcome!r}")
    samples: tuple[float, ...] = ()
    if line.get("time_us") is not None:
        median, minimum = number(line["time_us"]), number(line["min_us"])
        # Three samples with this least and this median; one where there was only one.
        samples = (median,) if line["samples"] == 1 else (minimum, median, median)
    baseline_us = optional(line.get("default_us")) or default_us
    return Trial(workload, knobs, outcome, samples, baseline_us, compile_s=optional(line["compile_s"]) or 0.0)


def workload_of(header: Mapping[str, object]) -> Workload:
    """The workload of a recording, this project's or another's."""
    own = header.get("study")
    if own is not None:
        return from_json(cast("Record", own)).workload
    maps = cast("Sequence[str]", header["indexing_maps"])
    loops = _terms(maps[0].partition("->")[0])
    results = [text.partition("->")[2] for text in maps]
    return Workload(
        family=Contraction.name,
        op=str(header["op"]),
        loops=tuple(int(number(header[loop])) for loop in loops),
        iterators=tuple("parallel" if loop in _terms(results[-1]) else "reduction" for loop in loops),
        types=tuple(ElementType.named(str(header[operand])) for operand in _OPERANDS),
        # `(m,k)` as `(d0, d1, d2) -> (d0, d2)`
        maps=tuple(IndexingMap.through(len(loops), list(map(loops.index, _terms(text)))) for text in results),
        roles=(("batch", ()), *((loop, (place,)) for place, loop in enumerate(loops))),
    )


def _terms(results: str) -> list[str]:
    return results.strip(" ()").replace(" ", "").split(",")
