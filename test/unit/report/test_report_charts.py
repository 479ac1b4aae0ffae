"""The data of charts, and what they leave out."""

import json
import math
from dataclasses import replace

import pytest

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

import altair as alt
import vl_convert
from report.made_up import fill

from iree_tuner.report.charts.look import ratios
from iree_tuner.report.charts.overview import (
    curve,
    draw_convergence,
    draw_gain,
    draw_outcomes,
    draw_timeline,
    gain_rows,
    outcome_rows,
)
from iree_tuner.report.charts.profile import MOST, draw_profile, profile_rows
from iree_tuner.report.charts.roofline import draw_roofline, told_apart
from iree_tuner.report.charts.space import BEST, FAILED, REST, draw_spaces, sampled
from iree_tuner.report.view import (
    ReportedRun,
    RoofLevel,
    RunReport,
    Slice,
    TimeProfile,
    TrialPoint,
    WorkloadPart,
    report_of_run,
)
from iree_tuner.store import Store
from iree_tuner.store.record import Stretch, TimelineRecord, WholeRecord

EMPTY = RunReport(ReportedRun("model.mlir"))
DRAWS = (draw_profile, draw_gain, draw_convergence, draw_outcomes, draw_roofline)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "made.db"
    fill(path, workloads=3, trials=40)
    with Store.open(path, readonly=True) as store:
        return report_of_run(store)


def point(order, score=0.5, outcome="ok", **knobs):
    return TrialPoint(
        order, outcome, score, None if score is None else score * 100, "", knobs or {"x": order}
    )


def part(*points, **more):
    return WorkloadPart("w", label="w", points=points, trials=len(points), **more)


def taken(drawing):
    """What Vega draws of a chart. Raises for what is not in Vega-Lite's schema."""
    alt.Chart.from_dict(
        {key: each for key, each in drawing.spec.items() if key not in ("datasets", "config")}
    )
    return vl_convert.vegalite_to_vega(json.dumps(drawing.spec, allow_nan=False))["marks"]


@pytest.mark.parametrize("draw", DRAWS)
def test_nothing_to_show_is_no_chart(draw):
    assert draw(EMPTY) is None


@pytest.mark.parametrize("draw", DRAWS)
def test_charts_are_what_vega_takes(report, draw):
    drawing = draw(report)
    assert drawing.about
    assert taken(drawing)


def test_a_space_is_what_vega_takes(report):
    (found,) = draw_spaces(report.workloads[0])
    assert found.fixed == ("fixed = 1",)
    assert found.shown == found.tried == 40
    assert taken(found.drawing)


def test_bars_add_up_to_the_whole():
    slices = tuple(Slice(f"part {place}", 1, 100.0 - place) for place in range(MOST + 5))
    before = TimeProfile("before", 3000.0, slices)
    after = TimeProfile("after", 2000.0, slices[:3])
    rows = profile_rows(replace(EMPTY, before=before, after=after))
    for profile in (before, after):
        mine = [row for row in rows if row["when"] == profile.when]
        assert math.isclose(sum(row["time"] for row in mine), profile.whole_us)
        assert math.isclose(sum(row["share"] for row in mine), 1.0)
    assert [row["part"] for row in rows[:MOST]] == [each.label for each in slices[:MOST]]
    assert [row["part"] for row in rows[MOST : MOST + 2]] == ["other parts", "unexplained"]


def test_parts_that_overlap_leave_no_rest():
    rows = profile_rows(replace(EMPTY, before=TimeProfile("before", 50.0, (Slice("a", 1, 60.0),))))
    assert [row["part"] for row in rows] == ["a"]


def test_gains_are_the_whole_and_what_was_compared():
    parts = (part(verdict="tie", speedup=1.1), part())
    whole = WholeRecord(verdict="win", speedup=1.5, interval=(1.4, 1.6))
    rows = gain_rows(replace(EMPTY, workloads=parts, whole=whole))
    assert [(row["what"], row["speedup"], row["low"], row["high"]) for row in rows] == [
        ("whole program", 1.5, 1.4, 1.6), ("w", 1.1, 1.1, 1.1),
    ]  # fmt: skip


