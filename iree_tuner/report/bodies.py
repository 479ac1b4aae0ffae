"""Findings of a run that is in memory, as the bodies that databases keep and reports show."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from iree_tuner.device.outcome import Readings
from iree_tuner.kernels.in_program import SEARCH_FLAG, SPEC_FLAG
from iree_tuner.measure.statistics import Comparison
from iree_tuner.store.findings import ConditionsBody, TimeBody, UseBody, WholeBody, WorkloadBody
from iree_tuner.store.trial import Setting, Trial
from iree_tuner.tuning.result import WorkloadResult
from iree_tuner.tuning.timeline import TimeUse

_DRAWN = 1000
"""Of a run's time: a shorter pause of a worker is not drawn."""

_USUAL = "llvm-cpu:host"


def workload_body(result: WorkloadResult, floor_us: float | None = None) -> WorkloadBody:
    """The result of a workload; `floor_us` is the least that one call can take, where that is known."""
    comparison = result.comparison
    return {
        "workload": result.task.workload.name,
        "key": result.task.workload.key,
        "share": result.share,
        "calls": result.task.calls,
        "space_count": result.space_count,
        "verdict": result.verdict if result.judged and comparison else "",
        "speedup": comparison.speedup if comparison else None,
        "interval": comparison.interval if comparison else None,
        "default_us": comparison.default_us if comparison else None,
        "time_us": comparison.candidate_us if comparison else None,
        "floor_us": floor_us,
        "trials": len(result.trials),
        "outcomes": result.outcomes,
        "seconds": result.seconds,
        "note": result.note,
    }


def whole_body(
    comparison: Comparison | None,
    function: str = "",
    *,
    flags: Sequence[str] = (),
    flags_speedup: float | None = None,
    runtime_flags: Sequence[str] = (),
    runtime_flags_speedup: float | None = None,
    left_out: Sequence[str] = (),
    steps: Sequence[tuple[str, Comparison]] = (),
    note: str = "",
) -> WholeBody:
    """The program with and without the result; without a comparison, the note says why."""
    body: WholeBody = {
        "function": function,
        "flags": tuple(flags),
        "flags_speedup": flags_speedup,
        "runtime_flags": tuple(runtime_flags),
        "runtime_flags_speedup": runtime_flags_speedup,
        "left_out": tuple(left_out),
        "steps": [
            {"what": what, "speedup": each.speedup, "interval": each.interval, "verdict": each.verdict}
            for what, each in steps
        ],
        "note": note,
    }
    if comparison is not None:
        body |= {
            "verdict": comparison.verdict, "speedup": comparison.speedup, "interval": comparison.interval,
            "default_us": comparison.default_us, "time_us": comparison.candidate_us,
            "pairs": comparison.pairs,
        }  # fmt: skip
    return body


def conditions_body(setting: Setting, trials: Iterable[Trial] = ()) -> ConditionsBody:
    """The conditions of the measurement: the setting, and sensor readings, from the least to the largest."""
    return {"setting": asdict(setting), "readings": readings_of(trials)}


def readings_of(trials: Iterable[Trial]) -> Mapping[str, object]:
    """The least and the largest value of each reading; what was never read is left out."""
    taken = [trial.readings for trial in trials]
    found: dict[str, object] = {}
    for name in (each.name for each in fields(Readings)):
        values = [value for each in taken if (value := getattr(each, name)) is not None]
        if values:
            found[name] = (min(values), max(values))
    return found


def use_body(
    program: str, flags: Sequence[str], spec: str | Path | None, target: str = "",
    kernels: Path | None = None,
) -> UseBody:  # fmt: skip
    """Commands that compile a program with a spec: this project's, and the compiler's with it embedded.

    Args:
        program: path of the program, or what it was made from.
        flags: of the target, and the ones that are part of the result. Executables of kernels are matched by
            them.
        spec: path of the spec, if there is one.
        target: as `iree-tuner compile` takes it; its own default where not given.
        kernels: path of the spec of external kernels, if there is one.
    """
    quoted = shlex.quote(program)
    tuned = f" {shlex.quote(str(spec))}" if spec else ""
    chosen = f" --target {shlex.quote(target)}" if target not in ("", _USUAL) else ""
    own, options = (f" --spec{tuned}" if tuned else ""), list(flags)
    if kernels is not None:
        own += f" --kernels {shlex.quote(str(kernels))}"
        options += [f"{SPEC_FLAG}={kernels}", f"{SEARCH_FLAG}={kernels.parent}"]
    # Not by the compiler's flag: GPUs ignore it, and elsewhere it may deadlock (docs/upstream).
    embed = f"iree-tuner spec embed {quoted}{tuned}{chosen} -o tuned.mlir && " if tuned else ""
    commands = [
        f"iree-tuner compile {quoted}{own}{chosen} -o tuned.vmfb",
        f"{embed}iree-compile {'tuned.mlir' if embed else quoted} {shlex.join(options)} -o tuned.vmfb",
    ]
    return {"spec": str(spec or ""), "commands": commands}


def time_body(use: TimeUse) -> TimeBody:
    """Where the time of a run went. A worker's work without a visible pause is one stretch;
    `seconds` has what each of its functions took.
    """
    pause_s = use.total_s / _DRAWN
    workers: list[Mapping[str, object]] = []
    for lane in use.lanes:
        busy: list[list[float]] = []
        seconds: dict[str, float] = {}
        for what, begin, end in lane.calls:
            seconds[what] = seconds.get(what, 0.0) + end - begin
            if busy and begin - busy[-1][1] < pause_s:
                busy[-1][1] = end
            else:
                busy.append([begin, end])
        workers.append({"worker": lane.worker, "busy": busy, "seconds": seconds})
    return {
        "stages": [{"name": stage.name, "begin": stage.begin, "end": stage.end} for stage in use.stages],
        "workers": workers,
    }
