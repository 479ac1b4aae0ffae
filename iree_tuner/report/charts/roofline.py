"""The device's limits, and the part of them that was reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import altair as alt

from iree_tuner.report.charts.look import FAINT, HEIGHT_PX, INK, Drawing, Row, Rows, by_time, drawn
from iree_tuner.report.view import Roof, RoofLevel, RunReport, TimeProfile

MOST = 60
PLAIN = "f32"
"""Element type whose peak is shown where none of the points' types has one."""

_ALIKE = 0.8
_APART = 1.3  # a closer peak shares the label of the one above it
_MARGIN = 2.0  # of both axes, beyond points and corners


def draw_roofline(report: RunReport) -> Drawing | None:
    """Points for the parts of the program, before and after, under the roofs of the device."""
    points = [row for each in report.profiles for row in point_rows(each)]
    if not points:
        return None
    roof = next((each.roof for each in report.profiles if each.roof.levels), Roof())
    behind = roofs_behind(points, roof)
    chart = alt.layer(*behind.layers, *_point_layers(points, behind.x, behind.y)).properties(height=HEIGHT_PX)
    data = {"points": points, **behind.data}
    about = "Operations per second of each dispatch against its arithmetic intensity, with the roofline"
    return drawn(chart, data, about)


def _point_layers(points: list[Row], x: alt.X, y: alt.Y) -> tuple[alt.Chart, ...]:
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
            color=by_time(points),
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


@dataclass(frozen=True)
class Behind:
    """The lines behind points, and the marks of points."""

    # x, y: axes: operations for each byte, and operations a second
    x: alt.X
    y: alt.Y
    layers: tuple[alt.Chart, ...]  # the roofs and their names
    data: Mapping[str, Rows]


def roofs_behind(points: Rows, roof: Roof) -> Behind:
    """Roofs for at least one point, each with its `intensity`, `rate` and element `type`."""
    types = {str(row["type"]) for row in points}
    peaks = {kind: peak for kind, peak in roof.peaks.items() if kind in types} or {
        kind: peak for kind, peak in roof.peaks.items() if kind == PLAIN
    }
    intensities = [float(str(row["intensity"])) for row in points]
    rates = [float(str(row["rate"])) for row in points]
    corners = [peak / level.bytes_per_s for peak in peaks.values() for level in roof.levels]
    x_ends = min([*intensities, *corners]) / _MARGIN, max([*intensities, *corners]) * _MARGIN
    y_ends = min(rates) / _MARGIN, max([*rates, *peaks.values()]) * _MARGIN
    roofs = list(_roof_rows(roof, peaks, x_ends, y_ends))
    x = alt.X(
        "intensity:Q", scale=alt.Scale(type="log", domain=list(x_ends), nice=False),
        title="operations per byte of memory traffic", axis=alt.Axis(format="~g"),
    )  # fmt: skip
    y = alt.Y(
        "rate:Q", scale=alt.Scale(type="log", domain=list(y_ends), nice=False),
        title="operations per second", axis=alt.Axis(format="~s"),
    )  # fmt: skip
    return Behind(x, y, _roof_layers(x, y), {"roofs": roofs, "names": _names(roofs)})


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


def _roof_rows(
    roof: Roof, peaks: Mapping[str, float], x_ends: tuple[float, float], y_ends: tuple[float, float]
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


def told_apart(levels: Sequence[RoofLevel]) -> list[RoofLevel]:
    """Levels, except for those that the next larger level is nearly as fast as."""
    return [
        level
        for level, larger in zip_longest(levels, levels[1:])
        if larger is None or larger.bytes_per_s < _ALIKE * level.bytes_per_s
    ]


def _names(roofs: Sequence[Row]) -> list[Row]:
    """The positions of the labels: peaks at their right ends, and levels staggered along their slopes.

    Peaks that are close to each other share a label.
    """
    lines = list(zip(roofs[::2], roofs[1::2], strict=True))
    slopes = [line for line in lines if line[0]["rate"] != line[1]["rate"]]
    found: list[Row] = []
    for place, (start, end) in enumerate(slopes, start=1):
        part = place / (len(slopes) + 1)
        between = {
            name: float(str(start[name])) ** (1 - part) * float(str(end[name])) ** part
            for name in ("intensity", "rate")
        }
        found.append({"roof": start["roof"], "side": "left", **between})
    ends = [end for start, end in lines if start["rate"] == end["rate"]]
    for each in sorted(ends, key=lambda end: -float(str(end["rate"]))):
        above = found[-1] if found and found[-1]["side"] == "right" else None
        if above is not None and float(str(above["rate"])) < _APART * float(str(each["rate"])):
            names = f"{str(above['roof']).removesuffix(' peak')}, {each['roof']}"
            found[-1] = {**above, "roof": names}
        else:
            found.append({**each, "side": "right"})
    return found
