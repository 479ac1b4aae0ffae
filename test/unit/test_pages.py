"""Pages: relative links lead to files that exist, and README stays short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
README_LINES = 120

CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
NOT_A_FILE = re.compile(r"[a-z]+:|#")


def targets(text: str) -> list[str]:
    """Files that a page's links name, relative to it."""
    found = (a or b for a, b in LINK.findall(CODE.sub("", text)))
    return [each.partition("#")[0] for each in found if not NOT_A_FILE.match(each)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page: Path) -> None:
    assert [each for each in targets(page.read_text()) if not (page.parent / each).exists()] == []


def test_links_are_found() -> None:
    text = 'a [b](c.md#d) `[e](f.md)` [g](https://h) [i](#j) <img src="k.svg">\n```\n[l](m.md)\n```\n'
    assert targets(text) == ["c.md", "k.svg"]


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES
