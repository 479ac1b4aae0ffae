"""A run: the gain of each workload and its curve, the outcomes of its candidates, and where the time went."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import altair as alt

from iree_tuner.report.charts.look import (
    FAINT,
    HEIGHT_PX,
    MANY_SERIES,
    OTHERS,
    SERIES,
    VERDICTS,
    Drawing,
    Row,
    colored,
    drawn,
    ratios,
    rows_high,
)
from iree_tuner.report.view import RunReport, WorkloadPart
from iree_tuner.store.record import Compared

MOST, CURVES, WORKERS = 30, 40, 24
"""Rows of workloads, curves of workloads, and rows of workers."""

WHOLE = "whole program"
STAGE, BUSY = "stages", "busy"

_COLORS = {
    "ok": "#1f7ae0", "too_slow": "#9fc4f2", "not_applied": "#c9a100", "compile_error": "#e0762a",
    "compile_timeout": "#f0b07f", "compile_crash": "#a8480b", "run_error": "#b64fc0",
    "run_timeout": "#d9a5de", "run_crash": "#7d2488", "wrong_result": "#cf3f4f",
}  # fmt: skip
"""Blue for `ok`, orange for the compiler's failures, purple for the device's, red for wrong results."""


def draw_gain(report: RunReport) -> Drawing | None:
    """A point and an interval for each comparison; 1 is the compiler's default."""
    rows = gain_rows(report)
    if not rows:
        return None
    verdicts = list(dict.fromkeys(str(row["verdict"]) for row in rows))
    # The scale holds 1, and is not so narrow that noise fills it.
    ends = [row[name] for row in rows for name in ("low", "high", "speedup")]
    numbers = [end for end in ends if isinstance(end, float)]
    base = alt.Chart(alt.NamedData("gain")).encode(
        y=alt.Y("what:N", sort=[str(row["what"]) for row in rows], title=None),
        color=colored("verdict:N", {each: VERDICTS.get(each, VERDICTS[""]) for each in verdicts}),
        tooltip=[
            "what:N", alt.Tooltip("speedup:Q", format=".3f"),
            alt.Tooltip("low:Q", title="from", format=".3f"),
            alt.Tooltip("high:Q", title="to", format=".3f"), "verdict:N",
            alt.Tooltip("share:Q", title="share of the run time", format=".1%"),
        ],
    )  # fmt: skip
    low, high = min(0.95, *numbers) / 1.02, max(1.05, *numbers) * 1.02
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(format="~g", values=ratios(low, high))
    x = alt.X("speedup:Q", scale=scale, title="speedup over the default", axis=axis)
    one = alt.Chart(alt.NamedData("one")).mark_rule(color=FAINT, strokeDash=[4, 3]).encode(x="one:Q")
    intervals = base.mark_rule(strokeWidth=3, opacity=0.45).encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    points = base.mark_point(filled=True, size=90, opacity=1).encode(x=x)
    chart = alt.layer(one, intervals, points).properties(height=rows_high(len(rows)))
    data = {"gain": rows, "one": [{"one": 1.0}]}
    return drawn(chart, data, "Speedup of each workload over the compiler's default, with its interval")


def gain_rows(report: RunReport) -> list[Row]:
    """The whole first, then workloads with a comparison by their share; those with the largest if many."""
    compared = [each for each in report.workloads if each.speedup is not None][:MOST]
    found = [_gain_row(each.label, each, each.share) for each in compared]
    if report.whole is not None and report.whole.speedup is not None:
        found.insert(0, _gain_row(WHOLE, report.whole, 1.0))
    return found


def _gain_row(what: str, compared: Compared, share: float | None) -> Row:
    low, high = compared.interval or (compared.speedup, compared.speedup)
    return {
        "what": what, "speedup": compared.speedup, "low": low, "high": high,
        "verdict": compared.verdict or "tie", "share": share,
    }  # fmt: skip


def draw_outcomes(report: RunReport) -> Drawing | None:
    """A bar a workload, with a piece for each way to end."""
    rows = outcome_rows(report)
    if not rows:
        return None
    there = {str(row["outcome"]) for row in rows}
    known = [each for each in _COLORS if each in there]
    domain = [*known, *sorted(there - set(known))]
    chart = (
        alt.Chart(alt.NamedData("outcomes"), height=rows_high(len({row["workload"] for row in rows})))
        .mark_bar()
        .encode(
            x=alt.X("count:Q", title="candidates", axis=alt.Axis(format="d", tickMinStep=1)),
            y=alt.Y("workload:N", sort=list(dict.fromkeys(str(row["workload"]) for row in rows)), title=None),
            color=colored("outcome:N", {each: _COLORS.get(each, "#777777") for each in domain}),
            order=alt.Order("place:Q"),
            tooltip=["workload:N", "outcome:N", "count:Q"],
        )
    )
    return drawn(chart, {"outcomes": rows}, "The number of candidates by outcome, for each workload")


