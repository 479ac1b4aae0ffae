"""What charts and tables of the suite are made of."""

import csv
import math
from dataclasses import replace

import pytest

pytest.importorskip("altair")

from made_runs import ROOFS, Made, made_run, operations

from iree_tuner.errors import TunerError
from iree_tuner.suite.backends.backend import Conditions
from iree_tuner.suite.changes import Change, changes
from iree_tuner.suite.pages import run_page
from iree_tuner.suite.pages import together as ratios
from iree_tuner.suite.pages.course import summaries
from iree_tuner.suite.pages.run_page import (
    device_rows,
    draw_roofline,
    draw_speedups,
    not_ok,
    point_rows,
    speedup_rows,
)
from iree_tuner.suite.pages.together import (
    BEST,
    conditions_words,
    contenders,
    draw_ratios,
    facts_words,
    gains,
    labels_of,
    ratio_rows,
    scatter_rows,
    standings,
    together,
)
from iree_tuner.suite.results import Results, Row, RunFacts, write_csv


def row(backend="iree", speedup=None, operation="a", time_us=100.0, configuration="", **more):
    timed = {"time_us": time_us, "speedup": speedup, "flops": 2e6, "bytes": 1e5, "compute_type": "f32"}
    if speedup is not None:
        timed["speedup_interval"] = (speedup * 0.98, speedup * 1.02)
    return Row(operation, "matmul", {}, backend, configuration, "local-task", "a CPU", **(timed | more))


def labels(found):
    return labels_of(tuple(each.operation for each in found))


def test_a_mean_is_geometric_and_says_of_how_many():
    found = standings([
        row(), row("torch", 0.5), row("numpy", 4.0),
        row(operation="b"), row("torch", 2.0, "b"), row("torch", 1.01, "c"), row("torch", None, "d"),
    ])  # fmt: skip
    numpy, torch = gains(found)
    assert (numpy.contender, numpy.speedup, numpy.operations) == ("numpy", pytest.approx(4.0), 1)
    assert (torch.contender, torch.operations, torch.faster, torch.slower) == ("torch", 3, 1, 1)
    assert torch.uncertain == 1
    assert torch.speedup == pytest.approx(1.01 ** (1 / 3))


def test_the_fastest_configuration_stands_for_its_back_end():
    found = standings([
        row(configuration="default", speedup=1.0), row("iree", 1.2, configuration="tile_1", time_us=80.0),
        row("iree", 1.6, configuration="tile_2", time_us=60.0), row("iree", 9.0, state="failed", time_us=1.0),
        row("torch", 0.9), row("iree-tuned", 1.5, configuration="spec"), row("numpy", time_us=None),
    ])  # fmt: skip
    assert [(each.backend, each.configuration, each.speedup) for each in found] == [
        ("iree", "default", None), (BEST, "tile_2", 1.6), ("torch", "", 0.9), ("iree-tuned", "spec", 1.5),
    ]  # fmt: skip
    assert contenders(found) == ("iree", BEST, "iree-tuned", "torch")


def test_of_many_operations_the_extreme_ones_are_drawn(monkeypatch):
    monkeypatch.setattr(run_page, "MOST", 2)
    rows = [row("torch", speedup, str(place)) for place, speedup in enumerate((1.1, 0.2, 3.0, 1.0))]
    found = standings(rows)
    assert [each["operation"] for each in speedup_rows(found, labels(found))] == ["1", "2"]
    assert draw_speedups(found, labels(found), contenders(found))
    assert draw_speedups(standings([row()]), {}, ()) is None


def test_tuned_times_are_the_default_s_by_the_speedup():
    found = standings([row(), row("iree-tuned", 2.0), row("torch", 3.0), row("iree-tuned", 2.0, "alone")])
    (only,) = scatter_rows(found)
    assert (only["x"], only["y"], only["verdict"]) == (100.0, 50.0, "faster")
    assert only["low"] < only["y"] < only["high"]
    verdicts = {
        speedup: scatter_rows(standings([row(), row("iree-tuned", speedup)]))[0]["verdict"]
        for speedup in (0.5, 1.01)
    }
    assert verdicts == {0.5: "slower", 1.01: "no difference"}


