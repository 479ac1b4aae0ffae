"""Draw the times of whole models, before and after tuning and in other runtimes, for light and dark pages.

    python scripts/results_chart.py

Reads benchmarks/results/cpu_models.json and gpu_models.json.
Writes docs/pictures/results-{cpu,gpu}-{light,dark}.svg.
Needs the extra `report`.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import altair as alt
from looks import AFTER, BEFORE, FAINT, INK, ROOT, save, title

RESULTS = ROOT / "benchmarks" / "results"
OURS = ("IREE", "IREE, tuned")


def main() -> None:
    """Draw both charts in both colors."""
    cpu = json.loads((RESULTS / "cpu_models.json").read_text(encoding="utf-8"))
    gpu = json.loads((RESULTS / "gpu_models.json").read_text(encoding="utf-8"))
    made = f"{cpu['device']}, {cpu['date']}, commit {cpu['commit']}"
    runs = (f"{each['device'].split()[0]} {each['date']} ({each['commit']})" for each in gpu["models"])
    save("results-cpu", partial(chart, cpu["models"], made))
    save("results-gpu", partial(chart, gpu["models"], ", ".join(runs)))


def chart(models: list[dict[str, Any]], made: str, mode: str) -> alt.ConcatChart:
    """A panel for each model, with a bar for each runtime."""
    panels = [panel(each, mode) for each in models]
    heading = title("Time of one call in ms (shorter is faster)", made)
    return alt.concat(*panels, columns=2, spacing={"row": 22, "column": 30}).properties(title=heading)


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
        y=alt.Y(
            "runtime:N",
            sort=list(times),
            title=None,
            axis=alt.Axis(domain=False, ticks=False, grid=False),
        ),
        x=alt.X("ms:Q", axis=None, scale=alt.Scale(domain=[0, max(times.values()) * 1.4])),
    )
    colors = alt.Scale(domain=[*OURS, "others"], range=[BEFORE[mode], AFTER[mode], FAINT[mode]])
    bars = base.mark_bar(height=15).encode(color=alt.Color("kind:N", scale=colors, legend=None))
    labels = base.mark_text(align="left", dx=4, fontSize=13, color=INK[mode]).encode(text="label:N")
    return (bars + labels).properties(
        width=260, height=20 * len(rows), title=alt.TitleParams(model["title"], anchor="start")
    )


if __name__ == "__main__":
    main()
