"""The gain of each workload, with its interval, and of the program as a whole."""

from __future__ import annotations

import altair as alt

from iree_tuner.report.charts.look import FAINT, VERDICTS, Drawing, Row, drawn, ratios, rows_high
from iree_tuner.report.data import Compared, RunReport

MOST = 30
WHOLE = "whole program"


def draw_gain(report: RunReport) -> Drawing | None:
    """A point and an interval for each comparison; 1 is the compiler's default."""
    rows = gain_rows(report)
    if not rows:
        return None
    verdicts = list(dict.fromkeys(str(row["verdict"]) for row in rows))
    # The scale holds 1, and is not so narrow that noise fills it.
    ends = [row[name] for row in rows for name in ("low", "high", "speedup")]
    numbers = [end for end in ends if isinstance(end, float)]
    base = alt.Chart(alt.NamedData("gain")).encode(
        y=alt.Y("what:N", sort=[str(row["what"]) for row in rows], title=None),
        color=alt.Color(
            "verdict:N",
            title=None,
            scale=alt.Scale(domain=verdicts, range=[VERDICTS.get(each, VERDICTS[""]) for each in verdicts]),
        ),
        tooltip=[
            alt.Tooltip("what:N"),
            alt.Tooltip("speedup:Q", format=".3f"),
            alt.Tooltip("low:Q", title="from", format=".3f"),
            alt.Tooltip("high:Q", title="to", format=".3f"),
            alt.Tooltip("verdict:N"),
            alt.Tooltip("share:Q", title="share of the run time", format=".1%"),
        ],
    )
    low, high = min(0.95, *numbers) / 1.02, max(1.05, *numbers) * 1.02
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(format="~g", values=ratios(low, high))
    x = alt.X("speedup:Q", scale=scale, title="speedup over the default", axis=axis)
    one = alt.Chart(alt.NamedData("one")).mark_rule(color=FAINT, strokeDash=[4, 3]).encode(x="one:Q")
    intervals = base.mark_rule(strokeWidth=3, opacity=0.45).encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    points = base.mark_point(filled=True, size=90, opacity=1).encode(x=x)
    chart = alt.layer(one, intervals, points).properties(height=rows_high(len(rows)))
    data = {"gain": rows, "one": [{"one": 1.0}]}
    return drawn(chart, data, "Speedup of each workload over the compiler's default, with its interval")


def gain_rows(report: RunReport) -> list[Row]:
    """The whole first, then workloads with a comparison by their share; those with the largest if many."""
    compared = [each for each in report.workloads if each.compared.speedup is not None][:MOST]
    found = [_row(each.label, each.compared, each.share) for each in compared]
    if report.whole is not None and report.whole.compared.speedup is not None:
        found.insert(0, _row(WHOLE, report.whole.compared, 1.0))
    return found


def _row(what: str, compared: Compared, share: float | None) -> Row:
    low, high = compared.interval or (compared.speedup, compared.speedup)
    return {
        "what": what, "speedup": compared.speedup, "low": low, "high": high,
        "verdict": compared.verdict or "tie", "share": share,
    }  # fmt: skip
