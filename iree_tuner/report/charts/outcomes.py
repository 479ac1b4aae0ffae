"""How candidates ended, by workload."""

from __future__ import annotations

import altair as alt

from iree_tuner.report.charts.look import Drawing, Row, drawn, rows_high
from iree_tuner.report.data import RunReport

MOST = 30

_COLORS = {
    "ok": "#1f7ae0", "too_slow": "#9fc4f2", "not_applied": "#c9a100", "compile_error": "#e0762a",
    "compile_timeout": "#f0b07f", "compile_crash": "#a8480b", "run_error": "#b64fc0",
    "run_timeout": "#d9a5de", "run_crash": "#7d2488", "wrong_result": "#cf3f4f",
}  # fmt: skip
"""Blue for `ok`, orange for the compiler's failures, purple for the device's, red for wrong results."""


def draw_outcomes(report: RunReport) -> Drawing | None:
    """A bar a workload, with a piece for each way to end."""
    rows = outcome_rows(report)
    if not rows:
        return None
    there = {str(row["outcome"]) for row in rows}
    known = [each for each in _COLORS if each in there]
    domain = [*known, *sorted(there - set(known))]
    chart = (
        alt.Chart(alt.NamedData("outcomes"), height=rows_high(len({row["workload"] for row in rows})))
        .mark_bar()
        .encode(
            x=alt.X("count:Q", title="candidates", axis=alt.Axis(format="d", tickMinStep=1)),
            y=alt.Y("workload:N", sort=list(dict.fromkeys(str(row["workload"]) for row in rows)), title=None),
            color=alt.Color(
                "outcome:N",
                title=None,
                scale=alt.Scale(domain=domain, range=[_COLORS.get(each, "#777777") for each in domain]),
            ),
            order=alt.Order("place:Q"),
            tooltip=["workload:N", "outcome:N", "count:Q"],
        )
    )
    return drawn(chart, {"outcomes": rows}, "The number of candidates by outcome, for each workload")


def outcome_rows(report: RunReport) -> list[Row]:
    """Workloads with any, by their share; those with the largest if many."""
    places = {name: place for place, name in enumerate(_COLORS)}
    return [
        {
            "workload": part.label,
            "outcome": outcome,
            "count": number,
            "place": places.get(outcome, len(places)),
        }
        for part in [each for each in report.workloads if each.outcomes][:MOST]
        for outcome, number in part.outcomes.items()
    ]
