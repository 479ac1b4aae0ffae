"""`iree-tuner suite history`: collect runs in one file, and show how times changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from iree_tuner.cli.database import AsJson
from iree_tuner.cli.output import answers_to, people, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.files import planned_output
from iree_tuner.report.numbers import day
from iree_tuner.report.page import check_installed, save
from iree_tuner.suite.history import add as add_run
from iree_tuner.suite.history import read_history, runs
from iree_tuner.suite.pages.history_page import history_page
from iree_tuner.suite.results import read_results

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
        outcome = f"{added} rows added" if added else "already in the history"
        people.print(f"{to}: run {found.facts.id} of {folder}: {outcome}", markup=False)
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
        people.print(history.note, style="yellow", markup=False)
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
        save(history_page(history), output)
        people.print(f"{output}: {len(history.results)} runs", markup=False)
