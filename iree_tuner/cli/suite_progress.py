"""Progress of a suite run on standard error: blocks or lines for rows, and a progress bar on terminals."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from iree_tuner.cli.output import print_json
from iree_tuner.report.progress import tell_stopping
from iree_tuner.suite.row import Row, to_json

_LINE = "-" * 64


class SuiteProgress:
    """An observer that prints the progress of a run.

    Args:
        console: the console to print on.
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
        self._console.print(message, style="yellow", markup=False)

    def measured(self, row: Row) -> None:
        """Print a row."""
        if self._as_json:
            print_json(to_json(row))
        self.failed += row.state in ("failed", "lost")
        style = {"failed": "red", "lost": "red", "missing": "yellow", "cannot": "yellow"}.get(row.state)
        lines = block(row) if self._blocks else [line(row)]
        self._console.print("\n".join(lines), style=style, markup=False, soft_wrap=True)

    def done(self, operation: str) -> None:
        """Advance the progress bar."""
        del operation
        if self._task is not None:
            self._bar.advance(self._task)


def block(row: Row) -> list[str]:
    """Format a row as IREE's dispatch profiler does."""
    arguments = " ".join(f"--{name}={value}" for name, value in row.arguments.items())
    parts = [
        ("Dispatch", row.dispatch),
        ("Provider", row.backend),
        ("Device", f"{row.device} ({row.device_name})"),
        ("OpKind", row.kind),
        ("Operation", row.operation),
        ("Configuration", row.configuration or "N/A"),
        ("Arguments", arguments),
        ("Verification", row.verification),
    ]
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
