"""What was reached of what the device could do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest

import altair as alt

from iree_tuner.report.charts.look import AFTER, BEFORE, FAINT, HEIGHT_PX, INK, Drawing, Row, drawn
from iree_tuner.report.data import Level, Roof, RunReport, TimeProfile

MOST = 60
_PLAIN = "f32"
_ALIKE = 0.8
_MARGIN = 2.0  # of both axes, beyond points and corners


def draw_roofline(report: RunReport) -> Drawing | None:
    """Points for the parts of the program, before and after, under the roofs of the device."""
    points = [row for each in (report.before, report.after) if each is not None for row in point_rows(each)]
    if not points:
        return None
    roof = next((each.roof for each in (report.before, report.after) if each and each.roof.levels), Roof())
    types = {str(row["type"]) for row in points}
    peaks = {kind: peak for kind, peak in roof.peaks.items() if kind in types} or {
        kind: peak for kind, peak in roof.peaks.items() if kind == _PLAIN
    }
    intensities = [float(str(row["intensity"])) for row in points]
    rates = [float(str(row["rate"])) for row in points]
    corners = [peak / level.bytes_per_s for peak in peaks.values() for level in roof.levels]
    x_ends = min([*intensities, *corners]) / _MARGIN, max([*intensities, *corners]) * _MARGIN
    y_ends = min(rates) / _MARGIN, max([*rates, *peaks.values()]) * _MARGIN
    roofs = list(_roof_rows(roof, peaks, x_ends, y_ends))
    x = alt.X(
        "intensity:Q", scale=alt.Scale(type="log", domain=list(x_ends), nice=False),
        title="operations for each byte moved", axis=alt.Axis(format="~g"),
    )  # fmt: skip
    y = alt.Y(
        "rate:Q", scale=alt.Scale(type="log", domain=list(y_ends), nice=False),
        title="operations a second", axis=alt.Axis(format="~s"),
    )  # fmt: skip
    data = {"points": points, "roofs": roofs, "names": _names(roofs)}
    chart = alt.layer(*_roof_layers(x, y), *_point_layers(points, x, y)).properties(height=HEIGHT_PX)
    return drawn(chart, data, "Arithmetic rate of each dispatch against its intensity, under the roofline")


def _roof_layers(x: alt.X, y: alt.Y) -> tuple[alt.Chart, ...]:
    lines = (
        alt.Chart(alt.NamedData("roofs"))
        .mark_line(stroke=FAINT, strokeWidth=1.5, clip=True)
        .encode(x=x, y=y, detail="roof:N")
    )
    names = alt.Chart(alt.NamedData("names")).encode(x=x, y=y, text="roof:N")
    peaks = names.transform_filter("datum.side == 'right'").mark_text(align="right", dy=-7, fill=FAINT)
    slopes = names.transform_filter("datum.side == 'left'").mark_text(align="left", dx=6, dy=10, fill=FAINT)
    return lines, peaks, slopes


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
                alt.Tooltip("rate:Q", title="operations a second", format=".3s"),
                alt.Tooltip("speed:Q", title="bytes a second", format=".3s"),
                alt.Tooltip("reached:Q", title="of what is attainable", format=".0%"),
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
                "type": each.element_type or _PLAIN, "intensity": each.flops / each.bytes,
                "rate": each.flops / each.time_us * 1e6, "speed": each.bytes / each.time_us * 1e6,
                "reached": None if each.attainable_us is None else each.attainable_us / each.time_us,
            }
        )  # fmt: skip
    return found


def _roof_rows(
    roof: Roof, peaks: dict[str, float], x_ends: tuple[float, float], y_ends: tuple[float, float]
) -> Iterator[Row]:
    """Slopes up to the highest peak, and the peaks from where the fastest memory reaches them."""
    low, high = x_ends
    top = max(peaks.values(), default=y_ends[1])
    for level in told_apart(roof.levels):
        name = _level_name(level.capacity_bytes)
        corner = top / level.bytes_per_s
        start = max(low, y_ends[0] / level.bytes_per_s)
        for intensity in (start, min(corner, high)):
            yield {"roof": name, "intensity": intensity, "rate": intensity * level.bytes_per_s}
    fastest = max((level.bytes_per_s for level in roof.levels), default=None)
    for kind, peak in peaks.items():
        start = low if fastest is None else max(low, peak / fastest)
        for intensity in (start, high):
            yield {"roof": f"{kind} peak", "intensity": intensity, "rate": peak}


def _level_name(capacity_bytes: float | None) -> str:
    if capacity_bytes is None:
        return "memory"
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if capacity_bytes >= size:
            return f"within {capacity_bytes / size:.3g} {unit}"
    return f"within {capacity_bytes:.0f} B"


def told_apart(levels: Sequence[Level]) -> list[Level]:
    """Levels without those that the next larger one is nearly as fast as."""
    return [
        level
        for level, larger in zip_longest(levels, levels[1:])
        if larger is None or larger.bytes_per_s < _ALIKE * level.bytes_per_s
    ]


def _names(roofs: Sequence[Row]) -> list[Row]:
    """Where the names stand: peaks at their right end, levels half way up, as the axes show it."""
    found: list[Row] = []
    for start, end in zip(roofs[::2], roofs[1::2], strict=True):
        if start["rate"] == end["rate"]:
            found.append({**end, "side": "right"})
            continue
        middle = {
            name: math.sqrt(float(str(start[name])) * float(str(end[name]))) for name in ("intensity", "rate")
        }
        found.append({"roof": start["roof"], "side": "left", **middle})
    return found
