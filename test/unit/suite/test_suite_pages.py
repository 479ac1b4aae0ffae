"""Pages of the suite: what others wrote is text, charts are what Vega takes, all is inside."""

import json
import math
import re
from dataclasses import replace
from functools import cache

import pytest

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
pytest.importorskip("jinja2")

import altair as alt
import vl_convert
from amounts import ALL, amount
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from made_runs import NASTY, Made, made_run, operations
from report.test_report_page import Elements

from iree_tuner.errors import TunerError
from iree_tuner.report import page
from iree_tuner.suite.backends.backend import Conditions
from iree_tuner.suite.pages.course import MOST, changes_page, history_page
from iree_tuner.suite.pages.run_page import run_page
from iree_tuner.suite.results import History, Results, Row, add, read_history

elements_of = cache(Elements)
"""Of a page, which several tests look at."""

BOTH = ("local-task", "cuda://0")
LIBRARIES = 2  # scripts: Vega's, and the page's own


def named(results):
    """A run in which everything has a name that is markup."""
    uris = {uri: f"{uri} {NASTY}" for uri in results.facts.devices}
    facts = replace(
        results.facts, name=NASTY, commit=NASTY, compiler=NASTY, versions={NASTY: NASTY},
        devices=dict.fromkeys(uris.values(), NASTY),
        rooflines={uris[uri]: {**each, "how": NASTY} for uri, each in results.facts.rooflines.items()},
    )  # fmt: skip
    rows = [
        replace(
            row, operation=f"{row.operation} {NASTY}", message=f"{NASTY} {row.message}", reference=NASTY,
            backend=row.backend if "iree" in row.backend else f"{row.backend} {NASTY}",
            configuration=row.configuration if row.backend == "iree" else NASTY,
            device=uris[row.device], device_name=NASTY,
        )
        for row in results.rows
    ]  # fmt: skip
    return Results(facts, tuple(rows))


@pytest.fixture(scope="module")
def runs():
    """Two runs, the second in turns with the first, on two devices."""
    broken = [operations(6)[1][0]]
    first = made_run(Made("first", 1, 6, devices=BOTH))
    second = made_run(Made("second", 2, 6, devices=BOTH, against="first", broken=broken, started=1.77e9))
    return named(first), named(second)


@pytest.fixture(scope="module")
def pages(runs, tmp_path_factory):
    path = tmp_path_factory.mktemp("history") / f"{NASTY.replace('/', '')}.jsonl"
    for each in runs:
        add(each, path)
    return {
        "run": run_page([runs[0]]),
        "runs": run_page(runs),
        "changes": changes_page(*runs),
        "history": history_page(read_history(path)),
    }


CHARTS = {"run": 2 * 3 + 6, "runs": 2 * 3 + 6, "changes": 2, "history": 2 * 6}
each_page = pytest.mark.parametrize("name", CHARTS)


@each_page
def test_what_others_wrote_is_text(pages, name):
    elements = elements_of(pages[name])
    assert "b" not in {tag for tag, _ in elements.found}
    assert len(elements.scripts) == CHARTS[name] + LIBRARIES
    told = "".join(elements.text)
    assert told.count(NASTY) >= 6, "shown as it was written"
    assert "49" not in re.findall(r"<b>(\w+)", told), "no template in a template"


@each_page
def test_nothing_is_loaded_from_elsewhere(pages, name):
    for tag, attributes in elements_of(pages[name]).found:
        assert not {"src", "srcset", "data", "action"} & attributes.keys(), tag
        assert tag not in ("link", "img", "iframe", "object", "base")
        assert tag != "a" or attributes["href"].startswith("#")
    assert "default-src 'none'" in pages[name]
    assert pages[name].count("window.vegaEmbed") == 1


@each_page
def test_links_within_the_page_have_an_end(pages, name):
    found = elements_of(pages[name]).found
    places = {attributes.get("id") for _, attributes in found}
    assert {attributes["href"][1:] for tag, attributes in found if tag == "a"} <= places
    boxes = [attributes["data-filters"] for _, attributes in found if "data-filters" in attributes]
    assert boxes
    assert {box.split()[0][1:] for box in boxes} <= places


_GIVEN = re.compile(r'"(title|text|domain|range|values|height)": (\[.*?\]|"(\\.|[^"\\])*"|[\d.e+-]+)')
"""What charts of one kind have from their data."""


def charts_of(html, number):
    """A page's charts: there are so many."""
    found = [json.loads(text) for text in elements_of(html).scripts if text.startswith("{")]
    assert len(found) == number
    return found


def test_charts_are_what_vega_takes(pages):
    """By default one of each kind is checked by Vega: it takes 0.1 s."""
    kinds = set()
    for spec in [spec for name, number in CHARTS.items() for spec in charts_of(pages[name], number)]:
        without = {key: value for key, value in spec.items() if key not in ("datasets", "config")}
        data = set(re.findall(r'"data": {"name": "(\w+)"}', json.dumps(without)))
        assert data == spec["datasets"].keys()
        kind = _GIVEN.sub("", json.dumps(without))
        if kind in kinds and not ALL:
            continue
        kinds.add(kind)
        alt.Chart.from_dict(without)  # raises for what is not in Vega-Lite's schema
        assert vl_convert.vegalite_to_vega(json.dumps(spec, allow_nan=False))["marks"]


