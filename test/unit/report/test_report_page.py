"""The page: what was written by others does not become markup, and all is inside."""

import json
import math
import re
from html.parser import HTMLParser
from itertools import pairwise
from types import SimpleNamespace

import pytest
from amounts import amount

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
pytest.importorskip("jinja2")

from hypothesis import HealthCheck, given, settings
from report.made_up import NASTY, fill
from report.test_report_view import RUN, MadeTask, findings, gather, some_tried
from store.samples import COMPARISON, trial

from iree_tuner.device.numerics import Agreement
from iree_tuner.errors import TunerError
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.program.source import Program
from iree_tuner.report import page
from iree_tuner.report.numbers import day, micros, seconds, times
from iree_tuner.report.page import Report, left_over
from iree_tuner.report.view import ReportedRun, RunReport, Slice, TimeProfile, WorkloadPart, report_of_run
from iree_tuner.result import TuningResult
from iree_tuner.store import Store
from iree_tuner.store.record import Finding, Use, WholeRecord
from iree_tuner.tuning.finals import Final
from iree_tuner.tuning.result import Competitor, WorkloadResult


class Elements(HTMLParser):
    """Elements and their attributes, and the text of scripts."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self.text = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.found and self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
            self.text.append(data)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "made.db"
    fill(path, workloads=3, trials=30, program=NASTY)
    with Store.open(path, readonly=True) as store:
        return Report(report_of_run(store))


@pytest.fixture(scope="module")
def html(made):
    return made.html()


def test_what_others_wrote_is_text(html):
    elements = Elements(html)
    own = sum("src" not in attributes for tag, attributes in elements.found if tag == "script")
    charts = sum(attributes.get("type") == "application/json" for tag, attributes in elements.found)
    assert own == charts + 2, "the libraries, the page's own, and data"
    assert "b" not in {tag for tag, _ in elements.found}
    assert "".join(elements.text).count(NASTY) >= 6, "shown as it was written"
    assert "49" not in re.findall(r"<b>(\w+)", "".join(elements.text)), "no template in a template"
    specs = [json.loads(text) for text in elements.scripts if text.startswith("{")]
    assert len(specs) == charts == 8
    assert any(NASTY[:20] in json.dumps(spec) for spec in specs)


def test_layers_with_the_same_kernel_are_a_row(html):
    assert re.search(r"gemm rows=6\s*32\s*source", "".join(Elements(html).text))


def test_what_a_kernel_took_is_not_skipped():
    taken = {"workload": "w", "key": "k", "replaced_by": "kernel", "note": "replaced by a kernel"}
    rows = [Finding("workload", taken), Finding("workload", {"workload": "x", "key": "l"})]
    text = "".join(Elements(Report(gather(RUN, rows, [])).html()).text)
    assert re.findall(r"^\s*(skipped|kernel)\s*$", text, re.MULTILINE) == ["kernel", "skipped"]


def test_what_is_wide_scrolls_in_its_place(html):
    """Tables and charts on a narrow screen; `test_report_browser.py` looks at 420, 1300 and 1920 px."""
    found = Elements(html).found
    for (_, around), (tag, _) in pairwise(found):
        assert tag != "table" or around.get("class") == "scroll"
    style = re.sub(r"\s+", " ", html)
    assert all(f"{each} {{ overflow-x: auto" in style for each in (".scroll",))
    assert re.search(r"figure \{[^}]*overflow-x: auto", style)
    assert re.search(r"main, header, footer \{ max-width: 70rem", style), "less than 1300 px"


def test_nothing_is_loaded_from_elsewhere(html):
    for tag, attributes in Elements(html).found:
        assert not {"src", "srcset", "data", "action"} & attributes.keys(), tag
        assert tag not in ("link", "img", "iframe", "object", "base")
        assert tag != "a" or attributes["href"].startswith("#")


def test_the_libraries_are_there_once(html):
    assert html.count("window.vegaEmbed") == 1


@pytest.mark.parametrize("state", ["done", "running", "interrupted", "failed", ""])
def test_an_empty_report_says_so(state):
    text = "".join(Elements(Report(RunReport(ReportedRun("m", state=state))).html()).text)
    for part in (
        "did not compare the whole",
        "has no profile",
        "Nothing was compared",
        "The result is empty",
    ):
        assert part in text


def test_an_empty_report_has_no_empty_sections():
    page = Report(RunReport(ReportedRun("m"))).html()
    assert set(re.findall(r'<section id="(\w+)">', page)) == {"result", "use", "conditions"}
    assert set(re.findall(r'<a href="#(\w+)">', page)) == {"result", "use", "conditions"}


def test_what_is_left_is_the_time_above_the_roofline():
    def profile(when, times):
        rows = [Slice(name, 1, time_us, attainable_us=bound) for name, time_us, bound in times]
        return TimeProfile(when, 200.0, rows)

    before = profile("before", [("a", 100.0, 40.0), ("b", 60.0, 10.0)])
    after = profile("after", [("a", 50.0, 40.0), ("b", 60.0, 10.0), ("c", 9.0, None), ("d", 3.0, 4.0)])
    report = RunReport(ReportedRun("m"), before=before, after=after)
    found = [(part.label, part.time_us, was and was.time_us) for part, was in left_over(report)]
    assert found == [("b", 60.0, 60.0), ("a", 50.0, 100.0)]
    assert [was for _, was in left_over(RunReport(ReportedRun("m"), before=before))] == [None, None]
    assert left_over(RunReport(ReportedRun("m"))) == []
    page = Report(report).html()
    assert "What is left" in page
    assert "80.0 %" in page, "a takes 50 us of 40"


def test_the_command_that_repeats_a_run_has_its_options():
    run = ReportedRun("my model.mlir", options={"effort": "quick", "budget": "60s", "other": 3})
    page = Report(RunReport(run)).html()
    assert "iree-tuner tune &#39;my model.mlir&#39; --effort quick --budget 60s --fresh" in page


@settings(max_examples=amount(3, 15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(findings, some_tried)
def test_odd_data_makes_a_page(found, tried):
    html = Report(gather(RUN, found, tried)).html()
    html.encode("utf-8")
    for text in Elements(html).scripts:
        if text.startswith("{"):
            json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


@pytest.mark.parametrize(
    ("verdict", "workloads", "told"),
    [
        ("win", ("win",), "1.50x as fast"),
        ("lose", ("win",), "The program would be slower"),
        (
            "tie",
            ("win", "tie"),
            "1 of 2 workloads are faster alone; the whole program is not measurably faster",
        ),
        ("", ("win", "tie"), "1 of 2 workloads are faster alone; the whole program was not compared"),
        ("", ("tie",), "No candidate beats"),
    ],
)
def test_the_headline_says_what_came_out(verdict, workloads, told):
    parts = tuple(WorkloadPart("w", label=f"w{i}", verdict=each) for i, each in enumerate(workloads))
    whole = WholeRecord(verdict=verdict, speedup=1.5) if verdict else None
    assert told in page.headline(RunReport(ReportedRun("m"), parts, whole=whole))


SMALL = Report(RunReport(ReportedRun(NASTY)))


def test_a_notebook_shows_a_frame():
    ((tag, attributes),) = Elements(SMALL._repr_html_()).found
    assert tag == "iframe"
    assert attributes["srcdoc"] == SMALL.html()
    assert attributes["sandbox"] == "allow-scripts"


def test_what_cannot_be_written_is_told(tmp_path):
    with pytest.raises(TunerError, match="no such folder"):
        SMALL.save(tmp_path / "missing" / "report.html")
    assert SMALL.save(tmp_path / "report.html").read_text(encoding="utf-8") == SMALL.html()


def test_missing_libraries_are_told(monkeypatch):
    monkeypatch.setattr(page, "_LIBRARIES", ("jinja2", "no_such_library"))
    with pytest.raises(TunerError, match=r"requires no_such_library .pip install 'iree-tuner\[report\]'"):
        Report(RunReport(ReportedRun("m"))).html()


def test_a_large_run_is_a_small_file(tmp_path):
    fill(tmp_path / "large.db", workloads=amount(4, 40), trials=amount(200, 800))
    with Store.open(tmp_path / "large.db", readonly=True) as store:
        assert len(Report(report_of_run(store)).html()) < 5e6


def test_numbers_are_readable():
    assert [micros(value) for value in (None, 0.0, 0.0005, 0.5, 180.57, 1234.5, 2.5e6, 5e9)] == [
        "", "0 µs", "0.5 ns", "0.5 µs", "181 µs", "1.23 ms", "2.5 s", "5,000 s",
    ]  # fmt: skip
    assert [seconds(value) for value in (None, 5.4, 200.0, 7500.0)] == ["", "5 s", "3 min 20 s", "2 h 5 min"]
    assert (times(1.234), times(250.0), times(None)) == ("1.23x", "250x", "")
    assert (day(0.0), day(1e300), day(math.nan)) == ("1970-01-01 00:00 UTC", "", "")


def test_a_run_in_memory_is_shown(cpu):
    tried = (trial(1, at=1.0), trial(2, "compile_error", at=2.0, message=NASTY))
    results = [WorkloadResult(MadeTask(), 0.75, tried, 100, COMPARISON, None, NASTY, 5.0)]
    whole = ProgramComparison("main", COMPARISON, Agreement(True, 0.0), memory_provided=True)
    result = TuningResult(
        Program("model.mlir", b""), cpu, results, None, whole, note="a note", interrupted=True
    )
    report = result.report(Use(["a command"], "s.mlir"))
    assert report.data.whole.speedup == COMPARISON.speedup
    assert (report.data.whole.function, report.data.whole.note) == ("main", "a note")
    assert report.data.tried == 2
    assert ("target", str(cpu)) in report.data.conditions
    assert report.data.use.commands == ["a command"], "what is given counts"
    text = "".join(Elements(report.html()).text)
    assert "On local-task" in text
    assert "was interrupted" in text
    assert "Function main, calls in flight" in text
    assert text.count(NASTY) >= 2


def test_candidates_of_kernels_are_counted_and_what_they_replace_is_faster(cpu):
    """The page has as many candidates as the terminal."""
    kind = SimpleNamespace(name="mine", size=9, over="")
    kernel = Competitor(kind, (trial(1), trial(2)), Final(trial(1), COMPARISON, ""))
    result = WorkloadResult(
        MadeTask(), 0.75, (trial(3),), 100, competitors=(kernel, kernel), replaced_by="kernel"
    )
    found = TuningResult(Program("m.mlir", b""), cpu, [result], None, options={"budget": "90s"}).report()
    assert found.data.tried == len(result.all_trials) == 5
    assert [each.kernel for each in found.data.workloads] == ["", "mine"]
    text = " ".join("".join(Elements(found.html()).text).split())
    assert "Workloads with a win1of 1; 1 by a kernel" in text
    assert "iree-tuner tune m.mlir --budget 90s --fresh" in text
    assert found.data.aside == ()


def test_a_result_without_a_profile_is_not_shown_as_profiled():
    part = Slice("a", 1, 100.0, attainable_us=40.0)
    report = RunReport(
        ReportedRun("m"), before=TimeProfile("before", 200.0, [part]), use=Use(["c"], again="tune m --dim 2")
    )
    text = " ".join("".join(Elements(Report(report).html()).text).split())
    assert "before tuning. There was no time for a profile of the result" in text
    assert "above the roofline, before tuning" in text
    assert "timeTime in one invocation before tuning" in text
    assert "beforeTime in" not in text, "a column for both needs both"
    assert "tune m --dim 2" in text


def test_c20_a_part_above_the_roof_is_named_and_times_are_explained():
    near = Slice("softmax", 1, 4.0, 1e3, 1e3, "f32", attainable_us=5.0)
    far = Slice("matmul", 1, 9.0, 1e3, 1e3, "f32", attainable_us=5.0)
    report = RunReport(ReportedRun(program="p"), before=TimeProfile("before", 13.0, (near, far), "hal"))
    assert page.above_the_roof(report) == ["softmax"]
    text = " ".join(Elements(page.page_of(report)).text)
    assert "Above the roofline: softmax." in " ".join(text.split())
    assert "three different measurements" in text
