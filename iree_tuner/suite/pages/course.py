"""The pages of a history and of the changes between two runs.

A history has small charts: the course of an operation's times over runs, with a line for each back end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

import altair as alt

from iree_tuner.errors import TunerError
from iree_tuner.report.charts import look
from iree_tuner.report.charts.look import BEFORE, FAINT, OTHERS, SERIES, Drawing, drawn, ratios
from iree_tuner.report.numbers import day, positive
from iree_tuner.report.page import check_installed, filled
from iree_tuner.suite.backends.backend import Conditions
from iree_tuner.suite.changes import ALIKE, VERDICTS, WORTH, Change, Spreads, cautions, changes, counts
from iree_tuner.suite.pages.together import (
    BASE,
    Gain,
    conditions_words,
    device_words,
    draw_ratios,
    facts_words,
    gain_of,
    labels_of,
)
from iree_tuner.suite.results import History, Results

# Colors of contenders: the same in all charts of a page.


def color_of(contender: str, all_: Sequence[str]) -> str:
    """Grey for IREE's default, and for contenders beyond the last color."""
    place = [each for each in all_ if each != BASE].index(contender) if contender != BASE else -1
    return BEFORE if contender == BASE else SERIES[place] if place < len(SERIES) else OTHERS


def colored(shown: Sequence[str], all_: Sequence[str]) -> alt.Color:
    """The encoding of `contender`, with a legend of the shown ones."""
    return look.colored("contender:N", {each: color_of(each, all_) for each in shown})


_HEIGHT_PX = 130
_DAY = len("2025-01-31")


@dataclass(frozen=True)
class Point:
    """A row of a run."""

    place: int  # of the run among the shown ones, from 0 on
    time_us: float
    ratio: float  # speedup over the first run that timed it


Lines = Mapping[str, Sequence[Point]]
"""Points by back end (and configuration), oldest first."""


def lines_of(runs: Sequence[Results], device: str) -> Mapping[str, Lines]:
    """The lines of each operation on a device (by its URI and name, as `device_words` has them)."""
    found: dict[str, dict[str, list[Point]]] = {}
    for place, run in enumerate(runs):
        for row in run.rows:
            time_us = positive(row.time_us)
            named = device_words(row.device, row.device_name)
            if named == device and row.state == "ok" and time_us is not None:
                # The back end, and its configuration if there are several.
                plain = row.configuration in ("", "default", "spec")
                series = row.backend if plain else f"{row.backend} {row.configuration}"
                line = found.setdefault(row.operation, {}).setdefault(series, [])
                first_us = line[0].time_us if line else time_us
                line.append(Point(place, time_us, first_us / time_us))
    return found


def draw_course(operation: str, lines: Lines, runs: Sequence[Results], all_: Sequence[str]) -> Drawing:
    """A line for each back end, relative to its first run.

    Args:
        operation: of the lines, for readers who cannot see the chart.
        lines: at least one.
        runs: the shown ones.
        all_: lines of the page, for their colors.
    """
    rows = [
        {
            "line": name, "place": each.place, "ratio": round(each.ratio, 5), "time": round(each.time_us, 4),
            "commit": facts.commit[:12] or "not known", "compiler": facts.compiler or "not known",
            "day": day(facts.started),
        }
        for name, points in lines.items() for each in points if (facts := runs[each.place].facts)
    ]  # fmt: skip
    shown = [each for each in all_ if each in lines]
    found = [float(str(row["ratio"])) for row in rows]
    low, high = min(0.9, *found) / 1.02, max(1.1, *found) * 1.02
    last = max(1, len(runs) - 1)
    days = json.dumps([day(each.facts.started)[:_DAY] for each in runs])
    base = alt.Chart(alt.NamedData("course")).encode(
        x=alt.X("place:Q", title=None, scale=alt.Scale(domain=[-0.02 * last, 1.02 * last], nice=False),
                axis=alt.Axis(values=sorted({0, len(runs) - 1}), grid=False,
                              labelExpr=f"{days}[datum.value]")),
        y=alt.Y("ratio:Q", title=None, scale=alt.Scale(type="log", domain=[low, high], nice=False),
                axis=alt.Axis(format="~g", values=_few(ratios(low, high)))),
        color=alt.Color("line:N", legend=None,
                        scale=alt.Scale(domain=shown, range=[color_of(each, all_) for each in shown])),
        tooltip=[
            alt.Tooltip("line:N", title="back end"),
            alt.Tooltip("ratio:Q", title="speedup over the first run", format=".3f"),
            alt.Tooltip("time:Q", title="µs", format=",.4~g"), alt.Tooltip("commit:N"),
            alt.Tooltip("compiler:N"), alt.Tooltip("day:N", title="started"),
        ],
    )  # fmt: skip
    compilers = alt.Chart(alt.NamedData("compilers"))
    marks = compilers.mark_rule(color=FAINT, strokeDash=[2, 3]).encode(x="place:Q")
    one = alt.Chart(alt.NamedData("one")).mark_rule(color=FAINT, opacity=0.6).encode(y="one:Q")
    lines_ = base.mark_line(strokeWidth=1.5, point=alt.OverlayMarkDef(size=18))
    chart = alt.layer(one, marks, lines_).properties(height=_HEIGHT_PX)
    names = [each.facts.compiler for each in runs]
    changed = [{"place": at - 0.5} for at in range(1, len(runs)) if names[at] != names[at - 1]]
    data = {"course": rows, "compilers": changed, "one": [{"one": 1.0}]}
    return drawn(chart, data, f"Speedup of {operation} over the first run, by back end")


