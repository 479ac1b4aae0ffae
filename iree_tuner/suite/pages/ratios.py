"""How much faster or slower rows became, slowest first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from iree_tuner.report.charts import look
from iree_tuner.report.charts.look import FAINT, SAME, VERDICTS, Drawing, drawn, ratios, rows_high
from iree_tuner.report.labels import unlike
from iree_tuner.report.numbers import positive
from iree_tuner.suite.changes import Change

MOST = 60
"""Rows; if there are more, the changed ones, and then the ones that are farthest from 1."""

COLORS = {"SLOWER": VERDICTS["lose"], "FASTER": VERDICTS["win"], "AMBIGUOUS": "#c9a100", "SAME": SAME}


@dataclass(frozen=True)
class Ratios:
    """A chart, and how many rows it shows of how many that were timed."""

    drawing: Drawing
    shown: int
    timed: int


def draw_ratios(found: Sequence[Change], labels: Mapping[str, str], worth: float) -> Ratios | None:
    """A point and an interval for each row; None where none was timed in both runs.

    Args:
        found: on one device.
        labels: of operations.
        worth: relative difference that is worth a word; a band.
    """
    timed = [each for each in found if each.ratio is not None]
    rows = ratio_rows(timed, labels)
    if not rows:
        return None
    verdicts = [each for each in COLORS if any(row["verdict"] == each for row in rows)]
    colors = alt.Scale(domain=verdicts, range=[COLORS[each] for each in verdicts])
    ends = [float(str(row[name])) for row in rows for name in ("ratio", "low", "high")]
    low, high = min(0.9, *ends) / 1.02, max(1.1, *ends) * 1.02
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(format="~g", values=ratios(low, high), orient="top", title="speedup over the earlier run")
    base = alt.Chart(alt.NamedData("ratios")).encode(
        y=alt.Y(
            "label:N",
            sort=[str(row["label"]) for row in rows],
            title=None,
            axis=alt.Axis(labelLimit=320),
        ),
        color=alt.Color("verdict:N", title=None, scale=colors),
        tooltip=[
            "operation:N",
            alt.Tooltip("backend:N", title="back end"),
            "verdict:N",
            alt.Tooltip("ratio:Q", title="speedup", format=".3f"),
            alt.Tooltip("low:Q", title="from", format=".3f"),
            alt.Tooltip("high:Q", title="to", format=".3f"),
            alt.Tooltip("before:Q", title="before, µs", format=",.4~g"),
            alt.Tooltip("after:Q", title="after, µs", format=",.4~g"),
        ],
    )
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
    """Of the rows that are shown, slowest first."""
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
