"""Pages of the suite in a real browser, where one is installed: all is drawn, and filters find rows."""

import re
from pathlib import Path

import pytest
from amounts import some
from made_runs import Made, made_run
from report.test_report_browser import BROWSER, WIDTHS, check_look, looked_at, visit

from iree_tuner.suite.pages.course import changes_page, history_page
from iree_tuner.suite.pages.run_page import run_page
from iree_tuner.suite.results import History

for needed in ("altair", "vl_convert", "jinja2"):
    pytest.importorskip(needed)
pytestmark = [pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")]

RUNS = [made_run(Made(f"run-{n}", n, 6, devices=("local-task", "cuda://0"), started=n)) for n in range(3)]
PAGES = {
    "run": lambda: run_page(RUNS[:1]),
    "changes": lambda: changes_page(*RUNS[:2]),
    "history": lambda: history_page(History(Path("history.jsonl"), tuple(RUNS))),
}


NARROW = ("--window-size=390,800",)


@pytest.mark.parametrize(
    ("name", "flags"), [*((name, ()) for name in PAGES), *((name, NARROW) for name in some(PAGES, 3))]
)
def test_all_charts_are_drawn(tmp_path, name, flags):
    path = tmp_path / f"{name}.html"
    path.write_text(PAGES[name]().replace("<details>", "<details open>"))
    seen = visit(path, tmp_path, *flags)
    assert (seen.console, seen.requests) == ([], [])
    charts = len(re.findall(r'<figure class="chart', seen.page))
    assert charts >= 2
    assert len(re.findall(r'<svg [^>]*class="marks"', seen.page)) == charts


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_and_text_is_readable(tmp_path, name, width):
    dark = width != WIDTHS[-1]
    check_look(looked_at(PAGES[name](), tmp_path, width, dark=dark), width, dark=dark)


@pytest.mark.parametrize(("typed", "shown"), [("torch", 12), ("MATMUL.*f32.* torch", None), ("(", 0)])
def test_a_filter_shows_what_fits(tmp_path, typed, shown):
    path = tmp_path / "run.html"
    typing = (
        "<script>const box = document.querySelector('input[data-filters]');"
        f"box.value = {typed!r}; box.dispatchEvent(new Event('input'));</script></body>"
    )
    before, _, after = run_page(RUNS[:1]).rpartition("</body>")
    path.write_text(before + typing + after)
    seen = visit(path, tmp_path)
    assert seen.console == []
    told = re.search(r"<output>(\d+) of (\d+)</output>", seen.page)
    texts = re.findall(r'<tr data-text="([^"]*)"( hidden="")?', seen.page)
    visible = [text for text, hidden in texts if not hidden]
    assert (int(told[1]), int(told[2])) == (len(visible), len(texts)) == (len(visible), 72)
    if shown is None:
        assert visible
        assert all(re.search("matmul.*f32.* torch", text) for text in visible)
    else:
        assert len(visible) == shown
