"""Tables and plots of what `search_curves.py` found."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- table:begin -->", "<!-- table:end -->"
TO_2, TO_10, AFTER_16 = "evaluations_to_2_percent", "evaluations_to_10_percent", "share_after_16"
BASELINE = "shuffle"
TARGETS = {"cpu": "CPU", "gpu": "GPU"}

Results = Mapping[str, Any]
Row = Mapping[str, Any]


def write_tables(results: Results, document: Path) -> None:
    """Replace what stands between the markers. Raises SystemExit where there are none."""
    text = document.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"error: {document}: no {BEGIN} and {END}")
    document.write_text(f"{before}{BEGIN}\n\n{tables(results)}\n{END}{after}", encoding="utf-8")


def tables(results: Results) -> str:
    """What all recordings amount to, and those of each target."""
    return f"{overall(results)}\n{targets(results)}"


def targets(results: Results) -> str:
    """One row a target: medians over its recordings of evaluations to 2 %."""
    names: Sequence[str] = results["strategies"]
    lines = [["target", "recordings", *(bold(name, results) for name in names), "ratio"]]
    for target, rows in by_target(results).items():
        cells = [count(median(rows, name, TO_2)) for name in names]
        told = of_medians(rows, results["default"])
        lines.append([f"{TARGETS.get(target, target)}: {machines(rows)}", str(len(rows)), *cells, told])
    return markdown(lines)


def details(results: Results) -> str:
    """A table a target, with a row a recording: too much for a page."""
    parts = by_target(results).items()
    return "\n".join(
        f"### {TARGETS.get(name, name)}: {machines(rows)}\n\n{table(results, rows)}" for name, rows in parts
    )


def machines(rows: Sequence[Row]) -> str:
    """Where recordings were made."""
    return ", ".join(sorted({row["machine"] or "a machine without a name" for row in rows}))


def overall(results: Results) -> str:
    """One row a strategy, over all recordings."""
    rows, budget = results["recordings"], results["budget"]
    head = [
        "strategy",
        "seeds",
        "to 2 %",
        "to 10 %",
        "share at 16",
        "10 % at 16",
        f"{BASELINE} / it",
        "least",
    ]
    lines = [head]
    for name in results["strategies"]:
        near = sum((cell(row, name, TO_10) or 1e9) <= 16 for row in rows)
        lines.append(
            [
                bold(name, results),
                str(results["seeds"][name]),
                count(median(rows, name, TO_2)),
                count(median(rows, name, TO_10)),
                f"{median(rows, name, AFTER_16):.1%}",
                f"{near} of {len(rows)}",
                of_medians(rows, name),
                least(rows, name, budget),
            ]
        )
    return (
        f"Medians over {len(rows)} recordings of medians over seeds, {results['batch']} candidates at a "
        f"time,\nat most {budget} evaluations:\n\n{markdown(lines)}"
    )


def table(results: Results, rows: Sequence[Row]) -> str:
    """One row a recording: evaluations to 2 % for each strategy, and how much sooner the default is there."""
    names: Sequence[str] = results["strategies"]
    default, budget = results["default"], results["budget"]
    lines = [["recording", "of", *(bold(name, results) for name in names), "ratio"]]
    for row in rows:
        cells = [count(cell(row, name, TO_2)) for name in names]
        lines.append([short(row["recording"]), str(row["members"]), *cells, told_ratio(row, default, budget)])
    medians = [count(median(rows, name, TO_2)) for name in names]
    lines.append(["**median**", "", *medians, of_medians(rows, default)])
    return markdown(lines)


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """The first line is the head; all columns but the first are numbers."""
    head, *rest = (f"| {' | '.join(cells)} |" for cells in lines)
    rule = f"|---|{'---:|' * (len(lines[0]) - 1)}"
    return "\n".join([head, rule, *rest]) + "\n"


def by_target(results: Results) -> dict[str, list[Row]]:
    """Recordings by target."""
    found: dict[str, list[Row]] = {}
    for row in results["recordings"]:
        found.setdefault(row["target"], []).append(row)
    return found


def cell(row: Row, strategy: str, key: str) -> float | None:
    """A median of a recording; None where half of the runs never came so far."""
    return row["strategies"][strategy][key]


def median(rows: Sequence[Row], strategy: str, key: str) -> float:
    """Over recordings; what never came counts as infinite."""
    values = (cell(row, strategy, key) for row in rows)
    return statistics.median(float("inf") if value is None else value for value in values)


def compared(row: Row, strategy: str) -> bool:
    """Whether both shuffle and the strategy were run, so that there is a ratio."""
    return {BASELINE, strategy} <= row["strategies"].keys()


def ratio(row: Row, strategy: str, budget: int) -> float:
    """Shuffle's evaluations to 2 % by the strategy's; the budget stands for what never came so far."""
    return (cell(row, BASELINE, TO_2) or budget) / (cell(row, strategy, TO_2) or budget)


def told_ratio(row: Row, strategy: str, budget: int) -> str:
    """The ratio, with a sign where it is only a bound."""
    if not compared(row, strategy):
        return "-"
    never = [cell(row, name, TO_2) is None for name in (BASELINE, strategy)]
    sign = "" if not any(never) else "> " if never[0] else "< "
    return "-" if all(never) else f"{sign}{ratio(row, strategy, budget):.1f}"


def least(rows: Sequence[Row], strategy: str, budget: int) -> str:
    """The ratio of the recording where the strategy gains least."""
    ratios = [ratio(row, strategy, budget) for row in rows if compared(row, strategy)]
    return f"{min(ratios):.1f}" if ratios else "-"


def of_medians(rows: Sequence[Row], strategy: str) -> str:
    """The ratio of the medians over recordings."""
    if not all(compared(row, strategy) for row in rows):
        return "-"
    baseline, own = median(rows, BASELINE, TO_2), median(rows, strategy, TO_2)
    return "-" if float("inf") in (baseline, own) else f"{baseline / own:.1f}"


def count(value: float | None) -> str:
    """A number of evaluations."""
    return "-" if value is None or value == float("inf") else f"{value:g}"


def bold(name: str, results: Results) -> str:
    """The default stands out."""
    return f"**{name}**" if name == results["default"] else name


def short(name: str) -> str:
    """A recording's name with equal types said once, and nothing that breaks a table."""
    name, _, chip = name.replace("|", "/").partition(".")
    kinds = re.search(r"(?:_(?:[a-z]*f\d+\w*?|i\d+))+$", name)
    parts = list(dict.fromkeys(kinds.group().strip("_").split("_"))) if kinds else []
    base = name[: kinds.start()] if kinds else name
    return " ".join([base, *parts, *([f"({chip})"] if chip else [])])


