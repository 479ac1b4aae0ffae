"""`iree-tuner suite compare`: compare operations on IREE and on other libraries, in interleaved rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.db import default_database
from iree_tuner.cli.inputs import tell_caution
from iree_tuner.cli.output import AsJson, answers_to, counted, people, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.errors import UsageError
from iree_tuner.files import planned_output, write
from iree_tuner.report.page import check_installed
from iree_tuner.suite.backends.backend import Backend, backend, backends
from iree_tuner.suite.commands.run import SuiteOptions, SuiteOutputs, carry_out, line
from iree_tuner.suite.plan import Tuning
from iree_tuner.suite.results import read_results, write_csv
from iree_tuner.suite.site import DeviceAddress, Hosts, site_at
from iree_tuner.tuning.options import Duration, EffortName

_OPTIONS, _OUTPUTS = SuiteOptions(), SuiteOutputs()
_ALL = "all"


def compare(
    sources: Annotated[tuple[str, ...], Parameter(negative="")],
    /,
    *,
    libraries: Annotated[str, Parameter(name=["--backends"])] = _ALL,
    spec: Path | None = None,
    tune: EffortName | None = None,
    budget_s: Annotated[Duration, Parameter(name="--budget")] = None,
    db: Path | None = None,
    options: SuiteOptions = _OPTIONS,
    outputs: SuiteOutputs = _OUTPUTS,
) -> int:
    """Compare operations on IREE, with and without tuning, and on other libraries.

    Each library runs in a separate process. Their samples are interleaved.

    Example: `iree-tuner suite compare cpu --tune quick -o results`

    Parameters
    ----------
    sources
        Operations: folders that `suite generate` wrote, names of suites, suite files (.toml), quoted commands
        of MIOpenDriver, BOO or Fusilli, or .txt files of such commands.
    libraries
        Libraries, separated by commas: numpy, torch, torch-compiled, onnxruntime, jax and others. Or
        all, or none. A library that is not installed is reported.
    spec
        Measure IREE with this tuning spec as `iree-tuned`.
    tune
        Tune each operation first and measure the result as `iree-tuned`. The specs are stored with the
        results.
    budget_s
        Time limit for tuning one operation: 30s, 2m. Default: no limit.
    db
        Database for tuning. Without --tune, `iree-tuned` uses the wins of earlier runs in it.
    """
    if spec is not None and (tune is not None or db is not None):
        raise UsageError("--spec excludes --tune and --db")
    if budget_s is not None and tune is None:
        raise UsageError("--budget requires --tune")
    tuning = Tuning(spec, tune, budget_s, db)
    tell_caution(options.scheduler)
    with site_at(options.scheduler) as site:
        plan = replace(
            options.plan(sources, outputs.output, site),
            backends=_chosen(libraries, site, site.places(options.devices)),
            tuning=tuning if tuning != Tuning() else None,
            cache=default_database().with_name("rooflines.json"),
        )
        return carry_out(plan, outputs, site, line)


def _chosen(libraries: str, site: Hosts, places: Sequence[DeviceAddress]) -> list[Backend]:
    """The named libraries, or all that support one of the devices. Print a line for each other library."""
    if libraries != _ALL:
        return [] if libraries == "none" else [backend(each) for each in libraries.split(",")]
    found: list[Backend] = []
    for each in backends().values():
        reasons = [site.library(place, each).missing for place in places]
        if all(reasons):
            people.print(f"{each.name} skipped: {reasons[0]}", style="yellow")
        else:
            found.append(each)
    return found


# `iree-tuner suite report`: write results as a report, and as a table for other tools.


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
    from iree_tuner.suite.pages.run_page import headline, run_page
    from iree_tuner.suite.pages.together import gains, standings, together

    output = output if output or csv else _DEFAULT
    if output:
        check_installed()
        planned_output(output, ".html")
    if csv:
        planned_output(csv, ".csv")
    found = [read_results(each) for each in results]
    shown = together(found)
    for note in shown.notes:
        people.print(note, style="yellow")
    if csv:
        write_csv((row for each in found for row in each.rows), csv)
        people.print(f"{csv}: {counted(sum(len(each.rows) for each in found), 'row')}")
    if output:
        write(output, run_page(found))
        of = counted(len(shown.operations), "operation")
        people.print(f"{output}: {counted(len(shown.rows), 'row')} of {of}")
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
    answers_to(as_json=as_json).print(f"{headline(shown, best)}.")
