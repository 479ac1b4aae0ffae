"""`iree-tuner suite changes`: compare two runs.

Runs of the suite on the command line: a folder of results, or a run in a history.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast

from cyclopts import App, Parameter
from rich.console import Console

from iree_tuner.cli.output import AsJson, answers_to, counted, people, print_json
from iree_tuner.cli.table import parse_percent, print_table, table
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import planned_output, write
from iree_tuner.report.numbers import day
from iree_tuner.report.page import check_installed
from iree_tuner.suite.changes import (
    ALIKE,
    USUAL,
    VERDICTS,
    WORTH,
    Change,
    Spreads,
    Verdict,
    cautions,
    counts,
    spreads_of,
)
from iree_tuner.suite.changes import changes as changes_of
from iree_tuner.suite.results import History, Results, read_history, read_results, run_named, runs
from iree_tuner.suite.results import add as add_run

_HINT = "give a folder of results, or HISTORY.jsonl@RUN: id, beginning of a commit, first or last"


def run_named_as(name: str) -> tuple[Results, History | None]:
    """Load a run, and the history that it is in, if it is not in a folder.

    Raises TunerError for a missing or empty run, and UsageError for an incomplete name.
    """
    path = Path(name)
    if path.is_dir():
        found = read_results(path)
        if not found.rows:
            raise TunerError("the run has no rows yet", location=name)
        return found, None
    if path.is_file():
        raise UsageError(f"{name}: name a run of this history", hint=_HINT)
    file, at, run = name.rpartition("@")
    if not at or not Path(file).is_file():
        raise TunerError("there are no results of that name", location=name, hint=_HINT)
    history = read_history(Path(file))
    return run_named(history, run), history


_TOLD = ("BROKEN", "FIXED", "SLOWER", "FASTER", "NEW", "GONE")
_COLUMNS = ("verdict", "operation", "back end", "device", "speedup (98% CI)", "before us", "after us", "how")


def changes(
    old: Annotated[str, Parameter(help="The earlier run: a folder of results, or HISTORY.jsonl@RUN.")],
    new: Annotated[str, Parameter(help="The later run: a folder of results, or HISTORY.jsonl@RUN.")],
    /,
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Also write the changes as a report, .html.")
    ] = None,
    worth: Annotated[str, Parameter(help="Smallest change to report.")] = f"{WORTH:.0%}",
    alike: Annotated[str, Parameter(help="Largest change that counts as the same.")] = f"{ALIKE:.0%}",
    history: Annotated[
        Path | None, Parameter(help="Take the variation between runs from this history, .jsonl.")
    ] = None,
    fail_on: Annotated[
        str, Parameter(help="Exit with status 1 if a row has one of these verdicts: slower,broken.")
    ] = "",
    as_json: AsJson = False,
) -> int:
    """Compare two runs: list the rows that became faster, slower, broken or fixed.

    RUN is the id of a run, the beginning of its commit, `first` or `last`.

    Example: `iree-tuner suite changes history.jsonl@last results -o changes.html --fail-on slower,broken`
    """
    bounds = {"worth": parse_percent(worth), "alike": parse_percent(alike)}
    fatal = _verdicts(fail_on)
    from iree_tuner.suite.pages.course import changes_page, headline

    if output:
        check_installed()
        planned_output(output, ".html")
    (before, earlier), (after, later) = run_named_as(old), run_named_as(new)
    known = read_history(history) if history else earlier or later
    spreads = spreads_of(known) if known else Spreads()
    found = changes_of(before, after, **bounds, spreads=spreads)
    heads = before.facts, after.facts
    sources = (known, earlier, later, before, after)
    notes = (each.note for each in sources if each is not None and each.note)
    for note in [*dict.fromkeys(notes), *cautions(*heads)]:
        people.print(note, style="yellow")
    if as_json:
        for each in found:
            print_json(_to_json(each))
        print_json({"before": heads[0].id, "after": heads[1].id, "counts": counts(found)})
    if output:
        write(output, changes_page(before, after, **bounds, spreads=spreads))
    console = answers_to(as_json=as_json)
    _tell(found, spreads, console)
    console.print(f"{output}: {headline(found)}" if output else headline(found))
    failed = {each: count for each, count in counts(found).items() if each in fatal}
    if failed:
        told = ", ".join(f"{count} {each.lower()}" for each, count in failed.items())
        people.print(f"failed: {told}", style="red")
    return int(bool(failed))


def _verdicts(text: str) -> set[Verdict]:
    names = {each.strip().upper() for each in text.split(",") if each.strip()}
    unknown = sorted(names - set(VERDICTS))
    if unknown:
        raise UsageError(
            f"--fail-on: unknown verdict '{unknown[0].lower()}'", hint=", ".join(VERDICTS).lower()
        )
    return cast("set[Verdict]", names)


def _tell(found: Sequence[Change], spreads: Spreads, console: Console) -> None:
    changed = table(*_COLUMNS, words=(*_COLUMNS[1:4], "how"))
    told = [each for each in found if each.verdict in _TOLD]
    for each in sorted(told, key=lambda each: (_TOLD.index(each.verdict), each.ratio or 0.0)):
        changed.add_row(
            each.verdict, each.key[0], " ".join(filter(None, each.key[1:3])), each.key[3], _ratio(each),
            _side(each, "before"), _side(each, "after"), _how(each),
        )  # fmt: skip
    if told:
        print_table(console, changed, spare=("device", "before us", "after us", "how"))
    if any(each.ratio is not None and not each.paired for each in found):
        known = [f"{spread:.1%} on {name or 'the device'}" for name, spread in spreads.devices.items()]
        told = ", ".join(known) or f"{USUAL:.0%} (assumed: there is no history of this machine)"
        console.print(f"variation of equal code between runs: {told}")


def _ratio(change: Change) -> str:
    if change.ratio is None or change.interval is None:
        return "" if change.ratio is None else f"{change.ratio:.3f}x"
    return f"{change.ratio:.3f}x ({change.interval[0]:.3f} to {change.interval[1]:.3f})"


def _side(change: Change, side: str) -> str:
    row = change.before if side == "before" else change.after
    if row is None:
        return ""
    return row.state if row.state != "ok" or row.time_us is None else f"{row.time_us:.1f}"


def _how(change: Change) -> str:
    if change.ratio is not None:
        return "interleaved" if change.paired else "run by run"
    rows = (change.after, change.before)
    return next((row.message for row in rows if row is not None and row.state != "ok"), "")


def _to_json(change: Change) -> dict[str, object]:
    rows = {"before": change.before, "after": change.after}
    return {
        **dict(zip(("operation", "backend", "configuration", "device"), change.key, strict=True)),
        **{name: getattr(change, name) for name in ("verdict", "ratio", "interval", "paired")},
        **{f"{name}_us": row and row.time_us for name, row in rows.items()},
        **{f"{name}_state": row and row.state for name, row in rows.items()},
    }


# `iree-tuner suite history`: collect runs in one file, and show how times changed.


app = App(
    name="history",
    help="""Collect runs in one file, and show how times changed.

    Example: `iree-tuner suite history add results --to history.jsonl`
    """,
)


@app.command
def add(
    results: Annotated[tuple[Path, ...], Parameter(negative="", help="Folders of results.")],
    /,
    *,
    to: Annotated[Path, Parameter(help="The history, .jsonl. A missing file is created.")],
    as_json: AsJson = False,
) -> None:
    """Append runs to a history. Runs that it already has are not added again.

    Example: `iree-tuner suite history add results --to history.jsonl`
    """
    for folder in results:
        found = read_results(folder)
        added = add_run(found, to)
        outcome = f"{counted(added, 'row')} added" if added else "already in the history"
        people.print(f"{to}: run {found.facts.id} of {folder}: {outcome}")
        if as_json:
            print_json({"run": found.facts.id, "rows": len(found.rows), "added": added})


@app.command
def show(
    file: Annotated[Path, Parameter(help="A history, .jsonl.")],
    /,
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Also write a report of the history, .html.")
    ] = None,
    commit: Annotated[str, Parameter(help="List only runs whose commit begins with this.")] = "",
    compiler: Annotated[str, Parameter(help="List only runs of this compiler release.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the runs of a history. With -o, also write a report with charts of the times.

    Example: `iree-tuner suite history show history.jsonl -o history.html`
    """
    if output:
        check_installed()
        planned_output(output, ".html")
    history = read_history(file)
    if history.note:
        people.print(history.note, style="yellow")
    by_run = {each.facts.id: each.rows for each in history.results}
    names = ("run", "started", "commit", "compiler", "devices", "rows", "ok", "name")
    listed = table(*names, words=("run", "devices", "name"))
    for each in runs(history, commit=commit, compiler=compiler):
        rows = by_run[each.id]
        devices = [name or uri for uri, name in each.devices.items()]
        ok = sum(row.state == "ok" for row in rows)
        listed.add_row(
            each.id, day(each.started), each.commit[:12], each.compiler, ", ".join(devices), str(len(rows)),
            str(ok), each.name,
        )  # fmt: skip
        if as_json:
            print_json({
                "run": each.id, "started": each.started, "commit": each.commit, "compiler": each.compiler,
                "devices": devices, "rows": len(rows), "ok": ok, "name": each.name,
            })  # fmt: skip
    print_table(answers_to(as_json=as_json), listed, spare=("commit", "compiler"), otherwise="no runs")
    if output:
        from iree_tuner.suite.pages.course import history_page

        write(output, history_page(history))
        people.print(f"{output}: {counted(len(history.results), 'run')}")
