"""`iree-tuner report`: write a report of a run as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.db import to_read
from iree_tuner.cli.output import AsJson, counted, people, print_json
from iree_tuner.files import planned_output
from iree_tuner.report.page import Report, check_installed
from iree_tuner.report.view import report_of_run

_DEFAULT = Path("report.html")


def report(
    db: Annotated[
        Path | None,
        Parameter(help="The database. Default: iree_tuner/trials.db in the user's data folder."),
    ] = None,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The file to write, .html.")] = _DEFAULT,
    run: Annotated[int | None, Parameter(help="Number of the run. Default: the last run.")] = None,
    program: Annotated[
        str | None, Parameter(help="Report the last run of this program: a path or a name.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report of a tuning run: one HTML file with tables and charts.

    Example: `iree-tuner report tuning.db -o report.html`
    """
    check_installed()
    planned_output(output, ".html")
    with to_read(db) as store:
        found = report_of_run(store, run, program)
    path = Report(found).save(output)
    if as_json:
        print_json({
            "report": str(path), "program": found.run.program, "run": found.run.number,
            "workloads": len(found.workloads), "wins": len(found.wins), "trials": found.tried,
            "bytes": path.stat().st_size,
        })  # fmt: skip
        return
    people.print(
        f"{path}: run {found.run.number} of {found.run.program}, {counted(found.tried, 'trial')} of "
        f"{counted(len(found.workloads), 'workload')}",
    )
