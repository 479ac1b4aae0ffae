"""The results of a tuning run, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from iree_tuner.cli.table import print_table, table
from iree_tuner.kernels.variants import KernelVariants
from iree_tuner.measure.statistics import Comparison
from iree_tuner.program.dump_body import own_target
from iree_tuner.report.bodies import time_body, use_body
from iree_tuner.result import SPEEDUP, Pace, TuningResult, speedup_of, times_of
from iree_tuner.store.findings import UseBody
from iree_tuner.targets.options import options_of
from iree_tuner.tuning.flags import ENVIRONMENT
from iree_tuner.tuning.reading import NothingToTuneError
from iree_tuner.tuning.result import Competitor, WorkloadResult
from iree_tuner.tuning.timeline import TimeUse
from iree_tuner.tuning.versions import ComparisonStep


def report_result(
    console: Console, result: TuningResult, path: Path | None, kernels: Path | None = None
) -> None:
    """Print the results and the commands that use them.

    `path` is None if no spec was written, `kernels` if no kernel is part of the result.
    """
    searched = _table(result)
    if searched.row_count:
        print_table(console, searched, spare=("default us", "tuned us", "tried"))
    for line in _without_comparison(result):
        console.print(line, markup=False)
    alone = [item for item in result.results if not (item.all_trials or item.comparison)]
    if alone:
        share = sum(item.share for item in alone)
        noun = "workload" if len(alone) == 1 else "workloads"
        console.print(f"{len(alone)} {noun} skipped ({share:.1%} of the run time)")
    if result.pace.candidates:
        console.print(_pace(result.pace))
    print_table(console, _stages(result.time))
    if result.time.checked_s >= _SHOWN_S:
        checked_s = result.time.checked_s
        console.print(
            f"checking results took {checked_s:.1f} s ({checked_s / result.time.total_s:.0%} of the total)"
        )
    if result.interrupted and path is not None:
        console.print("interrupted: these are the results so far")
    if result.note:
        console.print(escape(result.note), style="yellow")
    if result.choices[1:]:
        print_table(console, _choices(result))
    if result.runtime.flags:
        flags = f"runtime flags: {' '.join(result.runtime.flags)}"
        console.print(f"{flags}, speedup {result.runtime.speedup:.2f}x more", soft_wrap=True, markup=False)
        console.print(f"  pass them to iree-run-module, or to Python in {ENVIRONMENT}", markup=False)
    if path is None:
        return
    if result.entries or result.flags or result.kernels:
        _tell_how_to_use(console, result, path, kernels)
    else:
        why = "no candidate beats the compiler's default"
        if result.wins:
            compared = any(step.comparison for step in result.steps)
            why = "the wins do not make the program faster" if compared else "the wins are not used"
        console.print(f"{why}: {path} is an empty spec")


_SHOWN_S = 0.05
"""The table omits shorter stages. `--json` has all."""


def _stages(use: TimeUse) -> Table:
    """The time of each stage, and how much of it the workers were busy."""
    devices = [lane for lane in use.lanes if not lane.worker.startswith("compiler")]
    compilers = [lane for lane in use.lanes if lane.worker.startswith("compiler")]
    stages = table("stage", "seconds", "share", "compilers busy", "devices busy", words=("stage",))
    for name, seconds in use.seconds().items():
        if seconds < _SHOWN_S:
            continue
        busy = [
            f"{sum(use.busy_s(lane, name) for lane in lanes) / len(lanes) / seconds:.0%}" if lanes else ""
            for lanes in (compilers, devices)
        ]
        stages.add_row(name, f"{seconds:.1f}", f"{seconds / use.total_s:.0%}", *busy)
    return stages


def _pace(pace: Pace) -> str:
    return (
        f"{pace.candidates} candidates in {pace.searched_s:.0f} s ({pace.per_hour:.0f} per hour); "
        f"devices measured {pace.busy:.0%} of that time"
    )


def _tell_how_to_use(console: Console, result: TuningResult, path: Path, kernels: Path | None) -> None:
    if result.whole is not None and result.comparison is not None:
        console.print(f"program ({result.whole.called}): speedup {speedup_of(result.comparison)}")
        for case, each in result.whole.by_case:
            if each.comparison is not None:
                console.print(f"  --dim {case}: {speedup_of(each.comparison)}", markup=False)
        if result.whole.memory_provided:
            console.print(
                "  of functions that iree-tuner compile --provided-memory makes; others allocate",
                markup=False,
            )
    if result.flags:
        alone = f", {speedup_of(result.flags_alone)} alone" if result.flags_alone else ""
        console.print(f"flags: {' '.join(result.flags)}{alone}", soft_wrap=True, markup=False)
    console.print(f"spec: {path}, configures {len(result.entries)} of {len(result.results)} workloads")
    if kernels is not None:
        console.print(f"kernels: {kernels}, replaces {len(result.kernels)} kinds of dispatches")
    lines = Counter(
        " ".join(
            [f"{site.problem.name}: {code.entry}", *(f"{name}={value}" for name, value in code.knobs.items())]
        )
        for site, code in result.kernels
    )
    for line, times in lines.items():
        console.print(f"kernel: {line}{f' ({times} times)' * (times > 1)}", markup=False)
    if result.verdict == "tie":
        console.print("its dispatches are faster alone, but the program is not measurably faster")
    if result.verdict is None:
        console.print("its dispatches are faster alone: the program with them was not compared")
    proven = result.verdict in ("win", "lose")
    console.print("to use it:" if proven else "to use it anyway:", style="bold")
    for command in how_to_use(result, path, kernels).get("commands", ()):
        console.print(f"  {command}", soft_wrap=True, markup=False)


def how_to_use(result: TuningResult, path: Path, kernels: Path | None) -> UseBody:
    """Build the commands that apply a result whose spec is at a path, and whose kernels' spec, if any."""
    program = result.program
    # A dumped dispatch's spec applies to the program that the dispatch came from.
    name = program.name if own_target(program.data, program.name) is None else "PROGRAM.mlir"
    return use_body(name, result.target.flags, path, str(result.target), kernels)


