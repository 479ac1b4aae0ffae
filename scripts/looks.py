"""The look of all figures on pages: two colors of paper, one font, no remote resources."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
MODES = ("light", "dark")
INK = {"light": "#24292f", "dark": "#e6edf3"}
FAINT = {"light": "#d0d7de", "dark": "#3d444d"}
BEFORE, AFTER = (
    {"light": "#6e7781", "dark": "#8b949e"},
    {"light": "#0969da", "dark": "#4493f8"},
)
"""Colors of the compiler's default, and of what tuning found."""

FONT = "Helvetica, Arial, sans-serif"
PADDING = {"left": 60, "right": 30, "top": 8, "bottom": 8}
"""Readers' fonts may be wider than the one that the layout is computed with."""


def themed(chart: Any, mode: str) -> Any:  # noqa: ANN401
    """A chart on a transparent ground, with the ink of a mode."""
    ink = INK[mode]
    return (
        chart.configure(background="transparent", font=FONT, padding=PADDING)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=ink, titleColor=ink, labelFontSize=13, titleFontSize=13, gridColor=FAINT[mode],
            domainColor=FAINT[mode], tickColor=FAINT[mode],
        )
        .configure_legend(labelColor=ink, titleColor=ink, labelFontSize=13, orient="bottom", columnPadding=28)
        .configure_title(color=ink, subtitleColor=ink, fontSize=15, subtitleFontSize=13, anchor="start")
    )  # fmt: skip


def save(name: str, make: Callable[[str], Any], folder: Path = PICTURES) -> None:
    """Write NAME-light.svg and NAME-dark.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    for mode in MODES:
        svg = vl_convert.vegalite_to_svg(themed(make(mode), mode).to_json())
        write(name, mode, svg, folder)


def write(name: str, mode: str, svg: str, folder: Path = PICTURES) -> None:
    """Write one SVG, ending with a newline as other files of the repository do."""
    path = folder / f"{name}-{mode}.svg"
    path.write_text(svg.rstrip() + "\n", encoding="utf-8")
    print(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def title(text: str, subtitle: str | list[str]) -> alt.TitleParams:
    """A figure's title, with where its data comes from."""
    return alt.TitleParams(text, subtitle=subtitle, anchor="start", offset=12)
