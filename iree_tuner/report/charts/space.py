"""The space explored: knobs side by side, a line a candidate, colored by its time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import altair as alt

from iree_tuner.report.charts.look import FAST, HEIGHT_PX, LINES, SAME, SLOW, Drawing, Row, drawn
from iree_tuner.report.view import TrialPoint, WorkloadPart

BEST, REST, FAILED = 40, 80, 40
"""Lines at most: the best ones, and others and failures spread over the whole search."""

_TICKS = 12  # values of a knob that are written


@dataclass(frozen=True)
class Explored:
    """A chart of one space of one workload."""

    drawing: Drawing
    pipeline: str  # the space's label, where a workload has several
    shown: int  # how many candidates are drawn, of `tried`
    tried: int
    fixed: tuple[str, ...]  # knobs that had one value only


def draw_spaces(part: WorkloadPart) -> list[Explored]:
    """A chart for each space that has at least two candidates and two knobs that differ."""
    by_pipeline: dict[str, list[TrialPoint]] = {}
    for point in part.points:
        by_pipeline.setdefault(point.pipeline, []).append(point)
    return [found for name, points in by_pipeline.items() if (found := _explored(name, points)) is not None]


def _explored(pipeline: str, points: Sequence[TrialPoint]) -> Explored | None:
    shown = sampled(points)
    values = _values(shown)
    varied = [name for name, found in values.items() if len(found) > 1]
    if len(shown) < 2 or len(varied) < 2:
        return None
    fixed = tuple(f"{name} = {found[0]}" for name, found in values.items() if len(found) == 1)
    lines, ticks = list(_lines(shown, varied, values)), list(_ticks(varied, values))
    drawing = drawn(
        alt.layer(*_layers(shown, varied)).properties(height=HEIGHT_PX),
        {"lines": lines, "ticks": ticks},
        "Knobs as parallel axes. Each line is a candidate, colored by its time relative to the default",
    )
    return Explored(drawing, pipeline, len(shown), len(points), fixed)


def sampled(points: Sequence[TrialPoint]) -> list[TrialPoint]:
    """Points that are drawn, slowest first, so that the best lie on top."""
    ran = sorted((each for each in points if each.score is not None), key=_score)
    failed = [each for each in points if each.score is None]
    others = sorted(ran[BEST:], key=lambda each: each.order)
    chosen = [*ran[:BEST], *spread(others, REST)]
    return [*spread(failed, FAILED), *sorted(chosen, key=_score, reverse=True)]


def spread(points: Sequence[TrialPoint], most: int) -> list[TrialPoint]:
    """At most `most`, at equal distances."""
    if len(points) <= most:
        return list(points)
    return [points[place * len(points) // most] for place in range(most)]


def _score(point: TrialPoint) -> float:
    return point.score or 0.0


def _values(points: Sequence[TrialPoint]) -> dict[str, list[int]]:
    found: dict[str, set[int]] = {}
    for point in points:
        for name, value in point.knobs.items():
            found.setdefault(name, set()).add(value)
    return {name: sorted(taken) for name, taken in sorted(found.items())}


def _lines(
    points: Sequence[TrialPoint], varied: Sequence[str], values: dict[str, list[int]]
) -> Iterator[Row]:
    """A row a candidate: its position on each knob, from 0 to 1. Names are short, because there are many."""
    places = {name: {value: place for place, value in enumerate(values[name])} for name in varied}
    for line, point in enumerate(points):
        row: dict[str, object] = {"i": line, "o": point.outcome, "n": point.order}
        if point.score is not None:
            row |= {"s": round(point.score, 4), "t": round(point.time_us or 0.0, 3)}
        for index, name in enumerate(varied):
            if name in point.knobs:
                row[_field(index)] = round(places[name][point.knobs[name]] / (len(values[name]) - 1), 4)
        yield row


def _ticks(varied: Sequence[str], values: dict[str, list[int]]) -> Iterator[Row]:
    for index, name in enumerate(varied):
        last = len(values[name]) - 1
        step = -(-last // (_TICKS - 1))
        for place in sorted({*range(0, last + 1, step), last}):
            if place == last or last - place >= step:
                yield {"k": _field(index), "p": round(place / last, 4), "v": str(values[name][place])}


def _field(index: int) -> str:
    """A name that sorts like its number: lines connect the fields in this order."""
    return f"k{index:03}"


def _layers(points: Sequence[TrialPoint], varied: Sequence[str]) -> tuple[alt.Chart, ...]:
    fields = [_field(index) for index in range(len(varied))]
    labels = f"{json.dumps(list(varied))}[toNumber(slice(datum.value, 1))]"
    x = alt.X(
        "k:N", sort=fields, title=None, scale=alt.Scale(padding=0.3, type="point"),
        axis=alt.Axis(labelExpr=labels, labelAngle=-25, domain=False, ticks=False, labelPadding=10),
    )  # fmt: skip
    y = alt.Y("p:Q", axis=None, scale=alt.Scale(domain=[-0.04, 1.04], nice=False))
    folded = alt.Chart(alt.NamedData("lines")).transform_fold([*fields], as_=["k", "p"])
    folded = folded.transform_filter("isValid(datum.p)")
    axes = alt.Chart(alt.NamedData("ticks")).mark_line(stroke=LINES).encode(x=x, y=y, detail="k:N")
    failed = (
        folded.transform_filter("datum.o != 'ok' && datum.o != 'too_slow'")
        .mark_line(stroke=SAME, strokeDash=[3, 3], opacity=0.35, strokeWidth=1)
        .encode(x=x, y=y, detail="i:N", tooltip=[alt.Tooltip("o:N", title="outcome")])
    )
    ran = (
        folded.transform_filter("isValid(datum.s)")
        .mark_line(strokeWidth=1.8, opacity=0.6)
        .encode(
            x=x,
            y=y,
            detail="i:N",
            color=alt.Color(
                "s:Q",
                title="time relative to the default",
                scale=_colors(points),
                legend=alt.Legend(gradientLength=220, direction="horizontal", format=".2~f", tickCount=4),
            ),
            tooltip=[
                alt.Tooltip("n:Q", title="trial"),
                alt.Tooltip("t:Q", title="µs", format=",.2f"),
                alt.Tooltip("s:Q", title="relative to the default", format=".3f"),
            ],
        )
    )
    names = (
        alt.Chart(alt.NamedData("ticks"))
        .mark_text(align="left", dx=5, fontSize=10)
        .encode(x=x, y=y, text="v:N")
    )
    return axes, failed, ran, names


def _colors(points: Sequence[TrialPoint]) -> alt.Scale:
    """From the best over the default's time to the slow ones; the slowest tenth look alike."""
    scores = sorted(each.score for each in points if each.score is not None)
    low = min([0.95, *scores[:1]])
    high = max([1.05, *scores[len(scores) * 9 // 10 :][:1]])
    return alt.Scale(
        type="log", domain=[low, 1.0, high], range=[FAST, SAME, SLOW], interpolate="rgb", clamp=True
    )
