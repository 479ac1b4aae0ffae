"""`iree-tuner suite run`: compile, verify and measure operations, also over configurations."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, Self

from cyclopts import Group, Parameter
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from iree_tuner.cli.db import default_database
from iree_tuner.cli.inputs import tell_caution
from iree_tuner.cli.output import OUTPUT, Json, counted, people, print_json
from iree_tuner.compiler.versions import RELEASE, other_release
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.report.progress import tell_stopping
from iree_tuner.suite.backends.backend import Conditions, Timing
from iree_tuner.suite.backends.iree import choice_of
from iree_tuner.suite.exact import TORCH
from iree_tuner.suite.plan import Item, SuitePlan, Tuning, items_from
from iree_tuner.suite.results import Row, to_json, write_csv
from iree_tuner.suite.session import run_suite
from iree_tuner.suite.site import Hosts, site_at
from iree_tuner.suite.suite_file import is_found, patterns_of
from iree_tuner.suite.tensors import own_f8
from iree_tuner.targets import on_host
from iree_tuner.tuning.options import DATABASE, MEASURING, ClusterOptions, Duration, at_least

_USUAL, _MEASURED = "usual", "measured"
CHECKING = Group("Verification", sort_key=5.5)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SuiteOptions(ClusterOptions):
    """The conditions under which operations are measured.

    Attributes
    ----------
    only
        Measure only operations whose names match one of these regular expressions, separated by commas.
    fresh
        Measure again even if the folder has results.
    roofline
        Source of the roofline. usual: measured on CPUs, data sheets for GPUs. measured: the best of this
        run's back ends on matrix products and a memory stream. Or a JSON file by device, as in run.json.
    commit
        Commit of the code under test, for histories. Default: as git says.
    timing
        call: the time that a caller waits. device: the time that the device computes. Default: call on CPUs,
        device on GPUs.
    threads
        Number of cores per back end, on CPUs. Default: all.
    warm
        Measure with warm caches. Default: cold caches, by rotating inputs through more memory than the caches
        hold.
    rotate
        Size of the memory to rotate through, in MiB. Default: twice the last-level cache.
    background_load_s
        Run a large matrix product on the device for this long before each sample: 0.05s. Default: no load.
    streams
        Number of concurrent copies of each operation.
    rounds
        Maximum number of samples per back end.
    sample_s
        Minimum duration of a sample: 0.02s.
    pause_s
        Pause before each sample in seconds, so that idle threads of the previous library go to sleep. 0 if
        only IREE is measured.
    seconds
        Time limit for the samples of one operation, in seconds.
    launches
        Number of process launches per operation, so that confidence intervals include differences between
        launches. Default: 1, or 3 with --against.
    verify
        Compare the results with a reference.
    reference
        Library that computes the reference: numpy or torch. Default: NumPy, or PyTorch for large operations
        if it is installed.
    """

    only: str = ""
    fresh: Annotated[bool, Parameter(negative="", group=DATABASE)] = False
    commit: Annotated[str | None, Parameter(group=DATABASE)] = None
    timing: Annotated[Timing | None, Parameter(group=MEASURING)] = None
    threads: Annotated[int | None, Parameter(group=MEASURING)] = None
    warm: Annotated[bool, Parameter(negative="", group=MEASURING)] = False
    rotate: Annotated[int | None, Parameter(group=MEASURING)] = None
    background_load_s: Annotated[Duration, Parameter(name="--background-load", group=MEASURING)] = None
    streams: Annotated[int, Parameter(group=MEASURING)] = 1
    rounds: Annotated[int, Parameter(group=MEASURING)] = 24
    sample_s: Annotated[Duration, Parameter(name="--sample", group=MEASURING)] = 0.02
    pause_s: Annotated[float, Parameter(name="--pause", group=MEASURING)] = 0.02
    seconds: Annotated[float, Parameter(group=MEASURING)] = 60.0
    launches: Annotated[int | None, Parameter(group=MEASURING)] = None
    roofline: Annotated[str, Parameter(group=MEASURING)] = _USUAL
    verify: Annotated[bool, Parameter(group=CHECKING)] = True
    reference: Annotated[Literal["numpy", "torch"] | None, Parameter(group=CHECKING)] = None

    def __post_init__(self) -> None:
        """Raise UsageError for values out of range, TunerError for a library that is not installed."""
        super().__post_init__()
        at_least(1, threads=self.threads, streams=self.streams, rounds=self.rounds, launches=self.launches)
        if self.seconds <= 0 or self.pause_s < 0:
            raise UsageError("seconds must be positive, and pause must not be negative")
        if self.rotate is not None and (self.warm or self.rotate < 0):
            raise UsageError("--rotate must not be negative, and excludes --warm")
        if any(map(on_host, self.devices)) and not self._on_host:
            raise UsageError(
                "a run cannot have both CPUs and GPUs, which are measured in different ways",
                hint="measure them in two runs",
            )
        if self.reference == TORCH and find_spec("torch") is None:
            raise TunerError("PyTorch is not installed", hint="pip install 'iree-tuner[compare]'")

    def plan(self, sources: Sequence[str], folder: Path, site: Hosts) -> SuitePlan:
        """Plan a run of these operations on IREE without tuning under these conditions.

        Raises TunerError if no operation is left, or their names cannot be read.
        """
        return SuitePlan(
            " ".join(sources), self.items(sources, site), self.devices, folder, self.conditions(site),
            self.chip, self.flags, verify=self.verify, reference=self.reference,
            launches=self.launches or 1,
            rooflines=None if self.roofline in (_USUAL, _MEASURED) else Path(self.roofline),
            probe=self.roofline == _MEASURED, commit=self._commit_of_code(), fresh=self.fresh, jobs=self.jobs,
        )  # fmt: skip

    def items(self, sources: Sequence[str], site: Hosts) -> list[Item]:
        """The operations. Raises TunerError if none are left."""
        first = self.on(site.target(site.places(self.devices)[0], self.chip))
        patterns = patterns_of(self.only)
        found = items_from(sources, own_f8(first))
        left = [each for each in found if is_found(patterns, each.operation.name)]
        if not left:
            raise TunerError(f"none of {len(found)} operations matches '{self.only}'")
        return left

    def conditions(self, site: Hosts) -> Conditions:
        """The conditions of the samples. Raises UsageError for more threads than a host has cores."""
        facts = [site.facts(each) for each in site.places(self.devices)]
        copies = 0 if self.warm else max(each.rotation_bytes for each in facts)
        cores = min(each.cores for each in facts)
        if self.threads is not None and self.threads > cores:
            raise UsageError(f"--threads is {self.threads}, but a process there may use only {cores} cores")
        return Conditions(
            timing=self.timing or ("call" if self._on_host else "device"),
            threads=(self.threads or cores) if self._on_host else 0,
            copies_bytes=copies if self.rotate is None else self.rotate << 20,
            background_load_s=self.background_load_s or 0.0, streams=self.streams,
            batch_s=self.sample_s or 0.0, pause_s=self.pause_s, rounds=self.rounds, seconds=self.seconds,
        )  # fmt: skip

    @property
    def _on_host(self) -> bool:
        return all(map(on_host, self.devices))

    def _commit_of_code(self) -> str:
        """The given commit, or git's HEAD in the working folder. Empty without both."""
        if self.commit is not None:
            return self.commit
        try:
            done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
        except OSError:
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""