def _choices(result: TuningResult) -> Table:
    """The table of the compiler flags that were tried."""
    choices = table("flags", SPEEDUP, "verdict", words=("flags",))
    for choice in result.choices:
        options = "+".join(options_of(choice.target)) or "no extra flags"
        comparison = choice.comparison
        choices.add_row(
            options, times_of(comparison) if comparison else "", comparison.verdict if comparison else ""
        )
    return choices


def result_to_json(
    result: TuningResult, path: Path | None, kernels: Path | None = None
) -> Iterator[dict[str, object]]:
    """One object per workload, then one for the program. A path is None if that file was not written."""
    for item in result.results:
        yield _workload_to_json(item)
    by_case = result.whole.by_case if result.whole else ()
    record: dict[str, object] = {
        "program": result.program.name,
        "target": str(result.target),
        "spec": str(path) if path else None,
        "kernel_spec": str(kernels) if kernels else None,
        "workloads": len(result.results),
        "wins": len(result.wins),
        "speedup": result.speedup,
        "interval": list(result.interval) if result.interval else None,
        "verdict": result.verdict,
        "sizes": [{"dim": case, **_judged(each.comparison)} for case, each in by_case],
        "flags": list(result.flags),
        "flags_speedup": result.flags_alone.speedup if result.flags_alone else None,
        "runtime_flags": list(result.runtime.flags),
        "runtime_flags_speedup": result.runtime.speedup if result.runtime.flags else None,
        "entries": len(result.entries),
        "kernels": [site.problem.name for site, _ in result.kernels],
        "left_out": [entry.workload.name for entry in result.left_out],
        "steps": [_step(step) for step in result.steps],
        "seconds": result.time.total_s,
        "stages": dict(result.time.seconds()),
        "timeline": time_body(result.time),
        "searched_s": result.pace.searched_s,
        "candidates_per_hour": result.pace.per_hour,
        "devices_busy": result.pace.busy,
        "checked_s": result.time.checked_s,
        "interrupted": result.interrupted,
        "dropped": result.dropped,
        "note": result.note if result.comparison else result.why_not_compared,
    }
    if result.whole is not None and result.comparison is not None:
        record |= _times(result.comparison) | {
            "function": result.whole.function, "memory_provided": result.whole.memory_provided,
        }  # fmt: skip
    yield record


def nothing_to_json(error: NothingToTuneError) -> dict[str, object]:
    """The program's object where nothing can be tuned."""
    compared = dict.fromkeys(("spec", "speedup", "interval", "verdict"))
    return {
        "program": error.location,
        "workloads": 0,
        "wins": 0,
        "entries": 0,
        **compared,
        "note": error.message,
    }


