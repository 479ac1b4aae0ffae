"""`iree-tuner suite run`: compile, verify and measure operations, also over configurations."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Self

from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from iree_tuner.cli.db import default_database
from iree_tuner.cli.inputs import tell_caution
from iree_tuner.cli.output import OUTPUT, Json, people, print_json
from iree_tuner.compiler.versions import RELEASE, other_release
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.report.progress import tell_stopping
from iree_tuner.suite.backends.iree import choice_of
from iree_tuner.suite.options import SuiteOptions
from iree_tuner.suite.plan import SuitePlan
from iree_tuner.suite.results import Results, Row, to_json, write_csv
from iree_tuner.suite.session import run_suite
from iree_tuner.suite.site import Hosts, site_at
from iree_tuner.suite.suite_file import patterns_of
from iree_tuner.suite.tuned import Tuning

# Progress of a suite run on standard error: blocks or lines for rows, and a progress bar on terminals.


_LINE = "-" * 64


class SuiteProgress:
    """An observer that prints the progress of a run.

    Args:
        as_json: also print rows as JSON on standard output.
        blocks: print each row as a block of lines instead of one line.
    """

    def __init__(self, console: Console, *, as_json: bool, blocks: bool) -> None:
        self._console = console
        self._as_json = as_json
        self._blocks = blocks
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True, redirect_stdout=False)
        self._task: TaskID | None = None
        self._doing: dict[str, str] = {}
        self.failed = 0

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def stopping(self) -> None:
        """Answer Ctrl-C."""
        tell_stopping()

    def planned(self, operations: int) -> None:
        """Set the number of operations."""
        self._task = self._bar.add_task("", total=operations)

    def working(self, device: str, what: str) -> None:
        """Show the current step of each device."""
        self._doing[device] = what
        told = "; ".join(
            what if len(self._doing) == 1 else f"{device}: {what}" for device, what in self._doing.items()
        )
        if self._task is not None:
            self._bar.update(self._task, description=told)

    def noted(self, message: str) -> None:
        """Print a note."""
        self._console.print(message, style="yellow")

    def measured(self, row: Row) -> None:
        """Print a row."""
        if self._as_json:
            print_json(to_json(row))
        self.failed += row.state in ("failed", "lost")
        style = {"failed": "red", "lost": "red", "missing": "yellow", "cannot": "yellow"}.get(row.state)
        lines = block(row) if self._blocks else [line(row)]
        self._console.print("\n".join(lines), style=style, soft_wrap=True)

    def done(self, operation: str) -> None:
        """Advance the progress bar."""
        del operation
        if self._task is not None:
            self._bar.advance(self._task)


def block(row: Row) -> list[str]:
    """Format a row as IREE's dispatch profiler does."""
    arguments = " ".join(f"--{name}={value}" for name, value in row.arguments.items())
    parts = [
        ("Dispatch", row.dispatch), ("Provider", row.backend),
        ("Device", f"{row.device} ({row.device_name})"), ("OpKind", row.kind), ("Operation", row.operation),
        ("Configuration", row.configuration or "N/A"), ("Arguments", arguments),
        ("Verification", row.verification),
    ]  # fmt: skip
    if row.message:
        parts.append(("Message", row.message))
    if row.time_us is not None:
        parts += [("Runtime(ms)", f"{row.time_us / 1e3:.4g}"), ("GFLOPs", _number(row.gflops)),
                  ("GB/s", _number(row.gbytes))]  # fmt: skip
    if row.roofline_share is not None:
        parts.append(("Of roofline", f"{row.roofline_share:.1%}"))
    if row.speedup is not None and row.configuration != "default":
        parts.append(("Speedup", _ratio(row.speedup, row.speedup_interval)))
    if row.change is not None:
        parts.append(("Change", _ratio(row.change, row.change_interval)))
    return [_LINE, *(f"{name:<14}: {value}" for name, value in parts)]


def line(row: Row) -> str:
    """Format a row in one line."""
    told = f"{row.operation:<58} {row.backend:<14}"
    if row.time_us is None:
        return f"{told} {row.state if row.verification != 'FAILED' else 'FAILED'}: {row.message}"
    share = f"{row.roofline_share:>6.1%}" if row.roofline_share is not None else ""
    gained = _ratio(row.speedup, row.speedup_interval) if row.speedup is not None else ""
    numbers = f"{row.time_us:>10.1f} us {_number(row.gflops):>8} GFLOP/s {share} {gained}"
    return f"{told} {numbers} {row.message}".rstrip()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}" if value < 1000 else f"{value:.0f}"


def _ratio(value: float, interval: tuple[float, float] | None) -> str:
    if interval is None:
        return f"{value:.2f}x (too few samples for an interval)"
    low, high = interval
    return f"{value:.2f}x ({low:.2f} to {high:.2f})"


# The output files of `suite run` and `suite compare`.


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class SuiteOutputs:
    """The files to write.

    Attributes
    ----------
    output
        Write the results to this folder: rows, compiled code, specs. To resume an interrupted run, name its
        folder.
    csv
        Also write the rows as a table, .csv.
    as_json
        Print JSON, one object per line.
    """

    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("results")
    csv: Path | None = None
    as_json: Json = False


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
    tell_caution(options.scheduler)
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


def carry_out(plan: SuitePlan, outputs: SuiteOutputs, site: Hosts, *, blocks: bool) -> int:
    """Carry out a plan. Returns exit status 1 if something failed."""
    if outputs.csv is not None and not outputs.csv.resolve().parent.is_dir():
        raise TunerError("no such folder", location=str(outputs.csv.parent))
    if other := other_release():
        people.print(f"note: this runs IREE {other}; iree_tuner is tested with {RELEASE}")
    if plan.against is not None and plan.against.resolve() == plan.folder.resolve():
        raise UsageError("--against and --output are the same folder")
    with SuiteProgress(people, as_json=outputs.as_json, blocks=blocks) as progress:
        results = run_suite(plan, progress, site=site)
    if outputs.csv is not None:
        write_csv(results.rows, outputs.csv)
        people.print(f"Writing performance report to {outputs.csv}")
    _tell(results, plan)
    return 1 if any(each.state in ("failed", "lost") for each in results.rows) else 0


def _tell(results: Results, plan: SuitePlan) -> None:
    counts = Counter(row.state for row in results.rows)
    ended = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    people.print(f"{plan.folder}: {len(results.rows)} rows: {ended}")
