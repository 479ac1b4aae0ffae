"""Draw the figures of the pages from data in the repository, for light and dark pages.

    python scripts/figures.py                    # all
    python scripts/figures.py dispatches cluster # some

Writes docs/pictures/NAME-{light,dark}.svg. `results_chart.py` draws the whole models, and
`search_curves.py --redraw` the strategies. Needs the extra `report`, and
`pip install ./benchmarks/strategies`.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import altair as alt
from flow import pipeline
from looks import AFTER, BEFORE, FAINT, INK, MODES, ROOT, save, title, write

RESULTS = ROOT / "benchmarks" / "results"
RECORDING = "recordings/llvm-cpu/zen5/matmul_512x768x1024_f32_f32_f32.jsonl.gz"
SHOWN = ("shuffle", "local", "annealing", "model")
SEEDS = 20
LINE_COLORS = {
    "light": ["#6e7781", "#bf8700", "#8250df", "#0969da"],
    "dark": ["#8b949e", "#d29922", "#a371f7", "#4493f8"],
}
H200_F16 = {"tflops": 989.5, "tbytes_per_s": 4.8}
"""As in iree_tuner/profiling/datasheets.json."""


def main() -> None:
    """Draw what is named, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FIGURES))
    names = parser.parse_args().names or list(FIGURES)
    if unknown := set(names) - set(FIGURES):
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    for name in names:
        FIGURES[name](name)


def draw_pipeline(name: str) -> None:
    """Write the way of the data, which is drawn without a chart library."""
    for mode in MODES:
        write(name, mode, pipeline(INK[mode], AFTER[mode], FAINT[mode]))


def converging(mode: str) -> alt.LayerChart:
    """The best time so far of four strategies on one recording, medians over seeds."""
    rows, default = replayed()
    axis = alt.Axis(values=[1, 2, 4, 8, 16, 32, 64, 128])
    colors = alt.Scale(domain=list(SHOWN), range=LINE_COLORS[mode])
    lines = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=2.5)
        .encode(
            x=alt.X("trials:Q", scale=alt.Scale(type="log", base=2), axis=axis, title="trials"),
            y=alt.Y(
                "time:Q", scale=alt.Scale(type="log", domain=[0.9, 100], nice=False),
                axis=alt.Axis(values=[1, 2, 5, 10, 20, 50, 100]),
                title="best time so far, of the best recorded",
            ),
            color=alt.Color("strategy:N", scale=colors, title=None),
        )
    )  # fmt: skip
    rule = alt.Chart(alt.Data(values=[{"time": default, "label": "the compiler's default"}]))
    line = rule.mark_rule(strokeDash=[6, 4], color=INK[mode]).encode(y="time:Q")
    text = rule.mark_text(align="right", x=556, dy=-9, fontSize=13, color=INK[mode])
    heading = title(
        "A search converging: matmul 512x768x1024 f32 on two Zen 5 cores",
        f"replayed on a recording, medians over {SEEDS} seeds, no priors",
    )
    return (lines + line + text.encode(y="time:Q", text="label:N")).properties(
        width=560, height=300, title=heading
    )


