"""How soon the search found what it found: the best so far against the number of trials."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from iree_tuner.report.charts import look
from iree_tuner.report.charts.look import FAINT, HEIGHT_PX, OTHERS, SERIES, Drawing, Row, drawn, ratios
from iree_tuner.report.view import RunReport, WorkloadPart

MOST = 40
REST = "others"  # no label is like it: labels of workloads have sizes


def draw_convergence(report: RunReport) -> Drawing | None:
    """A line a workload; those with the largest shares have a color of their own."""
    parts = [each for each in report.workloads if curve(each)][:MOST]
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
            scale=alt.Scale(type="log", domain=[low, high], nice=False),
        ),
        detail="workload:N", tooltip=["workload:N", "trial:Q", alt.Tooltip("speedup:Q", format=".3f")],
    )  # fmt: skip
    others = base.transform_filter(f"datum.series == '{REST}'").mark_line(
        interpolate="step-after", stroke=OTHERS, strokeWidth=1, opacity=0.5
    )
    shown = (
        base.transform_filter(f"datum.series != '{REST}'")
        .mark_line(interpolate="step-after", strokeWidth=2, point=alt.OverlayMarkDef(size=22))
        .encode(color=look.colored("series:N", dict(zip(series, SERIES, strict=False))))
    )
    one = alt.Chart(alt.NamedData("one")).mark_rule(color=FAINT, strokeDash=[4, 3]).encode(y="one:Q")
    behind = [others] if any(row["series"] == REST for row in rows) else []
    chart = alt.layer(one, *behind, shown).properties(height=HEIGHT_PX)
    data = {"curves": rows, "one": [{"one": 1.0}]}
    return drawn(chart, data, "Best speedup found so far, against the number of trials, for each workload")


def _ends(rows: Sequence[Row]) -> tuple[float, float]:
    found = [float(str(row["speedup"])) for row in rows]
    return min(0.95, *found) / 1.02, max(1.05, *found) * 1.05


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
