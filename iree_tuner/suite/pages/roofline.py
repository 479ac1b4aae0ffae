"""The part of a device's limits that back ends reach."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from iree_tuner.profiling.roofline import Roofline
from iree_tuner.report.charts import look
from iree_tuner.report.charts.look import Drawing, drawn
from iree_tuner.report.charts.roofline import roofs_behind
from iree_tuner.report.view import Roof, RoofLevel
from iree_tuner.suite.pages.contenders import Standing, contenders
from iree_tuner.suite.pages.series import colored

_HEIGHT_PX = 420


def draw_roofline(
    found: Sequence[Standing], roofline: Roofline | None, all_: Sequence[str]
) -> Drawing | None:
    """A point for each operation and contender of a device; None without arithmetic.

    Args:
        found: on the device.
        roofline: of the device; None where it is not known.
        all_: contenders of the page, for their colors.
    """
    points = point_rows(found)
    if not points:
        return None
    behind = roofs_behind(points, _roof(roofline, {str(row["type"]) for row in points}))
    there = {row["contender"] for row in points}
    shown = [each for each in contenders(found) if each in there]
    highlight = alt.selection_point(fields=["contender"], bind="legend")
    marks = (
        alt.Chart(alt.NamedData("points"))
        .mark_point(filled=True, size=55)
        .encode(
            x=behind.x,
            y=behind.y,
            color=colored(shown, all_),
            opacity=alt.condition(highlight, alt.value(0.85), alt.value(0.08)),
            tooltip=[
                "operation:N",
                alt.Tooltip("contender:N", title="back end"),
                alt.Tooltip("time:Q", title="µs", format=",.4~g"),
                alt.Tooltip("rate:Q", title="operations per second", format=".3s"),
                alt.Tooltip("speed:Q", title="bytes per second", format=".3s"),
                alt.Tooltip("share:Q", title="share of the roofline", format=".0%"),
            ],
        )
        .add_params(highlight)
    )
    chart = alt.layer(*behind.layers, marks).properties(height=_HEIGHT_PX)
    about = "Operations per second against arithmetic intensity, by back end, with the roofline"
    return drawn(chart, {"points": points, **behind.data}, about)


def point_rows(found: Sequence[Standing]) -> list[look.Row]:
    """Of what computes and moves data."""
    return [
        {
            "operation": each.row.operation, "contender": each.contender, "time": each.time_us,
            "type": each.row.compute_type, "intensity": each.row.flops / each.row.bytes,
            "rate": each.row.flops / each.time_us * 1e6, "speed": each.row.bytes / each.time_us * 1e6,
            "share": each.row.roofline_share,
        }
        for each in found
        if each.row.flops > 0 and each.row.bytes > 0
    ]  # fmt: skip


def _roof(roofline: Roofline | None, types: set[str]) -> Roof:
    """As charts have it, with a peak for each type that is shown."""
    if roofline is None:
        return Roof()
    peaks = {kind: peak for kind in sorted(types) if (peak := roofline.peak(kind)) is not None}
    levels = (
        RoofLevel(each.bytes_per_s, each.capacity_bytes)
        for each in roofline.levels
        if each.bytes_per_s is not None
    )
    return Roof(peaks, tuple(levels), roofline.how)
