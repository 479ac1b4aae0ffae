"""The report of one or several suite runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import altair as alt

from iree_tuner.profiling.roofline import Roofline
from iree_tuner.report.charts import look
from iree_tuner.report.charts.look import FAINT, INK, SERIES, Drawing, drawn, ratios, rows_high
from iree_tuner.report.charts.roofline import roofs_behind
from iree_tuner.report.page import check_installed, filled
from iree_tuner.report.view import Roof, RoofLevel
from iree_tuner.suite.pages.course import colored
from iree_tuner.suite.pages.together import (
    BASE,
    Gain,
    Together,
    contenders,
    draw_scatter,
    facts_words,
    gains,
    labels_of,
    standings,
    together,
)
from iree_tuner.suite.results import Results, Row, State

MOST = 60
"""Operations of a chart: those on several devices, or with the largest differences."""


@dataclass(frozen=True)
class OnDevice:
    """The charts of a device. A chart without data is None."""

    device: str
    how: str  # the source of its roofline
    roofline: Drawing | None
    speedups: Drawing | None
    scatter: Drawing | None


@dataclass(frozen=True)
class NotOk:
    """Rows with the same state (other than `ok`) and the same message."""

    state: State
    backend: str
    device: str
    message: str
    operations: tuple[str, ...]


def run_page(results: Sequence[Results]) -> str:
    """Render the page. Raises TunerError if a library for charts is missing, or there are no rows."""
    check_installed()
    shown = together(results)
    found = standings(shown.rows)
    all_, best, labels = contenders(found), gains(found), labels_of(shown.operations)
    drawn_ = [(each, draw_devices(found, each, shown.devices, labels)) for each in all_]
    return filled(
        "run.html.jinja", package="iree_tuner.suite.pages", shown=shown, headline=headline(shown, best),
        gains=best, facts=[(facts, facts_words(facts)) for facts in shown.runs],
        charts=[_on_device(shown, device, found, all_) for device in shown.devices],
        devices=[each for each in drawn_ if each[1] is not None] if len(shown.devices) > 1 else [],
        labels=labels, not_ok=not_ok(shown.rows),
    )  # fmt: skip


def headline(shown: Together, best: Sequence[Gain]) -> str:
    """Summarize the results in one sentence."""
    many = f"{len(shown.operations)} operations"
    if not best:
        ok = sum(row.state == "ok" for row in shown.rows)
        timed = f"{ok} of {len(shown.rows)} rows have a time"
        return f"{many}: {timed}, and none was compared with IREE's default"
    first = next((each for each in best if each.contender.startswith(BASE)), best[0])
    speedup = f"{first.contender} is {first.speedup:.2f}x as fast as IREE's default"
    return f"Over {first.operations} of {many}, {speedup}"


def not_ok(rows: Sequence[Row]) -> tuple[NotOk, ...]:
    """Group rows by reason: failures first, then the most frequent reasons."""
    groups: dict[tuple[State, str, str, str], list[str]] = {}
    for row in rows:
        if row.state != "ok":
            groups.setdefault((row.state, row.backend, row.device, row.message), []).append(row.dispatch)
    states = ("failed", "lost", *get_args(State))
    found = [NotOk(*reason, tuple(names)) for reason, names in groups.items()]
    return tuple(sorted(found, key=lambda each: (states.index(each.state), -len(each.operations))))


def _on_device(shown: Together, device: str, found: Sequence[Row], all_: Sequence[str]) -> OnDevice:
    mine = [each for each in found if each.device == device]
    roofline = shown.rooflines.get(device)
    return OnDevice(
        device, roofline.how if roofline else "", draw_roofline(mine, roofline, all_),
        draw_speedups(mine, labels_of(shown.operations), all_), draw_scatter(mine),
    )  # fmt: skip


# Devices side by side, in times of one of them.


def draw_devices(
    found: Sequence[Row], contender: str, devices: Sequence[str], labels: Mapping[str, str]
) -> Drawing | None:
    """A row for each operation, a point for each device; None with less than two of them.

    Args:
        found: on all devices.
        contender: whose times.
        devices: times are normalized to the first.
        labels: of operations.
    """
    rows = device_rows(found, contender, labels)
    shown = [each for each in devices if any(row["device"] == each for row in rows)]
    if len(shown) < 2:
        return None
    order = list(dict.fromkeys(str(row["label"]) for row in rows))
    colors = {each: SERIES[devices.index(each) % len(SERIES)] for each in shown}
    base = alt.Chart(alt.NamedData("devices")).encode(
        y=alt.Y("label:N", sort=order, title=None, axis=alt.Axis(grid=True)),
        x=alt.X("normalized:Q", scale=alt.Scale(type="log"), axis=alt.Axis(format="~g"),
                title=f"normalized µs (as on {shown[0]})"),
    )  # fmt: skip
    ways = base.mark_line(stroke=look.FAINT, strokeWidth=1, opacity=0.6).encode(detail="label:N")
    points = base.mark_point(filled=True, size=70, opacity=0.9).encode(
        color=look.colored("device:N", colors),
        tooltip=[
            "operation:N", "device:N", alt.Tooltip("normalized:Q", title="normalized, µs", format=",.4~g"),
            alt.Tooltip("time:Q", title="measured, µs", format=",.4~g"),
            alt.Tooltip("share:Q", title="share of the roofline", format=".0%"),
        ],
    )  # fmt: skip
    chart = alt.layer(ways, points).properties(height=rows_high(len(order)))
    return drawn(chart, {"devices": rows}, f"Normalized times of {contender} on each device, by operation")


def device_rows(found: Sequence[Row], contender: str, labels: Mapping[str, str]) -> list[look.Row]:
    """Of the first operations that several devices have."""
    mine = [each for each in found if each.backend == contender and each.normalized_us is not None]
    names = [each.operation for each in mine]
    shown = set([name for name in dict.fromkeys(names) if names.count(name) > 1][:MOST])
    return [
        {
            "operation": each.operation, "label": labels[each.operation], "device": each.device,
            "normalized": each.normalized_us, "time": each.time_us, "share": each.roofline_share,
        }
        for each in mine
        if each.operation in shown
    ]  # fmt: skip


# Back ends in the roofline of a device.


_HEIGHT_PX = 420


def draw_roofline(found: Sequence[Row], roofline: Roofline | None, all_: Sequence[str]) -> Drawing | None:
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
    marks = alt.Chart(alt.NamedData("points")).mark_point(filled=True, size=55).encode(
        x=behind.x, y=behind.y, color=colored(shown, all_),
        opacity=alt.condition(highlight, alt.value(0.85), alt.value(0.08)),
        tooltip=[
            "operation:N", alt.Tooltip("contender:N", title="back end"),
            alt.Tooltip("time:Q", title="µs", format=",.4~g"),
            alt.Tooltip("rate:Q", title="operations per second", format=".3s"),
            alt.Tooltip("speed:Q", title="bytes per second", format=".3s"),
            alt.Tooltip("share:Q", title="share of the roofline", format=".0%"),
        ],
    )  # fmt: skip
    chart = alt.layer(*behind.layers, marks.add_params(highlight)).properties(height=_HEIGHT_PX)
    about = "Operations per second against arithmetic intensity, by back end, with the roofline"
    return drawn(chart, {"points": points, **behind.data}, about)


def point_rows(found: Sequence[Row]) -> list[look.Row]:
    """Of what computes and moves data."""
    return [
        {
            "operation": each.operation, "contender": each.backend, "time": each.time_us,
            "type": each.compute_type, "intensity": each.flops / each.bytes,
            "rate": 1e9 * (each.gflops or 0.0), "speed": 1e9 * (each.gbytes or 0.0),
            "share": each.roofline_share,
        }
        for each in found
        if each.flops > 0 and each.bytes > 0
    ]  # fmt: skip


def _roof(roofline: Roofline | None, types: set[str]) -> Roof:
    """The roofline of a chart, with a peak for each shown type."""
    if roofline is None:
        return Roof()
    peaks = {kind: peak for kind in sorted(types) if (peak := roofline.peak(kind)) is not None}
    levels = (
        RoofLevel(each.bytes_per_s, each.capacity_bytes)
        for each in roofline.levels
        if each.bytes_per_s is not None
    )
    return Roof(peaks, tuple(levels), roofline.how)


_BAR_PX, _GAP_PX, _LEAST_PX = 7, 8, 24


def draw_speedups(found: Sequence[Row], labels: Mapping[str, str], all_: Sequence[str]) -> Drawing | None:
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
    reach = [float(str(row[name])) for row in rows for name in ("speedup", "low", "high")]
    low, high = min(0.9, *reach) / 1.05, max(1.1, *reach) * 1.05
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
    # On bars of any color, in the dark as well: a line with a border, and ticks at its ends.
    x = alt.X("low:Q", scale=scale)
    border = base.mark_rule(stroke="var(--paper)", strokeWidth=4).encode(x=x, x2="high:Q")
    intervals = base.mark_rule(stroke=INK, strokeWidth=1.5).encode(x=x, x2="high:Q")
    ends = [
        base.mark_tick(color=INK, thickness=1.5, size=_BAR_PX * 0.6).encode(x=alt.X(f"{name}:Q", scale=scale))
        for name in ("low", "high")
    ]
    one = alt.Chart(alt.NamedData("one")).mark_rule(color=FAINT).encode(x=alt.X("one:Q", scale=scale))
    height = max(2, len(order)) * max(_LEAST_PX, len(shown) * _BAR_PX + _GAP_PX)
    chart = alt.layer(bars, border, intervals, *ends, one).properties(height=height)
    data = {"speedups": rows, "one": [{"one": 1.0}]}
    return drawn(chart, data, "Speedup of each back end over IREE's default, for each operation")


def speedup_rows(found: Sequence[Row], labels: Mapping[str, str]) -> list[look.Row]:
    """Of the shown operations, in their order."""
    compared = [each for each in found if each.speedup is not None]
    largest: dict[str, float] = {}
    for each in compared:
        far = abs(math.log(each.speedup or 1.0))
        largest[each.operation] = max(far, largest.get(each.operation, 0.0))
    kept = set(sorted(largest, key=lambda name: -largest[name])[:MOST])
    return [
        {
            "operation": each.operation, "label": labels[each.operation],
            "contender": each.backend, "speedup": each.speedup, "one": 1.0,
            "low": low, "high": high, "time": each.time_us,
        }
        for each in compared
        for low, high in [each.speedup_interval or (each.speedup, each.speedup)]
        if each.operation in kept
    ]  # fmt: skip