@cache
def replayed() -> tuple[list[dict[str, Any]], float]:
    """Curves of `iree-tuner db replay`, and the default's time: multiples of the best recorded time."""
    command = [sys.executable, "-m", "iree_tuner", "db", "replay", RECORDING, "--seeds", str(SEEDS)]
    command += ["--budget", "128", "--json", *(f"--strategy={name}" for name in SHOWN)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    runs = [found for found in map(json.loads, done.stdout.splitlines()) if "best_after" in found]
    rows = [
        {"strategy": name, "trials": place + 1, "time": statistics.median(times)}
        for name in SHOWN
        for place, times in enumerate(zip(*curves_of(runs, name), strict=True))
    ]
    known = json.loads((ROOT / "docs" / "search" / "results.json").read_text(encoding="utf-8"))
    (own,) = (row for row in known["recordings"] if row["recording"] in RECORDING and row["target"] == "cpu")
    return rows, 1 / own["default_share"]


def curves_of(runs: list[dict[str, Any]], strategy: str) -> list[list[float]]:
    """The curve of each seed."""
    return [run["best_after"] for run in runs if run["strategy"] == strategy]


def layers() -> list[dict[str, Any]]:
    """The rows of the layers that were tuned on an H200."""
    lines = (RESULTS / "h200_layers.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if "workload" in row and row.get("speedup")]


def dispatches(mode: str) -> alt.LayerChart:
    """The speedup of each layer, with its interval."""
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for row in layers():
        key = (MODELS[row["run"].split("_")[0]], row["workload"])
        best[key] = max(best.get(key, row), row, key=lambda each: each["speedup"])
    rows = [
        {"layer": f"{model}: {shape(name)}", "speedup": row["speedup"], "low": row["interval"][0],
         "high": row["interval"][1]}
        for (model, name), row in best.items()
    ]  # fmt: skip
    rows.sort(key=lambda row: -row["speedup"])
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("layer:N", sort=None, title=None, axis=alt.Axis(labelLimit=420, grid=False))
    )
    bars = base.mark_bar(color=AFTER[mode], height=11).encode(
        x=alt.X(
            "speedup:Q",
            title="times as fast as the compiler's default",
            scale=alt.Scale(domain=[1, 3], clamp=True),
        ),
        x2=alt.datum(1),
    )
    intervals = base.mark_rule(color=INK[mode]).encode(x="low:Q", x2="high:Q")
    heading = title("Layers of models on an H200", "each dispatch alone, with 98 % intervals; 2026-11-22")
    return (bars + intervals).properties(width=380, height=16 * len(rows), title=heading)


MODELS = {"llama": "Llama-3-8B", "sdxl": "SDXL", "bert": "BERT", "resnet50": "ResNet-50"}


def shape(workload: str) -> str:
    """A workload's name without its types."""
    return re.sub(r"(?:_[a-z]*f\d+|_i\d+)+$", "", workload).replace("_", " ")


def roofline(mode: str) -> alt.LayerChart:
    """Matrix products of the layers under the roof of an H200, before and after tuning."""
    rows: list[dict[str, Any]] = []
    for row in layers():
        found = re.fullmatch(r"(?:matmul|mmt)_(\d+)x(\d+)x(\d+)_f16_f16_f\d+", row["workload"])
        if found:
            m, n, k = map(int, found.groups())
            intensity = 2 * m * n * k / (2 * (m * k + k * n + m * n))
            times = {"default": row["default_us"], "tuned": row["time_us"]}
            rows += [
                {"layer": row["workload"], "version": version, "intensity": intensity,
                 "rate": 2 * m * n * k / us / 1e6}
                for version, us in times.items()
            ]  # fmt: skip
    x = alt.X(
        "intensity:Q", scale=alt.Scale(type="log", domain=[0.5, 5000]), title="operations for each byte"
    )
    y = alt.Y("rate:Q", scale=alt.Scale(type="log", domain=[1, 2000]), title="TFLOP/s")
    ends = [0.5, H200_F16["tflops"] / H200_F16["tbytes_per_s"], 5000]
    roof = [
        {"intensity": each, "rate": min(each * H200_F16["tbytes_per_s"], H200_F16["tflops"])} for each in ends
    ]
    line = alt.Chart(alt.Data(values=roof)).mark_line(color=INK[mode]).encode(x=x, y=y)
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
    ways = base.mark_line(color=FAINT[mode]).encode(detail="layer:N")
    colors = alt.Scale(domain=["default", "tuned"], range=[BEFORE[mode], AFTER[mode]])
    marks = base.mark_point(filled=True, size=55, opacity=0.9).encode(
        color=alt.Color("version:N", scale=colors, title=None)
    )
    heading = title(
        "f16 matrix products of models on an H200, before and after tuning",
        "roof: data sheet, 989.5 TFLOP/s and 4.8 TB/s; bytes: operands and an f16 result once",
    )
    return (line + ways + marks).properties(width=560, height=320, title=heading)


def cluster(mode: str) -> alt.LayerChart:
    """Candidates an hour against hosts."""
    found = json.loads((RESULTS / "cluster_scale.json").read_text(encoding="utf-8"))
    rows = [row | {"kind": f"{row['device_ms']} ms on the device"} for row in found["rows"]]
    ideal = [row | {"candidates_an_hour": row["candidates_an_hour"] / row["efficiency"]} for row in rows]
    x = alt.X("hosts:Q", scale=alt.Scale(type="log", base=2), title="hosts, each with one device",
              axis=alt.Axis(values=[1, 4, 16, 64, 256]))  # fmt: skip
    y = alt.Y("candidates_an_hour:Q", scale=alt.Scale(type="log"), title="candidates an hour",
              axis=alt.Axis(format="~s"))  # fmt: skip
    color = alt.Color("kind:N", title=None, scale=alt.Scale(range=[AFTER[mode], LINE_COLORS[mode][1]]))
    measured = (
        alt.Chart(alt.Data(values=rows)).mark_line(point=True, strokeWidth=2.5).encode(x=x, y=y, color=color)
    )
    perfect = alt.Chart(alt.Data(values=ideal)).mark_line(strokeDash=[4, 4]).encode(x=x, y=y, color=color)
    heading = title(
        "How far a cluster scales",
        "hosts simulated by timers on two cores; dashed: as many independent devices",
    )
    return (perfect + measured).properties(width=560, height=300, title=heading)


def charted(make: Callable[[str], Any]) -> Callable[[str], None]:
    """A figure that is a chart."""
    return lambda name: save(name, make)


FIGURES: dict[str, Callable[[str], None]] = {
    "pipeline": draw_pipeline,
    "converging": charted(converging),
    "dispatches": charted(dispatches),
    "roofline": charted(roofline),
    "cluster": charted(cluster),
}

if __name__ == "__main__":
    main()
