"""Pictures of the pages in a real browser: no text is cut, and none covers another."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from report.test_report_browser import BROWSER, visit

pytestmark = [pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")]

PICTURES = sorted((Path(__file__).parents[2] / "docs").rglob("*.svg"))
LOOK = """<script>addEventListener("load", () => {
  const found = {};
  for (const svg of document.querySelectorAll("body > div > svg")) {
    const box = svg.getBoundingClientRect(), cut = [], covered = [];
    const texts = [...svg.querySelectorAll("text")].filter((each) => each.textContent.trim());
    const boxes = texts.map((each) => [each.textContent.trim(), each.getBoundingClientRect()]);
    for (const [text, one] of boxes) {
      if (one.right > box.right + 2 || one.left < box.left - 2 || one.bottom > box.bottom + 2) cut.push(text);
    }
    boxes.forEach(([text, one], place) => {
      for (const [other, two] of boxes.slice(place + 1)) {
        const wide = Math.min(one.right, two.right) - Math.max(one.left, two.left);
        const high = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
        if (wide > 3 && high > 5) covered.push([text, other]);
      }
    });
    if (cut.length || covered.length) found[svg.parentNode.id] = { cut, covered };
  }
  document.body.dataset.seen = JSON.stringify(found);
});</script>"""


def looked_at(pictures, folder):
    """By name, the texts that are cut, and pairs of texts that cover each other."""
    drawn = [f'<div id="{name}">{re.sub("<[?!][^>]*>", "", text)}</div>' for name, text in pictures.items()]
    page = folder / "pictures.html"
    page.write_text(f"<!DOCTYPE html><html><head>{LOOK}</head><body>{''.join(drawn)}</body></html>")
    return json.loads(unescape(re.search(r'data-seen="([^"]*)"', visit(page, folder).page)[1]))


def test_texts_of_pictures_are_readable(tmp_path):
    assert looked_at({each.stem: each.read_text(encoding="utf-8") for each in PICTURES}, tmp_path) == {}


def test_texts_that_are_cut_or_covered_are_seen(tmp_path):
    text = '<text x="{}" y="20">{}</text>'
    both = text.format(0, "a long title") + text.format(30, "another one") + text.format(190, "beyond")
    seen = looked_at({"bad": f'<svg width="200" height="40">{both}</svg>'}, tmp_path)
    assert seen == {"bad": {"cut": ["beyond"], "covered": [["a long title", "another one"]]}}
