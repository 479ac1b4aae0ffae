"""Devices side by side: how each is used, as times of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from iree_tuner.report.charts import look
from iree_tuner.report.charts.look import SERIES, Drawing, drawn, rows_high
from iree_tuner.suite.pages.contenders import Standing

MOST = 60


def draw_devices(
    found: Sequence[Standing], contender: str, devices: Sequence[str], labels: Mapping[str, str]
) -> Drawing | None:
    """A row for each operation, a point for each device; None with less than two of them.

    Args:
        found: on all devices.
        contender: whose times.
        devices: the first is the one that times are normalized to.
        labels: of operations.
    """
    rows = device_rows(found, contender, labels)
    shown = [each for each in devices if any(row["device"] == each for row in rows)]
    if len(shown) < 2:
        return None
    order = list(dict.fromkeys(str(row["label"]) for row in rows))
    colors = [SERIES[devices.index(each) % len(SERIES)] for each in shown]
    base = alt.Chart(alt.NamedData("devices")).encode(
        y=alt.Y("label:N", sort=order, title=None, axis=alt.Axis(grid=True)),
        x=alt.X(
            "normalized:Q",
            scale=alt.Scale(type="log"),
            title=f"normalized µs (as on {shown[0]})",
            axis=alt.Axis(format="~g"),
        ),
    )
    ways = base.mark_line(stroke=look.FAINT, strokeWidth=1, opacity=0.6).encode(detail="label:N")
    points = base.mark_point(filled=True, size=70, opacity=0.9).encode(
        color=alt.Color("device:N", title=None, scale=alt.Scale(domain=shown, range=colors)),
        tooltip=[
            "operation:N",
            "device:N",
            alt.Tooltip("normalized:Q", title="normalized, µs", format=",.4~g"),
            alt.Tooltip("time:Q", title="measured, µs", format=",.4~g"),
            alt.Tooltip("share:Q", title="share of the roofline", format=".0%"),
        ],
    )
    chart = alt.layer(ways, points).properties(height=rows_high(len(order)))
    return drawn(chart, {"devices": rows}, f"Normalized times of {contender} on each device, by operation")


def device_rows(found: Sequence[Standing], contender: str, labels: Mapping[str, str]) -> list[look.Row]:
    """Of the first operations that several devices have."""
    mine = [each for each in found if each.contender == contender and each.row.normalized_us is not None]
    names = [each.row.operation for each in mine]
    shown = set([name for name in dict.fromkeys(names) if names.count(name) > 1][:MOST])
    return [
        {
            "operation": each.row.operation, "label": labels[each.row.operation], "device": each.row.device,
            "normalized": each.row.normalized_us, "time": each.time_us, "share": each.row.roofline_share,
        }
        for each in mine
        if each.row.operation in shown
    ]  # fmt: skip
