"""The results of a tuning run, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from iree_tuner.measure.statistics import Comparison
from iree_tuner.tune import TuningResult
from iree_tuner.tuning.result import WorkloadResult


def report_result(console: Console, result: TuningResult, path: Path) -> None:
    """What was found, where the spec is, and how to use it."""
    console.print(_table(result))
    alone = [item for item in result.results if not (item.trials or item.comparison)]
    if alone:
        share = sum(item.share for item in alone)
        console.print(f"{len(alone)} workloads were left alone, {share:.1%} of the time")
    if result.interrupted:
        console.print("interrupted: this is what was found until then")
    if result.note:
        console.print(escape(result.note), style="yellow")
    if result.dropped or not result.wins:
        console.print(f"nothing beats the compiler's own choices: {path} is a spec that changes nothing")
        return
    if result.whole is not None:
        console.print(f"program ({result.whole.function}): {_speedup(result.whole.comparison)}")
    program = escape(result.program.name)
    flags = " ".join(result.target.flags)
    console.print(f"spec: {path}, {len(result.wins)} of {len(result.results)} workloads")
    console.print("use it, either way:", style="bold")
    console.print(
        f"  iree-compile {program} {flags} --iree-codegen-tuning-spec-path={path} -o tuned.vmfb",
        soft_wrap=True,
    )
    console.print(
        f"  iree-tuner spec embed {program} {path} -o tuned.mlir && "
        f"iree-compile tuned.mlir {flags} -o tuned.vmfb",
        soft_wrap=True,
    )


def result_to_json(result: TuningResult, path: Path) -> Iterator[dict[str, object]]:
    """One object for each workload, then one for the program."""
    for item in result.results:
        yield _workload_to_json(item)
    record: dict[str, object] = {
        "program": result.program.name,
        "target": str(result.target),
        "spec": str(path),
        "workloads": len(result.results),
        "wins": len(result.wins),
        "speedup": result.speedup,
        "interval": list(result.interval),
        "verdict": result.whole.comparison.verdict if result.whole else "tie",
        "interrupted": result.interrupted,
        "dropped": result.dropped,
        "note": result.note,
    }
    if result.whole is not None:
        record |= _times(result.whole.comparison) | {"function": result.whole.function}
    yield record


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
        "verdict": result.verdict,
        "seconds": result.seconds,
        "note": result.note,
    }
    if result.comparison is not None:
        comparison = result.comparison
        record |= {"speedup": comparison.speedup, "interval": list(comparison.interval)} | _times(comparison)
    if result.entry is not None:
        record["configuration"] = {op.label: op.value for op in result.entry.configuration.ops}
    return record


def _times(comparison: Comparison) -> dict[str, object]:
    return {
        "default_us": comparison.default_us,
        "time_us": comparison.candidate_us,
        "pairs": comparison.pairs,
    }


def _table(result: TuningResult) -> Table:
    table = Table(
        "workload", "share", "tried", "default us", "tuned us", "speedup (interval)", "verdict", box=None
    )
    searched = [item for item in result.results if item.trials or item.comparison]
    for item in searched:
        comparison = item.comparison
        table.add_row(
            item.task.workload.name,
            f"{item.share:.1%}",
            str(len(item.trials)),
            f"{comparison.default_us:.1f}" if comparison else "",
            f"{comparison.candidate_us:.1f}" if comparison and item.entry else "",
            _speedup(comparison) if comparison else item.note,
            item.verdict,
        )
    return table


def _speedup(comparison: Comparison) -> str:
    low, high = comparison.interval
    return f"{comparison.speedup:.2f}x ({low:.2f} to {high:.2f})"
