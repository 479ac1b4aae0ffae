"""Reports in a real browser, where one is installed: all is drawn, the console and the network are silent."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape

import pytest
from amounts import ALL
from report.made_up import NASTY, fill

from iree_tuner.report import page as pages
from iree_tuner.report.page import Report
from iree_tuner.report.view import ReportedRun, RunReport, report_of_run
from iree_tuner.store import Store

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--log-level=0",
    "--virtual-time-budget=20000", "--dump-dom",
)  # fmt: skip
NOT_A_PAGE = "not an origin"  # the initiator of what the browser itself asks for

for needed in ("altair", "vl_convert", "jinja2"):
    pytest.importorskip(needed)
pytestmark = [pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")]


@dataclass(frozen=True)
class Visit:
    """A page as the browser left it, what it wrote to the console, and what it asked the network for."""

    page: str
    console: list[str]
    requests: list[str]


def visit(path, folder, *flags):
    """Open a page, wait until it is at rest, and look."""
    log = folder / "network.json"
    command = [BROWSER, *FLAGS, *flags, f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}"]
    done = subprocess.run(
        [*command, path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(log.read_text())
    start = found["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    started = [each.get("params", {}) for each in found["events"] if each["type"] == start]
    requests = [each["url"] for each in started if each.get("initiator") != NOT_A_PAGE and "url" in each]
    return Visit(
        done.stdout,
        [line for line in done.stderr.splitlines() if "CONSOLE" in line],
        [url for url in requests if not url.startswith(("file:", "data:", "blob:", "chrome:"))],
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "made.db"
    fill(path, workloads=10, trials=60, program=NASTY)
    with Store.open(path, readonly=True) as store:
        report = Report(report_of_run(store))
    drawn = report.html()  # once: it takes two seconds
    with pytest.MonkeyPatch.context() as patch:
        again = pages.page_of
        patch.setattr(pages, "page_of", lambda data: drawn if data is report.data else again(data))
        yield report


def test_planted_faults_are_seen(tmp_path):
    page = tmp_path / "planted.html"
    page.write_text(
        '<script>console.error("planted"); missing();</script><img src="http://planted.example/x">'
    )
    seen = visit(page, tmp_path)
    assert len(seen.console) == 2
    assert seen.requests == ["http://planted.example/x"]


@pytest.mark.parametrize("flags", [(), ("--window-size=390,800",)])
def test_all_charts_are_drawn(made, tmp_path, flags):
    page = made.save(tmp_path / "report.html")
    # What is drawn when it is opened is drawn now.
    page.write_text(made.html().replace("<details>", "<details open>"))
    seen = visit(page, tmp_path, *flags)
    assert seen.console == []
    assert seen.requests == []
    charts = len(re.findall(r'<figure class="chart', seen.page))
    assert charts == 5 + 10
    assert len(re.findall(r'<svg [^>]*class="marks"', seen.page)) == charts


def test_an_empty_report_opens(tmp_path):
    seen = visit(Report(RunReport(ReportedRun("m"))).save(tmp_path / "report.html"), tmp_path)
    assert (seen.console, seen.requests) == ([], [])
    assert "Nothing was compared" in seen.page


def test_a_frame_of_a_notebook_draws(made, tmp_path):
    page = tmp_path / "notebook.html"
    page.write_text(f"<!DOCTYPE html><title>notebook</title>{made._repr_html_().replace('lazy', 'eager')}")
    seen = visit(page, tmp_path)
    assert (seen.console, seen.requests) == ([], [])


LOOK = """<script>addEventListener("load", () => setTimeout(() => {
  const root = document.documentElement, right = (each) => each.getBoundingClientRect().right;
  const every = (where, what) => [...where.querySelectorAll(what)];
  const cut = every(document, ".scroll").filter((each) => each.scrollWidth > each.clientWidth + 1);
  const beyond = (svg) => every(svg, "text").filter((each) => right(each) > right(svg) + 2);
  const data = JSON.stringify(every(document, "figure > script").map((each) => JSON.parse(each.textContent)));
  const known = (each) => data.includes(JSON.stringify(each.textContent).slice(1, -1));
  const lines = every(document, "figure svg :is(text:not(:has(tspan)), tspan)");
  const text = lines.filter((each) => each.textContent.endsWith("…") && !known(each));
  const clipped = [...every(document, "figure svg").flatMap(beyond), ...text].map((each) => each.textContent);
  const page = getComputedStyle(document.body);
  parent.postMessage({
    width: innerWidth, wide: root.scrollWidth > innerWidth, cut: cut.length, clipped,
    colors: [page.color, page.backgroundColor],
  }, "*");
}, 3000));</script>"""
FRAMES = """<!DOCTYPE html><meta name="color-scheme" content="light dark">{}<script>
  const told = {{}}, frames = [...document.querySelectorAll("iframe")];
  addEventListener("message", ({{ data, source }}) => {{
    told[frames.findIndex((each) => each.contentWindow === source)] = data;
    document.body.dataset.seen = JSON.stringify(told);
  }});
</script>"""  # a window of the browser has at least 500 px
FRAME = '<iframe src="{}" style="border: 0; height: 2000px; width: {}px"></iframe>'
WIDTHS = (420, 1300, 1920)


def looked_at(pages, folder, *, dark=False):
    """Of pages with widths: whether each is wider than its window, which tables and labels are cut, colors.

    All are looked at in one browser: it takes as long to start as to draw two of them.
    """
    frames = []
    for number, (html, width) in enumerate(pages):
        (folder / f"{number}.html").write_text(html.replace("<head>", f"<head>{LOOK}", 1))
        frames.append(FRAME.format(f"{number}.html", width))
    page = folder / "framed.html"
    page.write_text(FRAMES.format("".join(frames)))
    scheme = (f"--blink-settings=preferredColorScheme={0 if dark else 1}",)
    seen = visit(page, folder, "--window-size=2000,2100", *scheme)
    told = json.loads(unescape(re.search(r'data-seen="([^"]*)"', seen.page)[1]))
    return [told[str(number)] for number in range(len(pages))]


def luminance(color):
    return sum(map(int, re.findall(r"\d+", color)[:3])) / (3 * 255)


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_cut_and_text_is_readable(made, tmp_path, dark):
    """By default all widths in the light, and one in the dark: colors do not move anything."""
    widths = WIDTHS if ALL or not dark else WIDTHS[1:2]
    for seen, width in zip(
        looked_at([(made.html(), each) for each in widths], tmp_path, dark=dark), widths, strict=True
    ):
        check_look(seen, width, dark=dark)


def check_look(seen, width, *, dark):
    """All is within the window, and ink and paper are far apart."""
    assert seen["width"] == width
    assert (seen["wide"], seen["cut"], seen["clipped"]) == (False, 0, [])
    ink, paper = map(luminance, seen["colors"])
    assert ink - paper > 0.6 if dark else paper - ink > 0.6


def test_what_is_cut_is_seen(tmp_path):
    wide = '<head></head><div class="scroll" style="overflow: auto"><p style="width: 900px">wide</p></div>'
    (seen,) = looked_at([(f"<!DOCTYPE html><html>{wide}</html>", 520)], tmp_path)
    assert seen["cut"] == 1
