"""Where the time goes: the parts of the program, before and after."""

from __future__ import annotations

import altair as alt

from iree_tuner.report.charts.look import Drawing, Row, by_time, drawn, rows_high
from iree_tuner.report.view import RunReport, TimeProfile

MOST = 14
"""Parts with a bar of their own."""

REST, OTHERS = "unexplained", "other parts"


def draw_profile(report: RunReport) -> Drawing | None:
    """A bar a part and a time."""
    rows = profile_rows(report)
    if not rows:
        return None
    order = list(dict.fromkeys(str(row["part"]) for row in rows))
    when = list(dict.fromkeys(str(row["when"]) for row in rows))
    chart = (
        alt.Chart(alt.NamedData("profile"), height=rows_high(len(order)) * (1.25 if len(when) > 1 else 1.0))
        .mark_bar(cornerRadiusEnd=2)
        .encode(
            x=alt.X("time:Q", title="µs per invocation"),
            y=alt.Y("part:N", sort=order, title=None),
            yOffset=alt.YOffset("when:N", sort=when),
            color=by_time(rows),
            tooltip=[
                "part:N", "when:N", alt.Tooltip("time:Q", title="µs", format=",.1f"),
                alt.Tooltip("share:Q", format=".1%"), "calls:Q",
            ],
        )
    )  # fmt: skip
    return drawn(chart, {"profile": rows}, "Time of each part of the program, before and after tuning")


def profile_rows(report: RunReport) -> list[Row]:
    """Parts in the order of their time before; the small ones together; what no part explains last."""
    largest: dict[str, float] = {}
    for profile in reversed(report.profiles):  # the order is that of the first
        largest |= {each.label: each.time_us for each in profile.slices}
    shown = sorted(largest, key=lambda label: -largest[label])[:MOST]
    return [row for profile in report.profiles for row in _rows(profile, shown)]


def _rows(profile: TimeProfile, shown: list[str]) -> list[Row]:
    by_label = {each.label: each for each in profile.slices}
    whole_us = profile.whole_us or profile.explained_us
    found: list[Row] = []

    def add(part: str, time_us: float, calls: int | None = None) -> None:
        share = time_us / whole_us if whole_us else None
        found.append({"part": part, "when": profile.when, "time": time_us, "share": share, "calls": calls})

    for label in shown:
        if label in by_label:
            add(label, by_label[label].time_us, by_label[label].calls)
    small = [each for each in profile.slices if each.label not in shown]
    if small:
        add(f"{OTHERS}", sum(each.time_us for each in small))
    if profile.rest_us is not None and profile.rest_us > 0 and found:
        add(REST, profile.rest_us)
    return found
