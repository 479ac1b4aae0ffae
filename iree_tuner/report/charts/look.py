"""The common look of all charts.

Colors of text, lines and background are the page's CSS variables, so that one drawing is right in light, in
dark and on paper: Vega's SVG renderer writes colors as they stand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import altair as alt

BEFORE, AFTER = "#8a94a3", "#2b7bd6"
FAST, SAME, SLOW = "#1f7ae0", "#9aa3ad", "#e0762a"
INK, FAINT, LINES = "var(--ink)", "var(--faint)", "var(--line)"
VERDICTS = {"win": "#1f7ae0", "tie": "#8a94a3", "lose": "#cf3f4f", "": "#8a94a3"}
SERIES = ("#1f7ae0", "#e0762a", "#1d9a77", "#b64fc0", "#c9a100", "#cf3f4f", "#5b6ee1", "#4f8a10")
"""Distinct, also for people who see few colors, and readable on white and on near-black."""

MANY_SERIES = (*SERIES, "#86bdf5", "#f3b68a", "#82d1b8", "#dfa6e6", "#e8d588", "#ec9aa3")
"""Further ones, lighter, for charts in which each color has its name next to it."""

OTHERS = "#9aa3ad"
ROW_PX = 24
HEIGHT_PX = 320

Row = Mapping[str, object]
Rows = Sequence[Row]


@dataclass(frozen=True)
class Drawing:
    """A chart for the page."""

    spec: Mapping[str, object]  # Vega-Lite, ready to be embedded
    about: str  # what it shows, for readers who cannot see it


def drawn(
    chart: alt.Chart | alt.LayerChart | alt.FacetChart, data: Mapping[str, Rows], about: str
) -> Drawing:
    """A chart as wide as its place on the page. Its data are named: altair copies every row of others.

    It is not checked against Vega-Lite's schema, which takes as long as all the rest of a page: the tests do.
    """
    wide = chart.properties(width="container", autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
    spec = cast("dict[str, object]", wide.to_dict(validate=False))
    # Wider screens than altair's default, and no background: the page has one.
    spec["config"] = _CONFIG
    spec["datasets"] = {name: list(rows) for name, rows in data.items()}
    return Drawing(spec, about)


def colored(field: str, colors: Mapping[str, str]) -> alt.Color:
    """A color for each value of a field, with a legend."""
    return alt.Color(field, title=None, scale=alt.Scale(domain=list(colors), range=list(colors.values())))


def by_time(rows: Rows) -> alt.Color:
    """A color for `before` and one for `after`, with a legend of those that rows have in `when`."""
    there = {str(row["when"]) for row in rows}
    colors = {"before": BEFORE, "after": AFTER}
    return colored("when:N", {name: color for name, color in colors.items() if name in there})


def rows_high(count: int) -> int:
    """Height of a chart with a row for each of something, in pixels."""
    return max(2, count) * ROW_PX


def ratios(low: float, high: float) -> list[float]:
    """Where the axis of a ratio is labeled: logarithmic scales of less than a decade have few labels."""
    if high / low >= _DECADES:
        places = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        digits = (1,) if high / low >= _MANY_DECADES else (1, 2, 5)
        marks = [digit * 10.0**place for place in places for digit in digits]
    else:
        step = next((step for step in _STEPS if (high - low) / step <= _LABELS), _STEPS[-1])
        marks = [round(place * step, 6) for place in range(1, math.ceil(high / step) + 1)]
    return [mark for mark in marks if low <= mark <= high]


_DECADES, _MANY_DECADES, _LABELS = 8.0, 1e3, 9
_STEPS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_CONFIG: Mapping[str, object] = {
    "background": None,
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK, "titleColor": FAINT, "gridColor": LINES, "domainColor": LINES, "tickColor": LINES,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 330,
    },
    "legend": {
        "labelColor": INK, "titleColor": FAINT, "labelFontSize": 12, "titleFontSize": 12, "labelLimit": 330,
        "titleFontWeight": "normal", "orient": "top", "columns": 3, "symbolOpacity": 1, "gradientOpacity": 1,
    },
    "text": {"fill": INK, "fontSize": 11},
    "rule": {"stroke": LINES},
}  # fmt: skip