# Progress of a suite run on standard error: lines for rows, and a progress bar on terminals.


_LINE = "-" * 64
Form = Callable[[Row], Sequence[str]]  # the lines of a row


class SuiteProgress:
    """An observer that prints the progress of a run.

    Args:
        as_json: also print rows as JSON on standard output.
        form: how a row is printed.
    """

    def __init__(self, console: Console, form: Form, *, as_json: bool) -> None:
        self._console = console
        self._as_json = as_json
        self._form = form
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True, redirect_stdout=False)
        self._task: TaskID | None = None
        self._doing: dict[str, str] = {}
        self.stopped = False

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def stopping(self) -> None:
        self.stopped = True
        tell_stopping()

    def planned(self, operations: int) -> None:
        self._task = self._bar.add_task("", total=operations)

    def working(self, device: str, what: str) -> None:
        self._doing[device] = what
        told = "; ".join(
            what if len(self._doing) == 1 else f"{device}: {what}" for device, what in [*self._doing.items()]
        )
        if self._task is not None:
            self._bar.update(self._task, description=told)

    def noted(self, message: str) -> None:
        self._console.print(message, style="yellow")

    def measured(self, row: Row) -> None:
        if self._as_json:
            print_json(to_json(row))
        style = {"failed": "red", "lost": "red", "missing": "yellow", "skipped": "yellow"}.get(row.state)
        self._console.print("\n".join(self._form(row)), style=style, soft_wrap=True)

    def done(self, operation: str) -> None:
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


