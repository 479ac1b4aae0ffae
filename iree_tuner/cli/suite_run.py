"""`iree-tuner suite run`: compile, verify and measure operations, also over configurations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.cluster import warn_if_open
from iree_tuner.cli.database import default_database
from iree_tuner.cli.output import people
from iree_tuner.cli.suite_outputs import SuiteOutputs
from iree_tuner.cli.suite_progress import SuiteProgress
from iree_tuner.compiler.versions import RELEASE, other_release
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.suite.configurations import choice_of
from iree_tuner.suite.options import SuiteOptions
from iree_tuner.suite.patterns import patterns_of
from iree_tuner.suite.plan import Plan
from iree_tuner.suite.results import Results, write_csv
from iree_tuner.suite.session import run_suite
from iree_tuner.suite.site import Site, site_at
from iree_tuner.suite.tuned import Tuning

_OPTIONS, _OUTPUTS = SuiteOptions(), SuiteOutputs()
_LAUNCHES_BESIDE = 3


def run(
    sources: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    /,
    *,
    spec: Path | None = None,
    configurations: str | None = None,
    dispatches: str = "",
    seed: int = 0,
    against: Path | None = None,
    options: SuiteOptions = _OPTIONS,
    outputs: SuiteOutputs = _OUTPUTS,
) -> int:
    """Compile, verify and measure operations with IREE, in the manner of a dispatch profiler.

    Exit status 1 if an operation fails or computes wrong results.

    Example: `iree-tuner suite run generated --configurations 20 --csv data.csv`

    Parameters
    ----------
    sources
        Operations: folders that `suite generate` wrote, names of suites, suite files (.toml), quoted commands
        of MIOpenDriver, BOO or Fusilli, or .txt files of such commands. Default: the folder generated.
    spec
        Also measure each operation with this tuning spec.
    configurations
        Also measure legal configurations of each operation's dispatch: all, a number of random ones, or those
        whose names match one of several regular expressions, separated by commas.
    dispatches
        Measure only dispatches whose names (operation and configuration) match one of these regular
        expressions, separated by commas.
    seed
        Seed of the sample of configurations.
    against
        Also measure the code of this earlier run, interleaved with the new code: a folder of results.
    """
    warn_if_open(options.scheduler)
    with site_at(options.scheduler) as site:
        plan = replace(
            options.plan(sources or ("generated",), outputs.output, site),
            tuning=Tuning(spec=spec) if spec is not None else None,
            choice=choice_of(configurations, seed) if configurations is not None else None,
            patterns=patterns_of(dispatches),
            against=against,
            launches=options.launches or (_LAUNCHES_BESIDE if against else 1),
            cache=default_database().with_name("rooflines.json"),
        )
        return carry_out(plan, outputs, site, blocks=True)


def carry_out(plan: Plan, outputs: SuiteOutputs, site: Site, *, blocks: bool) -> int:
    """Carry out a plan. Returns exit status 1 if something failed."""
    if outputs.csv is not None and not outputs.csv.resolve().parent.is_dir():
        raise TunerError("no such folder", location=str(outputs.csv.parent))
    if other := other_release():
        people.print(f"note: this runs IREE {other}; iree_tuner is tested with {RELEASE}", markup=False)
    if plan.against is not None and plan.against.resolve() == plan.folder.resolve():
        raise UsageError("--against and --output are the same folder")
    with SuiteProgress(people, as_json=outputs.as_json, blocks=blocks) as progress:
        results = run_suite(plan, progress, site=site)
    if outputs.csv is not None:
        write_csv(results.rows, outputs.csv)
        people.print(f"Writing performance report to {outputs.csv}", markup=False)
    _tell(results, plan)
    return 1 if any(each.state in ("failed", "lost") for each in results.rows) else 0


def _tell(results: Results, plan: Plan) -> None:
    counts: dict[str, int] = {}
    for row in results.rows:
        counts[row.state] = counts.get(row.state, 0) + 1
    ended = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    people.print(f"{plan.folder}: {len(results.rows)} rows: {ended}", markup=False)