def _few(marks: Sequence[float]) -> list[float]:
    """Some of them, with 1, for small charts."""
    step = -(-len(marks) // 4)
    first = marks.index(1.0) % step if 1.0 in marks else 0
    return list(marks[first::step])


# The page of a history: how operations' times changed from run to run.


MOST = 120
"""Runs; of more, the last ones are shown."""


@dataclass(frozen=True)
class Course:
    """An operation's chart; `lines` are its data."""

    operation: str
    label: str
    lines: Lines
    drawing: Drawing


@dataclass(frozen=True)
class ComparableRuns:
    """Runs whose times can be compared: on one device, under the same conditions."""

    device: str  # its name, and its URI
    conditions: tuple[tuple[str, str], ...]  # as names and values
    runs: tuple[Results, ...]  # oldest first
    left_out: int  # number of older runs, which are not shown
    # of each run: geometric mean of its rows' speedups over their first runs
    ratios: tuple[float | None, ...]
    courses: tuple[Course, ...]  # by operation
    colors: Mapping[str, str]  # of lines, for a legend


def history_page(history: History) -> str:
    """The page. Raises TunerError where a library for drawing is missing, or the history has no runs."""
    check_installed()
    if not history.results:
        raise TunerError("the history has no runs", location=str(history.path))
    return filled(
        "history.html.jinja", package="iree_tuner.suite.pages", name=history.path.name, note=history.note,
        runs=history.results, places=places(history),
    )  # fmt: skip


def places(history: History) -> tuple[ComparableRuns, ...]:
    """Of a history, the one with most runs first."""
    groups: dict[tuple[str, Conditions], list[Results]] = {}
    for run in history.results:
        for device in dict.fromkeys(device_words(row.device, row.device_name) for row in run.rows):
            groups.setdefault((device, run.facts.conditions), []).append(run)
    order = sorted(groups.items(), key=lambda group: -len(group[1]))
    return tuple(_place(device, conditions, runs) for (device, conditions), runs in order)


def _place(device: str, conditions: Conditions, runs: Sequence[Results]) -> ComparableRuns:
    shown = runs[-MOST:]
    lines = lines_of(shown, device)
    labels = labels_of(tuple(lines))
    all_ = tuple(dict.fromkeys(name for each in lines.values() for name in each))
    return ComparableRuns(
        device, conditions_words(conditions), tuple(shown), len(runs) - len(shown),
        _ratios(lines, len(shown)),
        tuple(Course(name, labels[name], each, draw_course(name, each, shown, all_))
              for name, each in lines.items()),
        {each: color_of(each, all_) for each in all_},
    )  # fmt: skip


def _ratios(lines: Mapping[str, Lines], runs: int) -> tuple[float | None, ...]:
    found: list[list[float]] = [[] for _ in range(runs)]
    for point in (each for by_name in lines.values() for points in by_name.values() for each in points):
        found[point.place].append(point.ratio)
    return tuple(geometric_mean(each) if each else None for each in found)


_WORDS = {
    "BROKEN": "broke", "FIXED": "were fixed", "SLOWER": "became slower", "FASTER": "became faster",
    "AMBIGUOUS": "are ambiguous", "NEW": "are new", "GONE": "are gone", "SAME": "are the same",
}  # fmt: skip


def changes_page(
    before: Results, after: Results, *, worth: float = WORTH, alike: float = ALIKE,
    spreads: Spreads | None = None,
) -> str:  # fmt: skip
    """Render the page. The arguments are those of `changes`.

    Raises TunerError if a library for charts is missing, or the runs have no row in common.
    """
    check_installed()
    found = changes(before, after, worth=worth, alike=alike, spreads=spreads)
    labels = labels_of(tuple(dict.fromkeys(each.key[0] for each in found)))
    devices = tuple(dict.fromkeys(each.key[3] for each in found))
    own = ([each for each in found if each.key[3] == device] for device in devices)
    charts = [
        (device_words(device, after.facts.devices.get(device, "")), draw_ratios(each, labels, worth))
        for device, each in zip(devices, own, strict=True)
    ]
    return filled(
        "changes.html.jinja", package="iree_tuner.suite.pages", before=before.facts, after=after.facts,
        headline=headline(found), counts=counts(found), cautions=cautions(before.facts, after.facts),
        summaries=summaries(found), charts=charts,
        several=len(devices) > 1, labels=labels, worth=worth,
        changes=sorted(found, key=lambda each: (VERDICTS.index(each.verdict), each.ratio or 0.0)),
        facts=[("before", facts_words(before.facts)), ("after", facts_words(after.facts))], alike=alike,
    )  # fmt: skip


def headline(found: Sequence[Change]) -> str:
    """Summarize the changes in one sentence."""
    parts = [f"{count} {_WORDS[each]}" for each, count in counts(found).items()]
    return f"Of {len(found)} rows, {', '.join(parts)}" if parts else "No row has a time in either run"


def summaries(found: Sequence[Change]) -> tuple[Gain, ...]:
    """Summarize each back end's rows that have times. A change of all rows is rarely due to the code."""
    groups: dict[tuple[str, str], list[Change]] = {}
    for each in found:
        if each.ratio is not None:
            groups.setdefault((each.key[1], each.key[3]), []).append(each)
    return tuple(
        gain_of(
            place,
            [(each.ratio or 1.0, each.verdict == "FASTER", each.verdict == "SLOWER") for each in group],
            sum(each.paired for each in group),
        )
        for place, group in groups.items()
    )
