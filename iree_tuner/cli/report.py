"""The results of a tuning run, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import structs
from rich.console import Console
from rich.table import Table

from iree_tuner.cli.table import print_table, table
from iree_tuner.program.dump_body import own_target
from iree_tuner.report.view import use_of
from iree_tuner.result import (
    SPEEDUP,
    Pace,
    TuningResult,
    change_records,
    speedup_of,
    times_of,
    whole_record,
    workload_record,
)
from iree_tuner.store.record import Use, as_json
from iree_tuner.tuning.flags import ENVIRONMENT
from iree_tuner.tuning.reading import NothingToTuneError
from iree_tuner.tuning.result import Competitor
from iree_tuner.tuning.timeline import TimeUse


def report_result(
    console: Console, result: TuningResult, path: Path | None, kernels: Path | None = None,
    *, stays: bool = False,
) -> None:  # fmt: skip
    """Print the results and the commands that use them.

    `path` is None if no spec was written, `kernels` if no kernel is part of the result. `stays` is whether
    another spec is at the path, which an empty one does not replace.
    """
    searched = _table(result)
    if searched.row_count:
        print_table(console, searched, spare=("default us", "tuned us", "tried"))
    for line in _without_comparison(result):
        console.print(line)
    skipped = [item for item in result.results if item.skipped]
    for noun in sorted({item.replaced_by for item in skipped}, reverse=True):
        alone = [item for item in skipped if item.replaced_by == noun]
        share, what = sum(item.share for item in alone), f"replaced by {noun}s" if noun else "skipped"
        console.print(f"{_counted(len(alone), 'workload')} {what} ({share:.1%} of the run time)")
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
        console.print(result.note, style="yellow")
    if result.choices[1:]:
        print_table(console, _choices(result))
    if result.runtime.flags:
        flags = f"runtime flags: {' '.join(result.runtime.flags)}"
        console.print(f"{flags}, speedup {result.runtime.speedup:.2f}x more", soft_wrap=True)
        console.print(f"  pass them to iree-run-module, or to Python in {ENVIRONMENT}")
    if path is None:
        return
    if result.gained:
        _tell_how_to_use(console, result, path, kernels)
    else:
        why = "no candidate beats the compiler's default"
        if result.wins:
            compared = any(step.comparison for step in result.steps)
            why = "the wins do not make the program faster" if compared else "the wins are not used"
        console.print(f"{why}: {path} {'stays as it was' if stays else 'is an empty spec'}")


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
                console.print(f"  --dim {case}: {speedup_of(each.comparison)}")
        if result.whole.memory_provided:
            console.print("  of functions that iree-tuner compile --provided-memory makes; others allocate")
    if result.flags:
        alone = f", {speedup_of(result.flags_alone)} alone" if result.flags_alone else ""
        console.print(f"flags: {' '.join(result.flags)}{alone}", soft_wrap=True)
    console.print(f"spec: {path}, configures {len(result.entries)} of {len(result.results)} workloads")
    if kernels is not None:
        rows = change_records(result.changes_of("kernels"))
        kinds = _counted(len({each.where for each in rows}), "kind")
        places = _counted(sum(each.count for each in rows), "place")
        console.print(f"kernels: {kernels}, replaces {kinds} of dispatches, {places}")
    nouns = {each.name: each.noun for each in result.sources}
    for each in change_records(result.changes):
        line = f"{nouns[each.source]}: {': '.join(filter(None, (each.where, each.how)))}"
        console.print(f"{line}{f' ({each.count} times)' * (each.count > 1)}")
    if result.verdict == "tie":
        console.print("its dispatches are faster alone, but the program is not measurably faster")
    if result.verdict is None:
        console.print("its dispatches are faster alone: the program with them was not compared")
    proven = result.verdict in ("win", "lose")
    console.print("to use it:" if proven else "to use it anyway:", style="bold")
    for command in how_to_use(result, path, kernels).commands:
        console.print(f"  {command}", soft_wrap=True)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def how_to_use(result: TuningResult, path: Path, kernels: Path | None) -> Use:
    """Build the commands that apply a result whose spec is at a path, and whose kernels' spec, if any."""
    program = result.program
    # A dumped dispatch's spec applies to the program that the dispatch came from.
    name = program.name if own_target(program.data, program.name) is None else "PROGRAM.mlir"
    return use_of(name, result.target.flags, path, str(result.target), kernels)


def _choices(result: TuningResult) -> Table:
    choices = table("flags", SPEEDUP, "verdict", words=("flags",))
    for choice in result.choices:
        options = choice.name or "no extra flags"
        comparison = choice.comparison
        choices.add_row(options, times_of(comparison), comparison.verdict if comparison else "")
    return choices


def result_to_json(
    result: TuningResult, path: Path | None, kernels: Path | None = None
) -> Iterator[Mapping[str, object]]:
    """One object per workload, then one for the program. A path is None if that file was not written."""
    for each in map(workload_record, result.results):
        note = each.note or ("" if each.verdict else "nothing was compared")
        yield as_json(structs.replace(each, note=note))
    written = {"spec": str(path) if path else None, "kernel_spec": str(kernels) if kernels else None}
    note = result.note if result.comparison else result.why_not_compared
    yield as_json(structs.replace(whole_record(result), **written, note=note))


def nothing_to_json(error: NothingToTuneError) -> dict[str, object]:
    """The program's object where nothing can be tuned."""
    compared = dict.fromkeys(("spec", "speedup", "interval", "verdict"))
    counts = dict.fromkeys(("workloads", "wins", "entries"), 0)
    return {"program": error.location, **counts, **compared, "note": error.message}


def _table(result: TuningResult) -> Table:
    names = ("workload", "share", "tried", "default us", "tuned us", SPEEDUP, "verdict")
    workloads = table(*names, words=("workload",))
    searched = [item for item in result.results if item.all_trials or item.comparison]
    for item in searched:
        comparison = item.comparison
        workloads.add_row(
            item.task.workload.name, f"{item.share:.1%}", str(len(item.trials)),
            f"{comparison.default_us:.1f}" if comparison else "",
            f"{comparison.candidate_us:.1f}" if comparison and item.entry else "", times_of(comparison),
            item.verdict,
        )  # fmt: skip
        for each in item.competitors:
            workloads.add_row(*_competitor(each))
    return workloads


def _competitor(found: Competitor) -> tuple[str, ...]:
    comparison = found.final.comparison
    return (
        " ".join(filter(None, (f"  {found.kind.name}", found.kind.over))), "", str(len(found.trials)),
        f"{comparison.default_us:.1f}" if comparison else "",
        f"{comparison.candidate_us:.1f}" if comparison else "", times_of(comparison),
        comparison.verdict if comparison else "",
    )  # fmt: skip


def _without_comparison(result: TuningResult) -> Iterator[str]:
    """The reasons why searched workloads have no comparison with the default."""
    for item in result.results:
        if item.all_trials and item.comparison is None and item.note:
            yield f"{item.task.workload.name}: {item.note}"
        for each in item.competitors:
            if each.final.comparison is None and each.final.note:
                yield f"{item.task.workload.name}, {each.kind.name}: {each.final.note}"
