"""The part of the device's limits that was reached."""

from __future__ import annotations

import altair as alt

from iree_tuner.report.charts.look import AFTER, BEFORE, HEIGHT_PX, INK, Drawing, Row, drawn
from iree_tuner.report.charts.roofs import PLAIN, roofs_behind
from iree_tuner.report.data import Roof, RunReport, TimeProfile

MOST = 60


def draw_roofline(report: RunReport) -> Drawing | None:
    """Points for the parts of the program, before and after, under the roofs of the device."""
    points = [row for each in (report.before, report.after) if each is not None for row in point_rows(each)]
    if not points:
        return None
    roof = next((each.roof for each in (report.before, report.after) if each and each.roof.levels), Roof())
    behind = roofs_behind(points, roof)
    chart = alt.layer(*behind.layers, *_point_layers(points, behind.x, behind.y)).properties(height=HEIGHT_PX)
    data = {"points": points, **behind.data}
    return drawn(
        chart,
        data,
        "Operations per second of each dispatch against its arithmetic intensity, with the roofline",
    )


def _point_layers(points: list[Row], x: alt.X, y: alt.Y) -> tuple[alt.Chart, ...]:
    when = [each for each in ("before", "after") if any(row["when"] == each for row in points)]
    colors = {"before": BEFORE, "after": AFTER}
    ways = (
        alt.Chart(alt.NamedData("points"))
        .mark_line(stroke=INK, strokeWidth=1, opacity=0.35)
        .encode(x=x, y=y, detail="part:N")
    )
    marks = (
        alt.Chart(alt.NamedData("points"))
        .mark_point(filled=True, opacity=0.9)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "when:N", title=None, scale=alt.Scale(domain=when, range=[colors[each] for each in when])
            ),
            size=alt.Size("time:Q", legend=None, scale=alt.Scale(range=[50, 500], zero=True)),
            tooltip=[
                "part:N",
                "when:N",
                alt.Tooltip("time:Q", title="µs", format=",.1f"),
                alt.Tooltip("rate:Q", title="operations per second", format=".3s"),
                alt.Tooltip("speed:Q", title="bytes per second", format=".3s"),
                alt.Tooltip("reached:Q", title="share of the roofline", format=".0%"),
            ],
        )
    )
    return ways, marks


def point_rows(profile: TimeProfile) -> list[Row]:
    """Parts that compute and move data, the longest if there are many."""
    found: list[Row] = []
    for each in profile.slices:
        if each.flops is None or each.bytes is None or len(found) >= MOST:
            continue
        found.append(
            {
                "part": each.label, "when": profile.when, "time": each.time_us,
                "type": each.element_type or PLAIN, "intensity": each.flops / each.bytes,
                "rate": each.flops / each.time_us * 1e6, "speed": each.bytes / each.time_us * 1e6,
                "reached": None if each.attainable_us is None else each.attainable_us / each.time_us,
            }
        )  # fmt: skip
    return found
