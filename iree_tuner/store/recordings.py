"""Recordings: search spaces with their measured times, one workload a file, to develop searches on.

The first line says what was measured, each other line is a candidate: its pipeline, its knobs and how it
went. The line whose pipeline is null is the compiler's default.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from iree_tuner.measure.setting import Setting
from iree_tuner.measure.trial import Trial
from iree_tuner.ops.workload import Workload
from iree_tuner.store.exchange import Record
from iree_tuner.store.rows import OUTCOMES, assignment_of, number, optional, trial_to_json
from iree_tuner.store.study import StudyKey, from_json, to_json

FORM = 1
"""Version of the form, in the first line of each file."""

_OPERANDS = ("lhs", "rhs", "result")


def to_recording(key: StudyKey, trials: Iterable[Trial]) -> Iterator[Record]:
    """Lines of a study's recording. What the form has no place for, such as conditions, is left out."""
    found = list(trials)
    yield _header(key)
    baselines = [trial.baseline_us for trial in sorted(found, key=lambda trial: trial.at)]
    if baselines and baselines[-1] > 0:
        time_us = {"time_us": baselines[-1], "min_us": baselines[-1], "samples": 1}
        yield {"pipeline": None, "knobs": None, "outcome": "ok", **time_us, "compile_s": None}
    for trial in found:
        line = {
            "pipeline": key.space_label, "knobs": dict(trial.assignment), "outcome": trial.outcome,
        }  # fmt: skip
        if trial.samples_us:
            line |= {
                "time_us": statistics.median(trial.samples_us), "min_us": min(trial.samples_us),
                "samples": len(trial.samples_us),
            }  # fmt: skip
        yield line | {"compile_s": trial.compile_s}


def _header(key: StudyKey) -> dict[str, object]:
    setting, workload = key.setting, key.workload
    header: dict[str, object] = {
        "recording": FORM, "device": setting.processor, "driver": setting.driver,
        "compiler": setting.compiler, "target": setting.target, "op": workload.op,
    }  # fmt: skip
    header |= {role: workload.loops[loops[0]] for role, loops in workload.roles if len(loops) == 1}
    if len(workload.types) == len(_OPERANDS):
        header |= dict(zip(_OPERANDS, workload.types, strict=True))
    # What the form says in short does not give the study back; its key does.
    return header | {
        "indexing_maps": list(workload.maps),
        "space_size": key.space_size,
        "study": to_json(key),
    }


def from_recording(
    header: Mapping[str, object], lines: Iterable[Mapping[str, object]], default_us: float
) -> Iterator[Record]:
    """Records of a recording. One that this project did not write becomes a study for each pipeline.

    A recording holds the median and the least of the samples, and so does the trial. The times of a recording
    that others made are under a protocol of their own (number 0), so that no run takes them for its own.
    """
    if header["recording"] != FORM:
        raise ValueError(f"version {header['recording']} of the form is not known here")
    name = hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()[:16]
    yield {
        "kind": "run", "run": name, "program": "recording", "options": {}, "started": 0.0, "ended": 0.0,
        "state": "done",
    }  # fmt: skip
    own = header.get("study")
    base = from_json(cast("Record", own)) if own is not None else _foreign(header, name)
    known: dict[str, StudyKey] = {}
    for line in lines:
        if line["pipeline"] is None:
            continue
        pipeline = line["pipeline"]
        if not isinstance(pipeline, str):
            raise TypeError("the pipeline is not a text")
        if pipeline not in known:
            known[pipeline] = base if own is not None else _of_pipeline(base, pipeline, header)
            yield {"kind": "study", "study": known[pipeline].digest, "key": to_json(known[pipeline])}
        trial = trial_to_json(_trial(base.workload.key, line, default_us))
        content = json.dumps([name, line], sort_keys=True).encode()
        uid = hashlib.sha256(content).hexdigest()[:16]  # the same line again is the same trial
        yield {"kind": "trial", "uid": uid, "study": known[pipeline].digest, "run": name, "trial": trial}


def _trial(workload: str, line: Mapping[str, object], baseline_us: float) -> Trial:
    outcome = line["outcome"]
    if outcome not in OUTCOMES:
        raise ValueError(f"unknown outcome {outcome!r}")
    samples: tuple[float, ...] = ()
    if line.get("time_us") is not None:
        median, minimum = number(line["time_us"]), number(line["min_us"])
        # Three samples with this least and this median; one where there was only one.
        samples = (median,) if line["samples"] == 1 else (minimum, median, median)
    return Trial(
        workload=workload,
        assignment=assignment_of(line["knobs"]),
        outcome=outcome,
        samples_us=samples,
        baseline_us=baseline_us,
        compile_s=optional(line["compile_s"]) or 0.0,
    )


def _foreign(header: Mapping[str, object], name: str) -> StudyKey:
    """What a recording's header says, in this project's terms."""
    words = {each: str(header[each]) for each in ("compiler", "target", "device", "driver", "op")}
    setting = Setting(
        words["compiler"], words["compiler"], words["target"], (), words["target"].partition(":")[0],
        words["device"], 0, words["driver"], protocol=0,
    )  # fmt: skip
    maps = cast("Sequence[str]", header["indexing_maps"])
    loops = maps[0].partition("->")[0].strip(" ()").replace(" ", "").split(",")
    results = [text.partition("->")[2] for text in maps]
    workload = Workload(
        family="contraction",
        op=words["op"],
        loops=tuple(int(number(header[loop])) for loop in loops),
        iterators=tuple("parallel" if _names(results[-1]) & {loop} else "reduction" for loop in loops),
        types=tuple(str(header[operand]) for operand in _OPERANDS),
        maps=tuple(_numbered(text, loops) for text in results),
        roles=(("batch", ()), *((loop, (place,)) for place, loop in enumerate(loops))),
    )
    return StudyKey(setting, workload, "recording", name, "", int(number(header["space_size"])))


def _of_pipeline(base: StudyKey, pipeline: str, header: Mapping[str, object]) -> StudyKey:
    digest = hashlib.sha256(json.dumps([header, pipeline], sort_keys=True).encode()).hexdigest()[:16]
    return StudyKey(base.setting, base.workload, base.code, digest, pipeline, base.space_size)


def _names(results: str) -> set[str]:
    return set(results.strip(" ()").replace(" ", "").split(","))


def _numbered(results: str, loops: Sequence[str]) -> str:
    """`(m,k)` as `(d0, d1, d2) -> (d0, d2)`."""
    numbers = {loop: f"d{place}" for place, loop in enumerate(loops)}
    terms = results.strip(" ()").replace(" ", "").split(",")
    return f"({', '.join(numbers.values())}) -> ({', '.join(numbers[term] for term in terms)})"
