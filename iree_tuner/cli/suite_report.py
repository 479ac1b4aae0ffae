"""`iree-tuner suite report`: write results as a report, and as a table for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.database import AsJson
from iree_tuner.cli.output import answers_to, people, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.files import planned_output
from iree_tuner.report.page import check_installed, save
from iree_tuner.suite.pages.contenders import gains, standings
from iree_tuner.suite.pages.run_page import headline, run_page
from iree_tuner.suite.pages.together import together
from iree_tuner.suite.results import read_results, write_csv

_DEFAULT = Path("suite.html")


def report(
    results: Annotated[
        tuple[Path, ...],
        Parameter(negative="", help="Folders of results. Several are merged into one report."),
    ],
    /,
    *,
    output: Annotated[
        Path | None,
        Parameter(
            name=["--output", "-o"],
            help="Write the report to this file, .html. Default: suite.html, or no report with --csv.",
        ),
    ] = None,
    csv: Annotated[Path | None, Parameter(help="Also write the rows as a table, .csv.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report of a suite run: one HTML file with tables and charts.

    Example: `iree-tuner suite report results -o suite.html --csv rows.csv`
    """
    output = output if output or csv else _DEFAULT
    if output:
        check_installed()
        planned_output(output, ".html")
    if csv:
        planned_output(csv, ".csv")
    found = [read_results(each) for each in results]
    shown = together(found)
    for note in shown.notes:
        people.print(note, style="yellow", markup=False)
    if csv:
        write_csv((row for each in found for row in each.rows), csv)
        people.print(f"{csv}: {sum(len(each.rows) for each in found)} rows", markup=False)
    if output:
        save(run_page(found), output)
        people.print(f"{output}: {len(shown.rows)} rows of {len(shown.operations)} operations", markup=False)
    best = gains(standings(shown.rows))
    names = ("back end", "device", "speedup over IREE", "operations", "faster", "slower")
    gained = table(*names, words=names[:2])
    for each in best:
        numbers = map(str, (each.operations, each.faster, each.slower))
        gained.add_row(each.contender, each.device, f"{each.speedup:.2f}x", *numbers)
        if as_json:
            print_json({
                "backend": each.contender, "device": each.device, "speedup": each.speedup,
                "operations": each.operations, "faster": each.faster, "slower": each.slower,
            })  # fmt: skip
    if best:
        print_table(answers_to(as_json=as_json), gained)
    answers_to(as_json=as_json).print(f"{headline(shown, best)}.", markup=False)
