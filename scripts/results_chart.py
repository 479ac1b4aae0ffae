"""Draw the times of whole models, before and after tuning and in other runtimes, for light and dark pages.

    python scripts/results_chart.py

Reads benchmarks/results/cpu_models.json and gpu_models.json.
Writes docs/pictures/results-{cpu,gpu}-{light,dark}.svg.
Needs the extra `report`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PICTURES = ROOT / "benchmarks" / "results", ROOT / "docs" / "pictures"
INK = {"light": "#24292f", "dark": "#e6edf3"}
COLORS = {"light": ("#6e7781", "#0969da", "#c9d1d9"), "dark": ("#8b949e", "#4493f8", "#3d444d")}
OURS = ("IREE", "IREE, tuned")


def main() -> None:
    """Draw both charts in both colors."""
    cpu = json.loads((RESULTS / "cpu_models.json").read_text(encoding="utf-8"))
    gpu = json.loads((RESULTS / "gpu_models.json").read_text(encoding="utf-8"))
    made = f"{cpu['device']}, {cpu['date']}, commit {cpu['commit']}"
    runs = (f"{each['device'].split()[0]} {each['date']} ({each['commit']})" for each in gpu["models"])
    PICTURES.mkdir(exist_ok=True)
    for name, found, title in (("cpu", cpu, made), ("gpu", gpu, ", ".join(runs))):
        for mode in INK:
            spec = chart(found["models"], title, mode).to_json()
            path = PICTURES / f"results-{name}-{mode}.svg"
            path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
            print(path.relative_to(ROOT))


def chart(models: list[dict[str, Any]], title: str, mode: str) -> alt.ConcatChart:
    """A panel for each model, with a bar for each runtime."""
    panels = [panel(each, mode) for each in models]
    ink = INK[mode]
    return (
        alt.concat(*panels, columns=2, spacing={"row": 22, "column": 30})
        .properties(
            title=alt.TitleParams(
                "Time of one call in ms (shorter is faster)",
                subtitle=title,
                anchor="start",
                fontSize=16,
                offset=12,
            )
        )
        .configure(background="transparent", font="Helvetica, Arial, sans-serif")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=ink, titleColor=ink, labelFontSize=13, domain=False, ticks=False, grid=False
        )
        .configure_title(color=ink, subtitleColor=ink, fontSize=14, subtitleFontSize=13)
    )


def panel(model: dict[str, Any], mode: str) -> alt.LayerChart:
    """The bars of a model."""
    times: dict[str, float] = model["median_ms"]
    rows = [
        {"runtime": name, "ms": ms, "label": f"{ms:g}", "kind": name if name in OURS else "others"}
        for name, ms in times.items()
    ]
    if "gain" in model:
        rows[1]["label"] += f"  ({model['gain']['speedup']:.2f}x)"
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("runtime:N", sort=list(times), title=None),
        x=alt.X("ms:Q", axis=None, scale=alt.Scale(domain=[0, max(times.values()) * 1.4])),
    )
    colors = alt.Scale(domain=[*OURS, "others"], range=list(COLORS[mode]))
    bars = base.mark_bar(height=15).encode(color=alt.Color("kind:N", scale=colors, legend=None))
    labels = base.mark_text(align="left", dx=4, fontSize=13, color=INK[mode]).encode(text="label:N")
    return (bars + labels).properties(
        width=260, height=20 * len(rows), title=alt.TitleParams(model["title"], anchor="start")
    )


if __name__ == "__main__":
    main()
