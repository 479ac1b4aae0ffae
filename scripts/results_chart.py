"""Draw the times of whole models, before and after tuning and in other runtimes, for light and dark pages.

    python scripts/results_chart.py

Reads benchmarks/results/cpu_models.json, and of h200_models.jsonl the last row of each model.
Writes docs/pictures/results-{cpu,gpu}-{light,dark}.svg.
Needs the extra `report`.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from textwrap import wrap
from typing import Any

import altair as alt
from looks import AFTER, BEFORE, FAINT, INK, ROOT, save, title

sys.path.insert(0, str(ROOT))

from examples.models import GPU_MODELS, MODELS

RESULTS = ROOT / "benchmarks" / "results"
OURS = {"IREE": "default", "IREE, tuned": "tuned", "IREE, tuned, memory provided": "tuned"}
FLIGHT = ", calls in flight"
TITLE = 44  # characters of a line of a panel's title
ON_CPU = {
    "IREE default": "IREE",
    "IREE tuned": "IREE, tuned",
    "XLA (jax.jit)": "XLA",
    "PyTorch compiled": "PyTorch, compiled",
}
"""Names in the rows, where the chart has shorter ones."""

ON_GPU = {
    "tuned": "IREE, tuned",
    "tuned, memory provided": "IREE, tuned, memory provided",
    "PyTorch": "PyTorch",
    "PyTorch compiled": "PyTorch, compiled",
    "PyTorch, CUDA graph": "PyTorch, CUDA graph",
    "PyTorch compiled, max-autotune": "PyTorch, max-autotune",
}
"""Names in the rows, and in the chart."""


def main() -> None:
    """Draw both charts in both colors."""
    cpu = json.loads((RESULTS / "cpu_models.json").read_text(encoding="utf-8"))
    lines = (RESULTS / "h200_models.jsonl").read_text(encoding="utf-8").splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    latest = {row["model"]: row for row in rows if row.get("median_us") and row["model"] in GPU_MODELS}
    commits = " and ".join(dict.fromkeys(row["commit"] for row in latest.values()))
    gpu = [on_gpu(row) for row in latest.values()]
    about = cpu["about"]
    made = f"{len(about['cores'])} cores of an {about['cpu']}, {about['started']}, commit {about['commit']}"
    models = dict.fromkeys(row["model"] for row in cpu["rows"])
    save("results-cpu", partial(chart, [on_cpu(cpu["rows"], each) for each in models], made))
    save("results-gpu", partial(chart, gpu, f"H200, f16, calls in flight, commit {commits}"))


def on_cpu(rows: list[dict[str, Any]], model: str) -> dict[str, Any]:
    """A model for `chart`, from the rows of `benchmarks/models.py`."""
    own = {row["contender"]: row for row in rows if row["model"] == model and row["ms"] is not None}
    return {
        "title": MODELS[model].summary,
        "median_ms": {ON_CPU.get(name, name): float(f"{row['ms']:.3g}") for name, row in own.items()},
        "gain": own["IREE tuned"]["speedup"],
    }


def on_gpu(row: dict[str, Any]) -> dict[str, Any]:
    """A model for `chart`. The default takes up to 400 times as long, so it stands in the title."""
    times: dict[str, float] = row["median_us"]
    default = times[f"default{FLIGHT}"] / 1e3
    wrong = (
        ", wrong"
        if any(name.startswith("default") for name in row.get("problem", "").split(": ")[1:])
        else ""
    )
    return {
        "title": f"{row['model']} (IREE's default: {default:.3g} ms{wrong})",
        "median_ms": {
            shown: round(times[name + FLIGHT] / 1e3, 3)
            for name, shown in ON_GPU.items()
            if name + FLIGHT in times
        },
    }


def chart(models: list[dict[str, Any]], made: str, mode: str) -> alt.ConcatChart:
    """A panel for each model, with a bar for each runtime."""
    panels = [panel(each, mode) for each in models]
    heading = title("Time of one call in ms (shorter is faster)", made)
    return alt.concat(*panels, columns=2, spacing={"row": 22, "column": 30}).properties(title=heading)


def panel(model: dict[str, Any], mode: str) -> alt.LayerChart:
    """The bars of a model."""
    times: dict[str, float] = model["median_ms"]
    rows = [
        {"runtime": name, "ms": ms, "label": f"{ms:g}", "kind": OURS.get(name, "others")}
        for name, ms in times.items()
    ]
    if "gain" in model:
        rows[1]["label"] += f"  ({model['gain']:.2f}x)"
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y(
            "runtime:N",
            sort=list(times),
            title=None,
            axis=alt.Axis(domain=False, ticks=False, grid=False),
        ),
        x=alt.X("ms:Q", axis=None, scale=alt.Scale(domain=[0, max(times.values()) * 1.4])),
    )
    colors = alt.Scale(domain=["default", "tuned", "others"], range=[BEFORE[mode], AFTER[mode], FAINT[mode]])
    bars = base.mark_bar(height=15).encode(color=alt.Color("kind:N", scale=colors, legend=None))
    labels = base.mark_text(align="left", dx=4, fontSize=13, color=INK[mode]).encode(text="label:N")
    lines = wrap(model["title"], TITLE)
    return (bars + labels).properties(
        width=260, height=20 * len(rows), title=alt.TitleParams(lines, anchor="start")
    )


if __name__ == "__main__":
    main()
