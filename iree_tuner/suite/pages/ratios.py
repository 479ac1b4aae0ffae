"""Charts of speedups: of rows over an earlier run, and of tuned code over IREE's default."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from iree_tuner.report.charts import look
from iree_tuner.report.charts.look import FAINT, FAST, SAME, SLOW, VERDICTS, Drawing, drawn, ratios, rows_high
from iree_tuner.report.numbers import day, positive, seconds, unlike
from iree_tuner.suite.changes import Change
from iree_tuner.suite.conditions import Conditions
from iree_tuner.suite.pages.together import BASE, BEST, Standing
from iree_tuner.suite.run_facts import RunFacts

MOST = 60
"""Rows of a chart: the changed ones first, then those farthest from 1."""

COLORS = {"SLOWER": VERDICTS["lose"], "FASTER": VERDICTS["win"], "AMBIGUOUS": "#c9a100", "SAME": SAME}


@dataclass(frozen=True)
class Ratios:
    """A chart of rows."""

    drawing: Drawing
    shown: int  # rows of the chart
    timed: int  # rows that could be shown


def draw_ratios(found: Sequence[Change], labels: Mapping[str, str], worth: float) -> Ratios | None:
    """A point and an interval for each row; None where none was timed in both runs.

    Args:
        found: on one device.
        labels: of operations.
        worth: relative difference that counts as a change; a band.
    """
    timed = [each for each in found if each.ratio is not None]
    rows = ratio_rows(timed, labels)
    if not rows:
        return None
    there = {row["verdict"] for row in rows}
    colors = {verdict: color for verdict, color in COLORS.items() if verdict in there}
    ends = [float(str(row[name])) for row in rows for name in ("ratio", "low", "high")]
    low, high = min(0.9, *ends) / 1.02, max(1.1, *ends) * 1.02
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(format="~g", values=ratios(low, high), orient="top", title="speedup over the earlier run")
    base = alt.Chart(alt.NamedData("ratios")).encode(
        y=alt.Y("label:N", sort=[str(row["label"]) for row in rows], title=None,
                axis=alt.Axis(labelLimit=320)),
        color=look.colored("verdict:N", colors),
        tooltip=[
            "operation:N", alt.Tooltip("backend:N", title="back end"), "verdict:N",
            alt.Tooltip("ratio:Q", title="speedup", format=".3f"),
            alt.Tooltip("low:Q", title="from", format=".3f"),
            alt.Tooltip("high:Q", title="to", format=".3f"),
            alt.Tooltip("before:Q", title="before, µs", format=",.4~g"),
            alt.Tooltip("after:Q", title="after, µs", format=",.4~g"),
        ],
    )  # fmt: skip
    band = (
        alt.Chart(alt.NamedData("band"))
        .mark_rect(color=FAINT, opacity=0.12)
        .encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    )
    one = alt.Chart(alt.NamedData("band")).mark_rule(color=FAINT).encode(x=alt.X("one:Q", scale=scale))
    intervals = base.mark_rule(strokeWidth=3, opacity=0.45).encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("ratio:Q", scale=scale, axis=axis)
    )
    chart = alt.layer(band, one, intervals, points).properties(height=rows_high(len(rows)))
    data = {"ratios": rows, "band": [{"low": 1 / (1 + worth), "one": 1.0, "high": 1 + worth}]}
    drawing = drawn(chart, data, "Speedup of each row over the earlier run, with its confidence interval")
    return Ratios(drawing, len(rows), len(timed))


def ratio_rows(timed: Sequence[Change], labels: Mapping[str, str]) -> list[look.Row]:
    """Of the shown rows, slowest first."""
    order = ("SLOWER", "FASTER", "AMBIGUOUS", "SAME")
    chosen = sorted(timed, key=lambda each: (order.index(each.verdict), -abs(math.log(each.ratio or 1.0))))
    shown = sorted(chosen[:MOST], key=lambda each: each.ratio or 0.0)
    names = unlike([" ".join(filter(None, (labels[each.key[0]], *each.key[1:3]))) for each in shown])
    return [
        {
            "label": name, "operation": each.key[0], "backend": " ".join(filter(None, each.key[1:3])),
            "verdict": each.verdict, "ratio": each.ratio, "low": (each.interval or (each.ratio,))[0],
            "high": (each.interval or (each.ratio,))[-1],
            "before": each.before and positive(each.before.time_us),
            "after": each.after and positive(each.after.time_us),
        }
        for name, each in zip(names, shown, strict=True)
    ]  # fmt: skip


# The conditions of runs, in words.


_TIMING = {
    "call": "per call: the caller waits for each call before it makes the next",
    "device": "on the device: calls in batches, minus the time of an empty batch",
}
_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def facts_words(facts: RunFacts) -> tuple[tuple[str, str], ...]:
    """The known facts of a run, as readable names and values."""
    devices = (f"{name} ({uri})" if name else uri for uri, name in facts.devices.items())
    found = (
        ("device" if len(facts.devices) == 1 else "devices", ", ".join(devices)),
        ("commit", facts.commit),
        ("compiler", f"IREE {facts.compiler}" if facts.compiler else ""),
        ("libraries", ", ".join(f"{name} {each}" for name, each in facts.versions.items() if each)),
        *conditions_words(facts.conditions),
        ("run", facts.id),
        ("interleaved with", facts.against),
        ("started", day(facts.started or None)),
    )
    return tuple((name, value) for name, value in found if value)


def conditions_words(conditions: Conditions) -> tuple[tuple[str, str], ...]:
    """The conditions of samples, as readable names and values."""
    size = conditions.copies_bytes
    cold = f"cold: inputs rotate through {_size(size)} of copies"
    load = conditions.background_load_s
    return (
        ("timing", _TIMING[conditions.timing]),
        ("caches", cold if size else "warm: one copy of the inputs"),
        ("threads", f"{conditions.threads} of the host" if conditions.threads else "the device's own"),
        ("streams", f"{conditions.streams} concurrent copies" if conditions.streams > 1 else "1"),
        ("background load", f"a large product for {_short(load)} before each sample" if load else "none"),
        (
            "samples",
            f"up to {conditions.rounds} of at least {_short(conditions.batch_s)}, each after a pause of "
            f"{_short(conditions.pause_s)}; up to {seconds(conditions.seconds)} per operation",
        ),
    )


def _size(bytes_: int) -> str:
    return next((f"{bytes_ / size:.3g} {unit}" for unit, size in _UNITS if bytes_ >= size), f"{bytes_} B")


def _short(duration_s: float) -> str:
    return f"{duration_s:.3g} s" if duration_s >= 1 else f"{duration_s * 1e3:.3g} ms"


# Tuned IREE against IREE's default: a point for each operation.


TUNED = ("iree-tuned", BEST)

_HEIGHT_PX = 420
_LINES = (("as fast", 1.0), ("1.5x as fast", 1.5), ("1.5x as slow", 1 / 1.5))
_NAMES = {"faster": FAST, "no difference": SAME, "slower": SLOW}


def draw_scatter(found: Sequence[Standing]) -> Drawing | None:
    """Times of both on one device on equal axes, with the diagonal; None where nothing is tuned."""
    rows = scatter_rows(found)
    if not rows:
        return None
    times = [float(str(row[name])) for row in rows for name in ("x", "y", "low", "high")]
    ends = [min(times) / 1.5, max(times) * 1.5]
    scale = alt.Scale(type="log", domain=ends, nice=False)
    axis = alt.Axis(format="~g", values=ratios(*ends))
    x = alt.X("x:Q", scale=scale, title="IREE's default, µs", axis=axis)
    y = alt.Y("y:Q", scale=scale, title="tuned, µs", axis=axis)
    lines = [{"line": name, "x": end, "y": end / factor} for name, factor in _LINES for end in ends]
    dash = alt.condition("datum.line == 'as fast'", alt.value([1, 0]), alt.value([4, 4]))
    diagonals = alt.Chart(alt.NamedData("lines")).mark_line(stroke=FAINT, clip=True, strokeWidth=1)
    there = {row["verdict"] for row in rows}
    base = alt.Chart(alt.NamedData("points")).encode(
        color=look.colored("verdict:N", {name: color for name, color in _NAMES.items() if name in there}),
        tooltip=[
            "operation:N", alt.Tooltip("contender:N", title="back end"),
            alt.Tooltip("x:Q", title="default, µs", format=",.4~g"),
            alt.Tooltip("y:Q", title="tuned, µs", format=",.4~g"), alt.Tooltip("speedup:Q", format=".3f"),
        ],
    )  # fmt: skip
    intervals = base.mark_rule(opacity=0.5).encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q")
    points = base.mark_point(filled=True, size=60, opacity=0.85).encode(x=x, y=y)
    lines_ = diagonals.encode(x=x, y=y, detail="line:N", strokeDash=dash)
    chart = alt.layer(lines_, intervals, points).properties(height=_HEIGHT_PX)
    about = "Tuned time of each operation against its time with IREE's default"
    return drawn(chart, {"points": rows, "lines": lines}, about)


def scatter_rows(found: Sequence[Standing]) -> list[look.Row]:
    """Operations that have both; the interval is the speedup's, at the default's time."""
    default = {each.row.operation: each.time_us for each in found if each.contender == BASE}
    rows: list[look.Row] = []
    for each in found:
        if each.contender not in TUNED or each.speedup is None or each.row.operation not in default:
            continue
        x = default[each.row.operation]
        low, high = each.interval or (each.speedup, each.speedup)
        verdict = "faster" if low > 1 else "slower" if high < 1 else "no difference"
        rows.append({
            "operation": each.row.operation, "contender": each.contender, "speedup": each.speedup,
            "x": x, "y": x / each.speedup, "low": x / high, "high": x / low, "verdict": verdict,
        })  # fmt: skip
    return rows
