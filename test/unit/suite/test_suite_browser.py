"""Pages of the suite in a real browser, where one is installed: all is drawn, and filters find rows."""

import json
import re
from functools import cache
from html import unescape
from pathlib import Path

import pytest
from amounts import ALL
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
    ("name", "flags"), [*((name, ()) for name in PAGES), *((name, NARROW) for name in PAGES if ALL)]
)  # a report is drawn in a narrow window, too, by the same script
def test_all_charts_are_drawn(tmp_path, name, flags):
    path = tmp_path / f"{name}.html"
    path.write_text(html_of(name).replace("<details>", "<details open>"))
    seen = visit(path, tmp_path, *flags)
    assert (seen.console, seen.requests) == ([], [])
    charts = len(re.findall(r'<figure class="chart', seen.page))
    assert charts >= 2
    assert len(re.findall(r'<svg [^>]*class="marks"', seen.page)) == charts


@pytest.mark.parametrize("dark", [True, False])
def test_nothing_is_cut_and_text_is_readable(tmp_path, dark):
    """By default one page in all widths, the others, whose tables are made the same way, in the narrowest.

    The widest are in the light, others in the dark.
    """
    sizes = [(name, width) for name in PAGES for width in WIDTHS if (width != WIDTHS[-1]) == dark]
    chosen = [each for each in sizes if ALL or each[0] == "run" or each[1] == WIDTHS[0]]
    pages = [(html_of(name), width) for name, width in chosen]
    for seen, (_, width) in zip(looked_at(pages, tmp_path, dark=dark), chosen, strict=True):
        check_look(seen, width, dark=dark)


TYPED = {"torch": 12, "MATMUL.*f32.* torch": None, "(": 0}
"""How many rows each filter shows."""


def test_a_filter_shows_what_fits(tmp_path):
    """Each filter's rows are written down before the next is typed."""
    path = tmp_path / "run.html"
    typing = (
        "<script>const box = document.querySelector('input[data-filters]'), seen = [];"
        f"for (const typed of {[*TYPED]}) {{"
        " box.value = typed; box.dispatchEvent(new Event('input'));"
        " seen.push({ told: document.querySelector('output').textContent,"
        " rows: [...document.querySelectorAll('tr[data-text]')].map((row) => [row.dataset.text, row.hidden])"
        " }); }"
        " document.body.dataset.seen = JSON.stringify(seen);</script></body>"
    )
    before, _, after = html_of("run").rpartition("</body>")
    path.write_text(before + typing + after)
    visited = visit(path, tmp_path)
    assert visited.console == []
    found = json.loads(unescape(re.search(r'<body[^>]* data-seen="([^"]*)"', visited.page)[1]))
    for (typed, shown), each in zip(TYPED.items(), found, strict=True):
        visible = [text for text, hidden in each["rows"] if not hidden]
        assert each["told"] == f"{len(visible)} of {len(each['rows'])}", typed
        assert len(each["rows"]) == 72
        if shown is None:
            assert visible
            assert all(re.search("matmul.*f32.* torch", text) for text in visible)
        else:
            assert len(visible) == shown, typed
