"""Where the time of a run went: its stages, and when each worker was busy."""

from __future__ import annotations

import altair as alt

from iree_tuner.report.charts.look import OTHERS, SERIES, Drawing, Row, drawn, rows_high
from iree_tuner.report.data import RunReport

STAGE, BUSY = "stages", "busy"
MOST = 24
"""Workers."""


def draw_timeline(report: RunReport) -> Drawing | None:
    """A row with the stages, and one for each worker."""
    rows = timeline_rows(report)
    if not rows:
        return None
    names = list(dict.fromkeys(str(row["what"]) for row in rows if row["what"] != BUSY))
    colors = [SERIES[place % len(SERIES)] for place in range(len(names))]
    lanes = list(dict.fromkeys(str(row["lane"]) for row in rows))
    chart = (
        alt.Chart(alt.NamedData("timeline"), height=rows_high(len(lanes)))
        .mark_bar()
        .encode(
            x=alt.X("begin:Q", title="seconds since the run began"),
            x2="end:Q",
            y=alt.Y("lane:N", sort=lanes, title=None),
            color=alt.Color(
                "what:N", title=None, scale=alt.Scale(domain=[*names, BUSY], range=[*colors, OTHERS])
            ),
            tooltip=[
                "lane:N", "what:N", alt.Tooltip("begin:Q", format=".1f"), alt.Tooltip("end:Q", format=".1f")
            ],
        )
    )  # fmt: skip
    return drawn(chart, {"timeline": rows}, "The stages of the run over time, and when each worker was busy")


def timeline_rows(report: RunReport) -> list[Row]:
    """Stages first."""
    time = report.time
    workers = list(dict.fromkeys(each.name for each in time.busy))[:MOST]
    found = [{"lane": STAGE, "what": each.name, "begin": each.begin, "end": each.end} for each in time.stages]
    found += [
        {"lane": each.name, "what": BUSY, "begin": each.begin, "end": each.end}
        for worker in workers
        for each in time.busy
        if each.name == worker
    ]
    return list(found)
