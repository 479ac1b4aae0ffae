"""Pages of the suite in a real browser, where one is installed: all is drawn, and filters find rows."""

import re
from functools import cache
from pathlib import Path

import pytest
from amounts import ALL, some
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


@cache
def html_of(name):
    """A page, drawn once."""
    return PAGES[name]()


NARROW = ("--window-size=390,800",)


@pytest.mark.parametrize(
    ("name", "flags"), [*((name, ()) for name in PAGES), *((name, NARROW) for name in some(PAGES, 3))]
)
def test_all_charts_are_drawn(tmp_path, name, flags):
    path = tmp_path / f"{name}.html"
    path.write_text(html_of(name).replace("<details>", "<details open>"))
    seen = visit(path, tmp_path, *flags)
    assert (seen.console, seen.requests) == ([], [])
    charts = len(re.findall(r'<figure class="chart', seen.page))
    assert charts >= 2
    assert len(re.findall(r'<svg [^>]*class="marks"', seen.page)) == charts


SEEN = [(name, width) for name in PAGES for width in WIDTHS if ALL or name == "run" or width == WIDTHS[0]]
"""By default one page in all widths, and the others, whose tables are made the same way, in the narrowest."""


@pytest.mark.parametrize(("name", "width"), SEEN)
def test_nothing_is_cut_and_text_is_readable(tmp_path, name, width):
    dark = width != WIDTHS[-1]
    check_look(looked_at(html_of(name), tmp_path, width, dark=dark), width, dark=dark)


@pytest.mark.parametrize(("typed", "shown"), [("torch", 12), ("MATMUL.*f32.* torch", None), ("(", 0)])
def test_a_filter_shows_what_fits(tmp_path, typed, shown):
    path = tmp_path / "run.html"
    typing = (
        "<script>const box = document.querySelector('input[data-filters]');"
        f"box.value = {typed!r}; box.dispatchEvent(new Event('input'));</script></body>"
    )
    before, _, after = html_of("run").rpartition("</body>")
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