def test_an_interval_is_seen_on_a_bar_of_any_color():
    """A line with a border of the page's color, above the bar, with ticks at its ends."""
    found = standings([row(), row("torch", 1.8)])
    layers = draw_speedups(found, labels(found), contenders(found)).spec["layer"]
    marks = [each["mark"] for each in layers]
    assert [each["type"] for each in marks] == ["bar", "rule", "rule", "tick", "tick", "rule"]
    border, line = marks[1:3]
    assert border["stroke"] == "var(--paper)" != line["stroke"]
    assert border["strokeWidth"] > line["strokeWidth"] > 1
    assert [each["encoding"]["x"]["field"] for each in layers[3:5]] == ["low", "high"]


def test_points_below_the_roof_are_rates_by_intensity():
    found = standings([row(), row("torch", flops=0.0), row("numpy", bytes=0.0)])
    (point,) = point_rows(found)
    assert (point["rate"], point["intensity"]) == (2e10, 20.0)
    drawing = draw_roofline(found, ROOFS["local-task"], contenders(found))
    assert {each["roof"] for each in drawing.spec["datasets"]["roofs"]} >= {"f32 peak", "memory"}
    assert draw_roofline(found, None, contenders(found)).spec["datasets"]["roofs"] == []
    assert draw_roofline(found[1:], None, ()) is None


def test_devices_are_shown_where_several_have_an_operation(monkeypatch):
    shown = together([made_run(Made(operations=3, devices=("local-task", "cuda://0")))])
    alone = (shown.operations[0], "a GPU")
    found = [each for each in standings(shown.rows) if (each.operation, each.device) != alone]
    names = {each["operation"] for each in device_rows(found, "iree", labels(found))}
    assert names == set(shown.operations[1:])
    monkeypatch.setattr(run_page, "MOST", 1)
    assert len(device_rows(found, "iree", labels(found))) == 2


def change(verdict, ratio, operation):
    return Change((operation, "iree", "", "d"), row(), row(), ratio, (ratio * 0.99, ratio * 1.01), verdict)


def test_what_changed_is_drawn_before_what_did_not(monkeypatch):
    monkeypatch.setattr(ratios, "MOST", 4)
    found = [
        change("SAME", 1.02, "a"), change("SAME", 0.9999, "b"), change("FASTER", 1.2, "c"),
        change("AMBIGUOUS", 0.99, "d"), change("SLOWER", 0.5, "e"), change("SAME", 0.96, "f"),
    ]  # fmt: skip
    names = {each: each for each in "abcdef"}
    assert [each["operation"] for each in ratio_rows(found, names)] == ["e", "f", "d", "c"]
    drawn = draw_ratios(found, names, 0.03)
    assert (drawn.shown, drawn.timed) == (4, 6)
    assert draw_ratios([replace(found[0], ratio=None, interval=None)], names, 0.03) is None


def test_back_ends_as_a_whole():
    before = made_run(Made("before", 1))
    after = made_run(Made("after", 2, against="before", slower={operations(8)[0][0]: 2.0}))
    found = summaries(changes(before, after))
    assert [each.contender for each in found] == list(dict.fromkeys(each.backend for each in after.rows))
    torch = next(each for each in found if each.contender == "torch")
    assert (torch.operations, torch.paired, torch.slower, torch.faster) == (8, 8, 1, 0)
    assert torch.speedup == pytest.approx(0.5 ** (1 / 8), rel=0.02)


