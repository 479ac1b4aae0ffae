"""The results of a tuning run, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import structs
from rich.console import Console
from rich.table import Table

from iree_tuner.cli.output import counted
from iree_tuner.cli.table import print_table, table
from iree_tuner.measure.statistics import MEDIANS, Comparison, speedup_of, times_of
from iree_tuner.program.dump_body import own_target
from iree_tuner.report.view import use_of
from iree_tuner.result import (
    SPEEDUP,
    TuningResult,
    change_records,
    whole_record,
    workload_record,
)
from iree_tuner.store.record import Use, as_json
from iree_tuner.tuning.flags import ENVIRONMENT
from iree_tuner.tuning.queue import NOT_TRIED
from iree_tuner.tuning.reading import NothingToTuneError
from iree_tuner.tuning.timeline import TimeUse


def report_result(
    console: Console, result: TuningResult, path: Path | None, kernels: Path | None = None,
    *, stays: Sequence[Path] = (), written: Sequence[Path] = (), verbose: bool = False,
) -> None:  # fmt: skip
    """Print what was found, where it was written, and the commands that use it.

    Args:
        console: where to.
        result: of the run.
        path: of the spec; None if none was written.
        kernels: path of the kernels' spec; None if no kernel is part of the result.
        stays: paths of files of earlier results, which are not replaced.
        written: paths of further files that were written.
        verbose: whether to print how it was found, too: the time of each stage, flags, each change.
    """
    searched = _table(result, verbose=verbose)
    if searched.row_count:
        print_table(console, searched, spare=("default us", "tuned us", "tried"))
    for line in (*_without_comparison(result), *_left_out(result), *_not_searched(result)):
        console.print(line)
    if verbose:
        _tell_how_it_was_found(console, result)
    notes = list(dict.fromkeys(filter(None, result.note.split("; "))))
    why, others = _reason_and_notes(result, notes)
    for note in notes if path is None else others:
        console.print(f"note: {note}", style="yellow")
    if path is None:
        return
    for number, line in enumerate((*_result_lines(result, why), *_why_less(result))):
        console.print(line, style="" if number else "bold")
    for line in (*_about_earlier(result, path), *_about_spec(result, path, stays)):
        console.print(line)
    for each in written:
        console.print(f"Wrote {each}")
    if result.gained:
        _tell_how_to_use(console, result, path, kernels, verbose=verbose)


def _about_earlier(result: TuningResult, path: Path) -> Iterator[str]:
    """The comparison of the new result with an earlier one."""
    if (earlier := result.earlier) is None:
        return
    new = times_of(earlier.comparison)
    match earlier.state:
        case "kept":
            why = f"the new result is not faster, {new}" if new else "there is no faster result"
            yield f"Kept {path}: {why}"
        case "beaten":
            yield f"compared with the earlier result: {new}"
        case "not compared":
            yield f"not compared with the earlier result: {earlier.note}"
        case "none":
            yield f"the earlier result does not count: {earlier.note}"


def _about_spec(result: TuningResult, path: Path, stays: Sequence[Path]) -> Iterator[str]:
    """Which files stay, and what is in the spec."""
    if result.keeps_earlier:
        yield from (f"{each} stays as it was" for each in stays if each.suffix == ".vmfb")
        return
    for each in stays:
        yield f"{each} stays as it was: only a faster result replaces it"
    if result.gained:
        of = counted(len(result.results), "workload")
        yield f"Wrote {path}: configures {len(result.entries)} of {of}"
    elif path not in stays:
        yield f"{path} is an empty spec"


def _not_searched(result: TuningResult) -> Iterator[str]:
    """How many workloads were left alone, of those that the program has itself."""
    skipped = [item for item in result.results if item.skipped and item.task.dispatches]
    for noun in sorted({item.replaced_by for item in skipped}, reverse=True):
        alone = [item for item in skipped if item.replaced_by == noun]
        share = min(1.0, sum(item.share for item in alone))  # dispatches alone may be slower than together
        what = f"replaced by {noun}s" if noun else "skipped"
        of = f" ({share:.1%} of the run time)" if any(item.share for item in result.results) else ""
        yield f"{counted(len(alone), 'workload')} {what}{of}"  # where none was timed, no share is known


def _tell_how_it_was_found(console: Console, result: TuningResult) -> None:
    for each in result.results:
        if each.comparison is not None and each.note:
            console.print(f"{each.task.workload.name}: {each.note}")
    pace = result.pace
    if pace.candidates:
        console.print(
            f"{pace.candidates} candidates in {pace.searched_s:.0f} s ({pace.per_hour:.0f} per hour), "
            f"device {pace.busy:.0%} busy"
        )
    print_table(console, _stages(result.time))
    if result.time.checked_s >= _SHOWN_S:
        checked_s = result.time.checked_s
        console.print(
            f"checking results took {checked_s:.1f} s ({checked_s / result.time.total_s:.0%} of the total)"
        )
    if result.choices[1:]:
        print_table(console, _choices(result))


def _reason_and_notes(result: TuningResult, notes: list[str]) -> tuple[str, list[str]]:
    """Why there is no comparison of the program with its result, if there is none; and all other notes."""
    if result.comparison is not None:
        return "", notes
    if (
        not result.gained
        and NOT_TRIED in {each.note for each in result.results}
        and not result.pace.candidates
    ):
        return f"{NOT_TRIED}; pass a longer --budget", notes
    if notes:
        unused = "" if result.gained or "not used" in notes[0] else "nothing is used: "
        return unused + notes[0], notes[1:]
    if not result.wins:
        ties = (each.comparison for each in result.results)
        noisy = any(each and each.interval[1] > _SURE**2 * each.interval[0] for each in ties)
        return (
            f"no candidate beats the compiler's default{', as far as this noisy machine shows' * noisy}",
            [],
        )
    compared = any(step.comparison for step in result.steps)
    return "the wins do not make the program faster" if compared else "the wins are not used", []


def _result_lines(result: TuningResult, why: str) -> Iterator[str]:
    """The result in one line, and what belongs to it."""
    so_far = ", so far" if result.interrupted else ""
    compared, whole = result.comparison, result.whole
    if tested := [each for each in result.results if each.itself]:
        ties = sum(each.verdict == "tie" for each in tested)
        of = counted(len(result.results), "workload")
        yield f"RESULT{so_far}: self-test: a tie in {ties} of {of}"
        if ties < len(tested):
            yield _NOISY
        return
    if compared is None or whole is None:
        yield f"RESULT{so_far}: {why}"
        return
    times = f"{whole.called}: {compared.default_us:.1f} -> {compared.candidate_us:.1f} us"
    if result.verdict in ("win", "lose"):
        yield f"RESULT{so_far}: {speedup_of(compared)}, {times}"
    elif compared.interval[1] > _SURE * compared.interval[0]:
        yield f"RESULT{so_far}: uncertain, {speedup_of(compared)}, {times}"
        yield _NOISY
    else:
        yield f"RESULT{so_far}: tie, {speedup_of(compared)}, {times}"
    if compared.medians_disagree:
        yield MEDIANS
    if whole.agreement.ok:
        yield "results checked: correct"
    for case, each in whole.by_case:
        if each.comparison is not None:
            yield f"  --dim {case}: {speedup_of(each.comparison)}"
    if result.flags:
        alone = f", {speedup_of(result.flags_alone)} alone" if result.flags_alone else ""
        yield f"flags: {' '.join(result.flags)}{alone}"
    if result.runtime.flags:
        yield f"runtime flags: {' '.join(result.runtime.flags)}, speedup {result.runtime.speedup:.2f}x more"
        yield f"  pass them to iree-run-module, or to Python in {ENVIRONMENT}"


_NOISY = "the machine is too noisy for a verdict: close other programs and repeat"

_SURE = 1.1
"""A tie with a wider interval may be a large gain or loss."""

_PART, _LESS = 0.7, 0.5  # of the program's time, and of the saving that was expected


def _why_less(result: TuningResult) -> Iterator[str]:
    """Why the program gains less than its workloads alone."""
    won = [each for each in result.wins if each.entry is not None]
    compared = result.comparison or next((each.comparison for each in result.steps if each.comparison), None)
    saved_us = sum(each.saved_us for each in won)
    tuned_us = sum(each.weight_us for each in won)
    if compared is None or not saved_us or result.changes:
        return
    if compared.speedup >= tuned_us / (tuned_us - saved_us):  # it gains no less
        return
    whole_us = compared.default_us
    if tuned_us < _PART * whole_us:
        yield f"workloads that win take {tuned_us:.1f} of {whole_us:.1f} us, and save {saved_us:.1f} us alone"
    elif whole_us * (1.0 - 1.0 / compared.speedup) < _LESS * saved_us:
        yield f"workloads that win save {saved_us:.1f} us alone, but less in the program, where"
        yield "dispatches find other data in the caches, and calls cost time"


def _left_out(result: TuningResult) -> Iterator[str]:
    """The kernels that win alone and are not used, with the reason."""
    used = {name for each in result.changes for name in (each.where, *each.dispatches)}
    steps = [step for step in result.steps if any(each.noun in step.what for each in result.sources)]
    best = max(steps, key=lambda step: step.comparison.speedup if step.comparison else 0.0, default=None)
    if best is None:
        why = "no version of the program with it was compared: out of time"
    elif best.comparison is None:
        why = f"the program with it fails: {best.error}"
    else:
        why = f"the program with it is not the fastest: {times_of(best.comparison)}"
    for item in result.results:
        names = {item.task.workload.name, *(each.name for each in item.task.dispatches)}
        for each in item.competitors if not used & names else ():
            if each.final.comparison is not None and each.final.comparison.verdict == "win":
                yield f"{item.task.workload.name}: {each.kind.name} wins alone, and is not used: {why}"


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


def _tell_how_to_use(
    console: Console, result: TuningResult, path: Path, kernels: Path | None, *, verbose: bool
) -> None:
    if kernels is not None and not result.keeps_earlier:
        rows = change_records(result.changes_of("kernels"))
        kinds = counted(len({each.where for each in rows}), "kind")
        places = counted(sum(each.count for each in rows), "place")
        console.print(f"Wrote {kernels}: replaces {kinds} of dispatches, {places}")
    nouns = {each.name: each.noun for each in result.sources}
    for each in () if result.keeps_earlier else change_records(result.changes):
        if verbose or kernels is None or each.source != "kernels":
            line = f"{nouns[each.source]}: {': '.join(filter(None, (each.where, each.how)))}"
            console.print(f"{line}{f' ({each.count} times)' * (each.count > 1)}")
    if result.verdict == "tie" and result.entries:
        console.print("faster alone, not in the program: the dispatches of the spec")
    if result.verdict is None:
        console.print("its dispatches are faster alone: the program with them was not compared")
    proven = result.verdict in ("win", "lose")
    console.print("Use it:" if proven else "Use it anyway:", style="bold")
    provided = result.whole is not None and result.whole.memory_provided
    for number, command in enumerate(how_to_use(result, path, kernels).commands):
        if number and provided:
            console.print("or with functions that allocate memory, which were not compared:")
        console.print(f"  {command}", soft_wrap=True)


def how_to_use(result: TuningResult, path: Path, kernels: Path | None) -> Use:
    """Build the commands that apply a result whose spec is at a path, and whose kernels' spec, if any."""
    program = result.program
    # A dumped dispatch's spec applies to the program that the dispatch came from.
    name = program.name if own_target(program.data, program.name) is None else "PROGRAM.mlir"
    provided = result.whole is not None and result.whole.memory_provided
    return use_of(name, result.target.flags, path, str(result.target), kernels, provided_memory=provided)


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


