"""Results of `models.py` as Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

DEFAULT, TUNED = "IREE default", "IREE tuned"

Interval = tuple[float, float]


@dataclass(frozen=True)
class Row:
    """One contender's result on one model.

    Attributes:
        model, contender: which.
        ms: median time of a call.
        speedup: how many times as fast as IREE's default; None for itself, or where that did not run.
        interval: of `speedup`.
        against_tuned: how many times as fast as tuned IREE; None for itself, or where that did not run.
        against_tuned_interval: of `against_tuned`.
        error: largest difference from PyTorch's results, as a part of the largest result.
        problem: why there are no times.
    """

    model: str
    contender: str
    ms: float | None = None
    speedup: float | None = None
    interval: Interval | None = None
    against_tuned: float | None = None
    against_tuned_interval: Interval | None = None
    error: float | None = None
    problem: str | None = None


def table(title: str, rows: Sequence[Row]) -> str:
    """One model's rows."""
    lines = [
        f"### {title}",
        "",
        "| | median ms | times as fast as IREE's default | times as fast as tuned IREE | error |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        if row.problem:
            lines.append(f"| {row.contender} | {row.problem} | | | |")
            continue
        default = ratio(row.speedup, row.interval)
        tuned = ratio(row.against_tuned, row.against_tuned_interval)
        lines.append(f"| {row.contender} | {row.ms:.2f} | {default} | {tuned} | {row.error:.0e} |")
    return "\n".join([*lines, ""])


def summary(rows: Sequence[Row]) -> str:
    """One row a model: every median, the tuned one's speedup, and the fastest of the others beside it."""
    found = {(row.model, row.contender): row for row in rows}
    names = list(dict.fromkeys(row.contender for row in rows))
    names.sort(key=lambda name: (name != DEFAULT, name != TUNED))
    heads = ["model", *(f"{name}, ms" for name in names), "tuned over default", "fastest other"]
    lines = [line(heads), line(["---"] * len(heads))]
    for model in dict.fromkeys(row.model for row in rows):
        own = [found.get((model, name)) for name in names]
        times = [f"{row.ms:.2f}" if row and row.ms else "" for row in own]
        tuned = found.get((model, TUNED))
        gain = ratio(tuned.speedup, tuned.interval) if tuned else ""
        lines.append(line([model, *times, gain, fastest(own)]))
    speedups = [row.speedup for row in rows if row.contender == TUNED and row.speedup]
    if speedups:
        mean = math.exp(sum(map(math.log, speedups)) / len(speedups))
        lines += ["", f"Geometric mean of the {len(speedups)} speedups: {mean:.2f}"]
    return "\n".join(lines)


def fastest(rows: Sequence[Row | None]) -> str:
    """The fastest that is not IREE, and how many times as fast as the tuned program it is."""
    others = [row for row in rows if row and row.ms and row.contender not in (DEFAULT, TUNED)]
    if not others:
        return ""
    best = min(others, key=lambda row: row.ms or 0.0)
    beside = ratio(best.against_tuned, best.against_tuned_interval)
    return f"{best.contender}: {beside} times as fast as tuned" if beside else best.contender


def ratio(value: float | None, interval: Interval | None) -> str:
    """A ratio with its interval; empty where there is none."""
    return f"{value:.2f} ({interval[0]:.2f} to {interval[1]:.2f})" if value and interval else ""


def line(cells: Sequence[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"