def test_the_run_is_told(pages):
    told = " ".join("".join(elements_of(pages["run"]).text).split())
    assert "Over 6 of 6 operations, iree-tuned" in told
    assert "geometric means of the speedups over IREE's default" in told
    assert "no fast i8 matmul: BLAS supports f32 and f64" in told
    assert "warm: one copy of the inputs" in told


def test_the_changes_are_told(pages, runs):
    told = " ".join("".join(elements_of(pages["changes"]).text).split())
    assert "broke" in told
    assert told.index("Broken") < told.index("Same")
    rows = re.findall(r"<tr data-text=\"(\w+) ", pages["changes"])
    assert rows[0] == "BROKEN"
    assert rows == sorted(rows, key=["BROKEN", "FIXED", "SLOWER", "FASTER", "AMBIGUOUS", "SAME"].index)


odd_numbers = st.floats(1e-6, 1e12) | st.sampled_from([0.0, -1.0, math.nan, math.inf, -math.inf])
odd = st.none() | odd_numbers
odd_ends = st.none() | st.tuples(odd_numbers, odd_numbers)
names = st.sampled_from(["iree", "iree-tuned", "torch", "", NASTY])
odd_rows = st.builds(
    Row, names, names, st.just({}), names, st.sampled_from(["default", "spec", "", "tile_8"]),
    st.sampled_from(["", *BOTH]), names, st.sampled_from(["ok", "ok", "failed", "lost"]),
    st.sampled_from(["SUCCESS", "NOT VERIFIED"]), names, odd, odd_ends,
    st.lists(odd_numbers, min_size=8, max_size=9).map(tuple),
    odd_numbers, odd_numbers, st.sampled_from(["f32", "f16", "tf32", ""]), odd, odd, odd, odd_ends, odd,
    odd_ends, odd,
)  # fmt: skip
odd_results = st.lists(odd_rows, min_size=1, max_size=5, unique_by=lambda row: row.key).map(tuple)
ONE = made_run(Made(devices=BOTH, operations=1)).facts


# Pages take a while: an example is not made smaller.
@settings(
    max_examples=amount(2, 60),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.reuse, Phase.generate],
)
@given(odd_results, odd_results, st.sampled_from([math.nan, -1e300, 0.0, 1.76e9]))
def test_odd_rows_make_pages(before, after, started):
    first, second = (
        Results(replace(ONE, id=str(n), started=started), rows) for n, rows in enumerate((before, after))
    )
    made = [
        run_page([first]),
        run_page([first, second]),
        history_page(History(page.Path("h"), (first, second))),
    ]
    if {row.key for row in before} & {row.key for row in after}:
        made.append(changes_page(first, second))
    for html in made:
        html.encode("utf-8")
        for text in Elements(html).scripts:
            if text.startswith("{"):
                json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_a_run_of_nothing_but_failures_is_a_page():
    made = made_run(Made(operations=2, broken=[name for name, *_ in operations(2)]))
    told = " ".join("".join(Elements(run_page([made])).text).split())
    assert "2 operations: 0 of 12 rows have a time" in told
    for part in (
        "compared nothing with IREE",
        "measured no operation that computes",
        "only with its default configuration",
    ):
        assert part in told


def test_a_page_needs_rows_and_libraries(monkeypatch):
    with pytest.raises(TunerError, match="run-1: the run has no rows yet"):
        run_page([replace(made_run(Made(operations=1)), rows=())])
    with pytest.raises(TunerError, match="has no runs"):
        history_page(History(page.Path("h"), ()))
    monkeypatch.setattr(page, "_LIBRARIES", ("jinja2", "no_such_library"))
    for make in (run_page, history_page, lambda _: changes_page(None, None)):
        with pytest.raises(TunerError, match=r"requires no_such_library .pip install 'iree-tuner\[report\]'"):
            make(None)


def test_many_rows_are_a_small_page():
    many = made_run(Made(operations=200, backends=("iree", "torch", "numpy")))
    assert len(run_page([many])) < 2e6


def test_a_long_history_shows_its_end():
    runs = [made_run(Made(f"run-{n}", n, 1, ("iree",), started=n)) for n in range(MOST + 5)]
    html = history_page(History(page.Path("h"), tuple(runs)))
    assert f"The charts show the last {MOST} runs, without 5 older ones" in " ".join(html.split())
    assert "run-5<" in html
    assert "run-4<" not in html


def test_runs_under_other_conditions_are_not_on_one_line():
    runs = [made_run(Made(f"run-{n}", n, 1, started=n)) for n in range(3)]
    other = replace(runs[2], facts=replace(runs[2].facts, conditions=Conditions(timing="device")))
    html = history_page(History(page.Path("h"), (*runs[:2], other)))
    assert html.count("<section") == 2
    specs = [json.loads(text) for text in Elements(html).scripts if text.startswith("{")]
    assert [max(row["place"] for row in spec["datasets"]["course"]) for spec in specs] == [1, 0]
    first = specs[0]["datasets"]["course"]
    assert {row["ratio"] for row in first if row["place"] == 0} == {1.0}
    times = [row["time"] for row in first if row["line"] == "iree"]
    assert first[1]["ratio"] == pytest.approx(times[0] / times[1], abs=1e-4)
