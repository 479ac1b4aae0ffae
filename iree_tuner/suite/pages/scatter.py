"""Tuned IREE against IREE's default: a point an operation."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from iree_tuner.report.charts import look
from iree_tuner.report.charts.look import FAINT, FAST, SAME, SLOW, Drawing, drawn, ratios
from iree_tuner.suite.pages.contenders import BASE, BEST, Standing

TUNED = ("iree-tuned", BEST)

_HEIGHT_PX = 420
_LINES = (("as fast", 1.0), ("1.5x as fast", 1.5), ("1.5x as slow", 1 / 1.5))
_NAMES = {"faster": FAST, "no difference": SAME, "slower": SLOW}


def draw_scatter(found: Sequence[Standing]) -> Drawing | None:
    """Times of both on equal axes, with the diagonal; None where nothing is tuned.

    Args:
        found: on one device.
    """
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
    drawn_lines = (
        alt.Chart(alt.NamedData("lines"))
        .mark_line(stroke=FAINT, clip=True, strokeWidth=1)
        .encode(
            x=x,
            y=y,
            detail="line:N",
            strokeDash=alt.condition("datum.line == 'as fast'", alt.value([1, 0]), alt.value([4, 4])),
        )
    )
    told = [each for each in _NAMES if any(row["verdict"] == each for row in rows)]
    base = alt.Chart(alt.NamedData("points")).encode(
        color=alt.Color(
            "verdict:N", title=None, scale=alt.Scale(domain=told, range=[_NAMES[each] for each in told])
        ),
        tooltip=[
            "operation:N",
            alt.Tooltip("contender:N", title="back end"),
            alt.Tooltip("x:Q", title="default, µs", format=",.4~g"),
            alt.Tooltip("y:Q", title="tuned, µs", format=",.4~g"),
            alt.Tooltip("speedup:Q", format=".3f"),
        ],
    )
    intervals = base.mark_rule(opacity=0.5).encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q")
    points = base.mark_point(filled=True, size=60, opacity=0.85).encode(x=x, y=y)
    chart = alt.layer(drawn_lines, intervals, points).properties(height=_HEIGHT_PX)
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