def _table(result: TuningResult, *, verbose: bool) -> Table:
    """What was searched; of candidates that are no configurations, those with a final, or all if verbose."""
    names = ("workload", "share", "tried", "default us", "tuned us", SPEEDUP, "verdict")
    workloads = table(*names, words=("workload",))
    searched = [item for item in result.results if item.all_trials or item.comparison]
    for item in searched:
        taken = item.replaced_by and not item.entry
        verdict = item.replaced_by if taken else "corrected" if item.verdict == "mended" else item.verdict
        default_us, tuned_us, speedup = _times(item.comparison)
        workloads.add_row(
            item.task.workload.name, f"{item.share:.1%}", str(len(item.trials)), default_us,
            tuned_us if item.entry else "", speedup, verdict,
        )  # fmt: skip
        for each in item.competitors:
            comparison = each.final.comparison
            if verbose or comparison is not None:
                name = " ".join(filter(None, (f"  {each.kind.name}", each.kind.over)))
                verdict = comparison.verdict if comparison else ""
                workloads.add_row(name, "", str(len(each.trials)), *_times(comparison), verdict)
    return workloads


def _times(found: Comparison | None) -> tuple[str, str, str]:
    """The default's time, the candidate's, and the speedup; empty without a comparison."""
    if found is None:
        return "", "", ""
    return f"{found.default_us:.1f}", f"{found.candidate_us:.1f}", times_of(found)


def _without_comparison(result: TuningResult) -> Iterator[str]:
    """The reasons why searched workloads have no comparison with the default."""
    for item in result.results:
        if item.all_trials and item.comparison is None and item.note:
            yield f"{item.task.workload.name}: {item.note}"
        for each in item.competitors:
            if each.final.comparison is None and each.final.note:
                yield f"{item.task.workload.name}, {each.kind.name}: {each.final.note}"