def line(row: Row) -> list[str]:
    """Format a row in one line."""
    message = f"{' ' if row.time_us is not None else ': '}{row.message}".rstrip()
    return [f"{row.operation:<58} {row.backend:<14} {_numbers(row)}{message}"]


def by_operation() -> Form:
    """Format rows in one line each, under the name of their operation."""
    last = ""

    def form(row: Row) -> list[str]:
        nonlocal last
        named, last = [] if row.operation == last else [row.operation], row.operation
        change = f"change {_ratio(row.change, row.change_interval)}  " if row.change is not None else ""
        gained = row.speedup is not None and row.configuration != "default"
        numbers = f"{_numbers(row, gained=gained):<58}  {change}{row.configuration}"
        return [*named, f"{numbers.rstrip()}{f': {row.message}' * bool(row.message)}"]

    return form


def _numbers(row: Row, *, gained: bool = True) -> str:
    if row.time_us is None:
        return row.state if row.verification != "FAILED" else "FAILED"
    share = f"{row.roofline_share:>6.1%}" if row.roofline_share is not None else ""
    speedup = _ratio(row.speedup, row.speedup_interval) if gained and row.speedup is not None else ""
    return f"{row.time_us:>10.1f} us {_number(row.gflops):>8} GFLOP/s {share} {speedup}".rstrip()


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
    verbose: Annotated[bool, Parameter(negative="", group=OUTPUT)] = False,
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
    verbose
        Print a block of lines for each row, with the operation's arguments.
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
        return carry_out(plan, outputs, site, block if verbose else by_operation())


def carry_out(plan: SuitePlan, outputs: SuiteOutputs, site: Hosts, form: Form) -> int:
    """Carry out a plan. Returns exit status 1 if something failed."""
    if outputs.csv is not None and not outputs.csv.resolve().parent.is_dir():
        raise TunerError("no such folder", location=str(outputs.csv.parent))
    if other := other_release():
        people.print(f"note: this runs IREE {other}; iree_tuner is tested with {RELEASE}")
    if plan.against is not None and plan.against.resolve() == plan.folder.resolve():
        raise UsageError("--against and --output are the same folder")
    with SuiteProgress(people, form, as_json=outputs.as_json) as progress:
        results = run_suite(plan, progress, site=site)
    if outputs.csv is not None:
        write_csv(results.rows, outputs.csv)
        people.print(f"Writing performance report to {outputs.csv}")
    counts = Counter(row.state for row in results.rows)
    ended = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    people.print(f"{plan.folder}: {counted(len(results.rows), 'row')}{': ' * bool(ended)}{ended}")
    if progress.stopped:  # the same command continues
        raise KeyboardInterrupt
    return 1 if any(each.state in ("failed", "lost") for each in results.rows) else 0