def outcome_rows(report: RunReport) -> list[Row]:
    """Workloads with any, by their share; those with the largest if many."""
    places = {name: place for place, name in enumerate(_COLORS)}
    return [
        {
            "workload": part.label, "outcome": outcome, "count": number,
            "place": places.get(outcome, len(places)),
        }
        for part in [each for each in report.workloads if each.outcomes][:MOST]
        for outcome, number in part.outcomes.items()
    ]  # fmt: skip


def draw_timeline(report: RunReport) -> Drawing | None:
    """A row with the stages, and one for each worker."""
    rows = timeline_rows(report)
    if not rows:
        return None
    names = list(dict.fromkeys(str(row["what"]) for row in rows if row["what"] != BUSY))
    colors = {**dict(zip(names, cycle(MANY_SERIES), strict=False)), BUSY: OTHERS}
    lanes = list(dict.fromkeys(str(row["lane"]) for row in rows))
    chart = (
        alt.Chart(alt.NamedData("timeline"), height=rows_high(len(lanes)))
        .mark_bar()
        .encode(
            x=alt.X("begin:Q", title="seconds since the run began"),
            x2="end:Q",
            y=alt.Y("lane:N", sort=lanes, title=None),
            color=colored("what:N", colors),
            tooltip=[
                "lane:N", "what:N", alt.Tooltip("begin:Q", format=".1f"), alt.Tooltip("end:Q", format=".1f")
            ],
        )
    )  # fmt: skip
    return drawn(chart, {"timeline": rows}, "The stages of the run over time, and when each worker was busy")


def timeline_rows(report: RunReport) -> list[Row]:
    """Stages first."""
    stages: list[Row] = [
        {"lane": STAGE, "what": each.name, "begin": each.begin, "end": each.end}
        for each in report.time.stages
        if each.name and each.begin <= each.end
    ]
    workers = [each for each in report.time.workers if each.worker and each.busy]
    shown = list(dict.fromkeys(each.worker for each in workers))[:WORKERS]
    return stages + [
        {"lane": each.worker, "what": BUSY, "begin": begin, "end": end}
        for each in workers
        if each.worker in shown
        for begin, end in each.busy
    ]


_SLOW = 0.7  # of the slowest best speedup: what is below is not distinguished
REST = "others"  # no label is like it: labels of workloads have sizes


def draw_convergence(report: RunReport) -> Drawing | None:
    """A line a workload of several trials; those with the largest shares have a color of their own."""
    parts = [each for each in report.workloads if len(curve(each)) > 1][:CURVES]
    if not parts:
        return None
    rows: list[Row] = []
    for place, part in enumerate(parts):
        series = part.label if place < len(SERIES) else REST
        rows += [{"workload": part.label, "series": series, **point} for point in curve(part)]
    series = list(dict.fromkeys(str(row["series"]) for row in rows if row["series"] != REST))
    low, high = _ends(rows)
    base = alt.Chart(alt.NamedData("curves")).encode(
        x=alt.X("trial:Q", title="trials", axis=alt.Axis(format="d", tickMinStep=1)),
        y=alt.Y(
            "speedup:Q", title="best speedup so far", axis=alt.Axis(format="~g", values=ratios(low, high)),
            scale=alt.Scale(type="log", domain=[low, high], nice=False, clamp=True),
        ),
        detail="workload:N", tooltip=["workload:N", "trial:Q", alt.Tooltip("speedup:Q", format=".3f")],
    )  # fmt: skip
    others = base.transform_filter(f"datum.series == '{REST}'").mark_line(
        interpolate="step-after", stroke=OTHERS, strokeWidth=1, opacity=0.5
    )
    shown = (
        base.transform_filter(f"datum.series != '{REST}'")
        .mark_line(interpolate="step-after", strokeWidth=2, point=alt.OverlayMarkDef(size=22))
        .encode(color=colored("series:N", dict(zip(series, SERIES, strict=False))))
    )
    one = alt.Chart(alt.NamedData("one")).mark_rule(color=FAINT, strokeDash=[4, 3]).encode(y="one:Q")
    behind = [others] if any(row["series"] == REST for row in rows) else []
    chart = alt.layer(one, *behind, shown).properties(height=HEIGHT_PX)
    data = {"curves": rows, "one": [{"one": 1.0}]}
    return drawn(chart, data, "Best speedup found so far, against the number of trials, for each workload")


def _ends(rows: Sequence[Row]) -> tuple[float, float]:
    """The ends of the axis. Early slow trials lie at its lower end: they would flatten all curves."""
    found = [float(str(row["speedup"])) for row in rows]
    last = {row["workload"]: float(str(row["speedup"])) for row in rows}
    low = max(min(found), _SLOW * min(last.values()))
    return min(0.95, low) / 1.02, max(1.05, *found) * 1.05


def curve(part: WorkloadPart) -> list[Row]:
    """Trials at which something better was found, and the last one: all that a line needs."""
    found: list[Row] = []
    best = float("inf")
    for point in part.points:
        if point.score is not None and point.score < best:
            best = point.score
            found.append({"trial": point.order, "speedup": 1.0 / best})
    if found and found[-1]["trial"] != len(part.points):
        found.append({"trial": len(part.points), "speedup": 1.0 / best})
    return found