def test_a_curve_has_what_became_better_and_an_end():
    found = curve(part(*map(point, range(1, 7), (None, 0.8, 0.9, 0.5, None, 0.6))))
    assert found == [
        {"trial": 2, "speedup": 1.25}, {"trial": 4, "speedup": 2.0}, {"trial": 6, "speedup": 2.0},
    ]  # fmt: skip
    assert curve(part(point(1, None))) == []
    assert draw_convergence(replace(EMPTY, workloads=(part(point(1, 0.5)),))) is None, (
        "one trial is no search"
    )


def test_outcomes_are_counted_by_workload():
    rows = outcome_rows(replace(EMPTY, workloads=(part(outcomes={"ok": 3, "newer": 1}), part())))
    assert [(row["outcome"], row["count"]) for row in rows] == [("ok", 3), ("newer", 1)]
    assert draw_outcomes(replace(EMPTY, workloads=(part(outcomes={"newer": 1}),)))


def test_levels_that_look_alike_are_one_line():
    fast, alike, slow = RoofLevel(100.0, 1024), RoofLevel(95.0, 2048), RoofLevel(10.0)
    assert told_apart([fast, alike, slow]) == [alike, slow]
    assert told_apart([]) == []


def test_large_spaces_keep_the_best_and_some_of_all():
    points = [point(order, 1.0 + order % 7, x=order) for order in range(1, 1001)]
    best = replace(points[500], score=0.1)
    failed = [point(order, None, "compile_error") for order in range(2000, 2500)]
    found = sampled([*points[:500], best, *points[501:], *failed])
    assert len(found) == BEST + REST + FAILED
    assert found[-1] == best, "drawn last, on top"
    ran = [each.score for each in found if each.score is not None]
    assert ran == sorted(ran, reverse=True)
    assert {each.order for each in found if each.score is None} >= {2000}


@pytest.mark.parametrize(
    "points",
    [
        (),
        (point(1, x=1, y=1),),
        (point(1, x=1, y=1), point(2, x=2, y=1)),
        (point(1, x=1, y=1), point(2, x=1, y=1)),
    ],
)
def test_a_space_with_less_than_two_knobs_that_differ_is_not_drawn(points):
    assert draw_spaces(part(*points)) == []


def test_each_space_of_a_workload_has_its_chart():
    points = [
        TrialPoint(order, "ok", 0.5, 50.0, pipeline, {"x": order, "y": -order})
        for order, pipeline in enumerate(("A", "B", "A", "B"), start=1)
    ]
    assert [each.pipeline for each in draw_spaces(part(*points))] == ["A", "B"]


@pytest.mark.parametrize(("low", "high"), [(0.9, 1.1), (0.75, 2.6), (0.01, 100.0), (0.99, 7.0), (1e-6, 1e6)])
def test_axes_have_some_labels_within(low, high):
    marks = ratios(low, high)
    assert 2 <= len(marks) <= 40
    assert all(low <= mark <= high for mark in marks)
    assert any(math.isclose(mark, 1.0) for mark in marks)


def test_each_stage_has_its_own_color():
    names = [f"stage {number}" for number in range(14)]
    stages = [Stretch(name, number, number + 1) for number, name in enumerate(names)]
    drawn = draw_timeline(RunReport(EMPTY.run, whole=WholeRecord(timeline=TimelineRecord(stages))))
    scale = drawn.spec["encoding"]["color"]["scale"]
    assert [*dict.fromkeys(scale["range"])] == scale["range"]


def test_early_slow_trials_do_not_flatten_the_curves():
    slow = part(*(point(order, score) for order, score in enumerate((400.0, 1.1, 0.8, 0.7), 1)))
    domains = [
        layer["encoding"]["y"]["scale"]["domain"]
        for layer in draw_convergence(RunReport(EMPTY.run, (slow,))).spec["layer"]
        if "scale" in layer["encoding"]["y"]
    ]
    assert all(0.5 < low < 1 < high < 2 for low, high in domains)
    assert domains