def draw(results: Results, folder: Path) -> None:
    """Plots as SVG: a curve a strategy for each target, and how soon each was near the best."""
    from looks import save

    for target in by_target(results):
        save(target, partial(curves, results, target), folder)
    save("evaluations", partial(strip, results), folder)


def curves(results: Results, target: str, mode: str) -> Any:  # noqa: ANN401
    """Share of the best against evaluations, medians over recordings; over seeds, the default's quartiles."""
    del mode
    import altair as alt

    points = [
        {"strategy": curve["strategy"], "after": after, "share": share, "low": low, "high": high}
        for curve in results["curves"]
        if curve["target"] == target
        for after, share, low, high in zip(
            curve["after"], curve["median"], curve["low"], curve["high"], strict=True
        )
    ]
    number = next(curve["recordings"] for curve in results["curves"] if curve["target"] == target)
    base = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X(
            "after:Q",
            scale=alt.Scale(type="log", base=2),
            axis=alt.Axis(values=[1, 2, 4, 8, 16, 32, 64, 128, 256]),
            title="evaluations",
        ),
        color=color(results),
    )
    is_default = f"datum.strategy == '{results['default']}'"
    band = (
        base.transform_filter(is_default)
        .mark_area(opacity=0.15)
        .encode(y=alt.Y("low:Q", title="share of the best"), y2="high:Q")
    )
    line = base.mark_line(point=alt.OverlayMarkDef(size=18)).encode(
        y=alt.Y("share:Q", title="share of the best", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False)),
        strokeWidth=alt.condition(is_default, alt.value(3.5), alt.value(1.5)),
    )
    title = f"{TARGETS.get(target, target)}: median of {number} recordings"
    return (band + line).properties(width=640, height=360, title=title)


def strip(results: Results, mode: str) -> Any:  # noqa: ANN401
    """Evaluations to 2 %: a mark a recording, a line a strategy."""
    import altair as alt
    from looks import INK

    beyond = 2 * results["budget"]
    points = [
        {
            "strategy": name,
            "evaluations": cell(row, name, TO_2) or beyond,
            "target": TARGETS.get(row["target"], row["target"]),
            "recording": row["recording"],
        }
        for row in results["recordings"]
        for name in results["strategies"]
    ]
    order = sorted(results["strategies"], key=lambda name: (median(results["recordings"], name, TO_2), name))
    base = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X(
            "evaluations:Q",
            scale=alt.Scale(type="log", base=2),
            axis=alt.Axis(values=[1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
            title=f"evaluations to 2 % (at {beyond}: not within {results['budget']})",
        ),
        y=alt.Y("strategy:N", sort=order, title=None),
    )
    marks = base.mark_point(filled=True, size=50, opacity=0.6).encode(
        color=alt.Color("target:N", title=None), shape=alt.Shape("target:N", title=None)
    )
    middles = base.mark_tick(color=INK[mode], thickness=2, size=22).encode(x="median(evaluations):Q")
    title = "each mark a recording (median over seeds), the bar their median"
    return (marks + middles).properties(width=640, height=26 * len(order), title=title)


def color(results: Results) -> Any:  # noqa: ANN401
    """One color a strategy, the same in all plots."""
    import altair as alt

    return alt.Color(
        "strategy:N",
        title=None,
        scale=alt.Scale(domain=list(results["strategies"]), scheme="tableau10"),
        legend=alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1),
    )