def test_several_runs_are_put_together():
    first = made_run(Made("first", operations=2, backends=("iree", "torch")))
    second = made_run(Made("second", operations=2, backends=("iree",), devices=("cuda://0",)))
    shown = together([first, second])
    assert shown.devices == ("a CPU", "a GPU")
    assert set(shown.rooflines) == {"a CPU", "a GPU"}
    assert (len(shown.rows), shown.notes) == (6, ())
    for each in shown.rows:
        least_us = ROOFS["local-task"].attainable_us(each.flops, each.bytes, each.compute_type)
        assert each.normalized_us == pytest.approx(least_us / each.roofline_share), "as on the first device"
    other = Conditions(timing="device")
    again = replace(first, facts=replace(first.facts, name="again", conditions=other))
    doubled = together([first, replace(again, rows=again.rows[:3])])
    assert len(doubled.rows) == 4
    assert doubled.notes == (
        "again: measured under conditions that differ from those of made up 0",
        "3 rows are in several runs; the page shows the last one",
    )  # fmt: skip


def test_machines_with_one_uri_are_two_devices():
    first = made_run(Made("first", operations=1, backends=("iree",)))
    rows = tuple(replace(each, device_name="another CPU") for each in first.rows)
    second = Results(replace(first.facts, devices={"local-task": "another CPU"}), rows)
    assert together([first, second]).devices == ("a CPU", "another CPU")
    twins = tuple(replace(each, device=uri) for uri in ("cuda://0", "cuda://1") for each in first.rows)
    assert together([Results(first.facts, twins)]).devices == ("a CPU (cuda://0)", "a CPU (cuda://1)")


def test_a_roofline_that_is_none_is_told():
    made = made_run(Made(operations=1))
    for data in ({}, {**made.facts.rooflines["local-task"], "levels": 5}, []):
        broken = replace(made, facts=replace(made.facts, rooflines={"local-task": data}))
        with pytest.raises(TunerError, match="a CPU: not a roofline"):
            together([broken])


def test_reasons_are_grouped_and_failures_come_first():
    rows = (
        *(row("numpy", operation=name, state="skipped", message="no f16") for name in "abc"),
        row(operation="a", state="failed", message="wrong"), row("torch", state="missing"), row("jax"),
    )  # fmt: skip
    found = [(each.state, each.backend, each.message, each.operations) for each in not_ok(rows)]
    assert found == [
        ("failed", "iree", "wrong", ("a",)), ("skipped", "numpy", "no f16", ("a", "b", "c")),
        ("missing", "torch", "", ("a",)),
    ]  # fmt: skip


def test_conditions_in_words():
    plain = dict(conditions_words(Conditions()))
    assert plain["caches"] == "warm: one copy of the inputs"
    assert plain["threads"] == "the device's own"
    assert plain["samples"].startswith("up to 24 of at least 20 ms, each after a pause of 20 ms; up to 1 min")
    found = dict(conditions_words(Conditions("device", 2, 3 << 30, 1.5, 4)))
    assert "calls in batches" in found["timing"]
    assert found["caches"] == "cold: inputs rotate through 3 GiB of copies"
    assert (found["threads"], found["streams"]) == ("2 of the host", "4 concurrent copies")
    assert found["background load"] == "a large product for 1.5 s before each sample"
    facts = dict(facts_words(RunFacts("r", "n", devices={"local-task": "a CPU"}, versions={"numpy": "2.1"})))
    assert (facts["device"], facts["libraries"], facts["run"]) == ("a CPU (local-task)", "numpy 2.1", "r")
    assert not {"commit", "compiler", "started", "interleaved with"} & facts.keys()


def test_labels_are_short_and_unlike():
    found = labels_of(("matmul_4x5x6_f16t_f16t_f16t", "matmul_4x5x6_i8t_i8n_i8t", "matmul 4x5x6 f16t"))
    assert list(found.values()) == ["matmul 4x5x6 f16t #1", "matmul 4x5x6 i8t i8n", "matmul 4x5x6 f16t #2"]


def test_a_table_has_a_line_for_each_row(tmp_path):
    made = made_run(Made(operations=2))
    write_csv(made.rows, tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [(each["operation"], each["backend"]) for each in lines] == [each.key[:2] for each in made.rows]
    timed = next(each for each in lines if each["time_us"])
    assert float(timed["low_us"]) < float(timed["time_us"]) < float(timed["high_us"])
    assert math.isclose(float(timed["gflops"]), made.rows[0].gflops)