def _step(step: ComparisonStep) -> dict[str, object]:
    sizes = [{"dim": case, **_judged(each.comparison), "error": each.error} for case, each in step.by_case]
    record: dict[str, object] = {"what": step.what, "against": step.against, **_judged(step.comparison)}
    return {**record, "error": step.error, "sizes": sizes}


def _judged(comparison: Comparison | None) -> dict[str, object]:
    return {
        "speedup": comparison.speedup if comparison else None,
        "interval": list(comparison.interval) if comparison else None,
        "verdict": comparison.verdict if comparison else None,
    }


def _workload_to_json(result: WorkloadResult) -> dict[str, object]:
    record: dict[str, object] = {
        "workload": result.task.workload.name,
        "key": result.task.workload.key,
        "family": result.task.workload.family,
        "dispatches": [dispatch.name for dispatch in result.task.dispatches],
        "calls": result.task.calls,
        "share": result.share,
        "count": result.space_count,
        "trials": len(result.trials),
        "outcomes": result.outcomes,
        "verdict": result.verdict if result.comparison else None,
        "speedup": None,
        "interval": None,
        "seconds": result.seconds,
        "searched_s": result.searched_s,
        "note": result.note or ("" if result.comparison else "nothing was compared"),
    }
    if result.comparison is not None:
        comparison = result.comparison
        record |= {"speedup": comparison.speedup, "interval": list(comparison.interval)} | _times(comparison)
    if result.competitors:
        record["competitors"] = [_competitor_to_json(each) for each in result.competitors]
    if result.entry is not None:
        record["configuration"] = {op.label: op.value for op in result.entry.configuration.ops}
    return record


def _competitor_to_json(found: Competitor) -> dict[str, object]:
    record: dict[str, object] = {
        "kernel": found.kind.name, "count": found.kind.size, "trials": len(found.trials),
        "outcomes": Counter(trial.outcome for trial in found.trials), "note": found.final.note,
        "over": _over(found).strip(),
    }  # fmt: skip
    comparison = found.final.comparison
    if comparison is not None:
        record |= {"speedup": comparison.speedup, "interval": list(comparison.interval)} | _times(comparison)
        record["verdict"] = comparison.verdict
    if found.final.winner is not None:
        record["knobs"] = dict(found.final.winner.assignment)
    return record


def _times(comparison: Comparison) -> dict[str, object]:
    return {
        "default_us": comparison.default_us,
        "time_us": comparison.candidate_us,
        "pairs": comparison.pairs,
    }


def _table(result: TuningResult) -> Table:
    names = ("workload", "share", "tried", "default us", "tuned us", SPEEDUP, "verdict")
    workloads = table(*names, words=("workload",))
    searched = [item for item in result.results if item.all_trials or item.comparison]
    for item in searched:
        comparison = item.comparison
        workloads.add_row(
            item.task.workload.name,
            f"{item.share:.1%}",
            str(len(item.trials)),
            f"{comparison.default_us:.1f}" if comparison else "",
            f"{comparison.candidate_us:.1f}" if comparison and item.entry else "",
            times_of(comparison) if comparison else "",
            item.verdict,
        )
        for each in item.competitors:
            workloads.add_row(*_competitor(each))
    return workloads


def _competitor(found: Competitor) -> tuple[str, ...]:
    comparison = found.final.comparison
    return (
        f"  {found.kind.name}{_over(found)}", "", str(len(found.trials)),
        f"{comparison.default_us:.1f}" if comparison else "",
        f"{comparison.candidate_us:.1f}" if comparison else "",
        times_of(comparison) if comparison else "", comparison.verdict if comparison else "",
    )  # fmt: skip


def _over(found: Competitor) -> str:
    """A suffix if the kernel was compared with another dispatch than the program's."""
    kind = found.kind
    if not isinstance(kind, KernelVariants):
        return ""
    if kind.prepared.site.one_op:
        return " over one op"
    return " over the op alone" if kind.competes_for != kind.prepared.workload else ""


def _without_comparison(result: TuningResult) -> Iterator[str]:
    """The reasons why searched workloads have no comparison with the default."""
    for item in result.results:
        if item.all_trials and item.comparison is None and item.note:
            yield f"{item.task.workload.name}: {item.note}"
        for each in item.competitors:
            if each.final.comparison is None and each.final.note:
                yield f"{item.task.workload.name}, {each.kind.name}: {each.final.note}"
