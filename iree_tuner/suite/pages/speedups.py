"""Back ends compared with IREE's default, operation by operation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import altair as alt

from iree_tuner.report.charts import look
from iree_tuner.report.charts.look import FAINT, INK, Drawing, drawn, ratios
from iree_tuner.suite.pages.course import colored
from iree_tuner.suite.pages.together import Standing, contenders

MOST = 60
"""Operations of a chart: those with the largest differences."""

_BAR_PX, _GAP_PX, _LEAST_PX = 7, 8, 24


def draw_speedups(
    found: Sequence[Standing], labels: Mapping[str, str], all_: Sequence[str]
) -> Drawing | None:
    """A bar from 1 to each speedup, with its interval; None where nothing was compared.

    Args:
        found: on one device.
        labels: of operations.
        all_: contenders of the page, for their colors.
    """
    rows = speedup_rows(found, labels)
    if not rows:
        return None
    there = {row["contender"] for row in rows}
    shown = [each for each in contenders(found) if each in there]
    order = list(dict.fromkeys(str(row["label"]) for row in rows))
    ends = [float(str(row[name])) for row in rows for name in ("speedup", "low", "high")]
    low, high = min(0.9, *ends) / 1.05, max(1.1, *ends) * 1.05
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(format="~g", values=ratios(low, high), orient="top", title="speedup over IREE's default")
    base = alt.Chart(alt.NamedData("speedups")).encode(
        y=alt.Y("label:N", sort=order, title=None, scale=alt.Scale(paddingInner=0.2),
                axis=alt.Axis(grid=True, bandPosition=0)),
        yOffset=alt.YOffset("contender:N", sort=shown),
        tooltip=[
            "operation:N", alt.Tooltip("contender:N", title="back end"),
            alt.Tooltip("speedup:Q", format=".3f"), alt.Tooltip("low:Q", title="from", format=".3f"),
            alt.Tooltip("high:Q", title="to", format=".3f"),
            alt.Tooltip("time:Q", title="µs", format=",.4~g"),
        ],
    )  # fmt: skip
    bars = base.mark_bar().encode(
        x=alt.X("speedup:Q", scale=scale, axis=axis), x2="one:Q", color=colored(shown, all_)
    )
    intervals = base.mark_rule(stroke=INK, opacity=0.65).encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    one = alt.Chart(alt.NamedData("one")).mark_rule(color=FAINT).encode(x=alt.X("one:Q", scale=scale))
    height = max(2, len(order)) * max(_LEAST_PX, len(shown) * _BAR_PX + _GAP_PX)
    chart = alt.layer(bars, intervals, one).properties(height=height)
    data = {"speedups": rows, "one": [{"one": 1.0}]}
    return drawn(chart, data, "Speedup of each back end over IREE's default, for each operation")


def speedup_rows(found: Sequence[Standing], labels: Mapping[str, str]) -> list[look.Row]:
    """Of the shown operations, in their order."""
    compared = [each for each in found if each.speedup is not None]
    largest: dict[str, float] = {}
    for each in compared:
        far = abs(math.log(each.speedup or 1.0))
        largest[each.row.operation] = max(far, largest.get(each.row.operation, 0.0))
    kept = set(sorted(largest, key=lambda name: -largest[name])[:MOST])
    return [
        {
            "operation": each.row.operation, "label": labels[each.row.operation],
            "contender": each.contender, "speedup": each.speedup, "one": 1.0,
            "low": (each.interval or (each.speedup,))[0], "high": (each.interval or (each.speedup,))[-1],
            "time": each.time_us,
        }
        for each in compared
        if each.row.operation in kept
    ]  # fmt: skip
