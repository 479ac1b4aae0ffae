"""Pages: links lead to files that exist, README is short, badges and tables agree with their data."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from badges import badges

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "programs" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)
README_LINES = 120

CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
NAMED = re.compile(
    r"(?<![\w/.~%-])(?:benchmarks|docs|examples|iree_tuner|programs|recordings|scripts|specs|test|transforms)"
    r"/(?:[\w.-]+/)*[\w.-]+\.(?:gz|ipynb|json|jsonl|md|mlir|py|sh|svg|test)\b"
)
"""Files by their paths in the repository, also in code."""
PLACEHOLDERS = ("NAME", "FILE", "KIND", "MODEL")
NOT_A_FILE = re.compile(r"[a-z]+:|#")


def targets(text: str) -> list[str]:
    """Files that a page's links name, relative to it."""
    found = (a or b for a, b in LINK.findall(CODE.sub("", text)))
    return [each.partition("#")[0] for each in found if not NOT_A_FILE.match(each)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page: Path) -> None:
    assert [each for each in targets(page.read_text()) if not (page.parent / each).exists()] == []


def test_the_list_of_reports_has_their_titles() -> None:
    folder = ROOT / "docs" / "upstream"
    reports = {path.name: path.read_text().partition("\n")[0][2:] for path in folder.glob("*.md")}
    del reports["README.md"]
    items = re.findall(r"^\* \[(.*)\]\((\w+\.md)\)$", (folder / "README.md").read_text(), re.MULTILINE)
    assert {name: title for title, name in items} == reports


def test_links_are_found() -> None:
    text = 'a [b](c.md#d) `[e](f.md)` [g](https://h) [i](#j) <img src="k.svg">\n```\n[l](m.md)\n```\n'
    assert targets(text) == ["c.md", "k.svg"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_named_files_exist(page: Path) -> None:
    named = (each for each in NAMED.findall(page.read_text()) if Path(each).stem not in PLACEHOLDERS)
    assert [each for each in named if not (ROOT / each).exists()] == []


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES


def test_badges_are_true() -> None:
    readme = (ROOT / "README.md").read_text()
    for path, svg in badges().items():
        assert path.read_text() == svg, "run scripts/badges.py"
        (value,) = re.findall('aria-label="(.*)"', svg)
        shown = value.replace(": ", " ").replace(" | ", ", ")
        assert f"![{shown}]({path.relative_to(ROOT).as_posix()})" in readme


def test_the_table_of_the_cluster_has_the_numbers_of_the_figure() -> None:
    page = (ROOT / "benchmarks" / "README.md").read_text()
    results = json.loads((ROOT / "benchmarks" / "results" / "cluster_scale.json").read_text())
    for row in results["rows"]:
        cells = f"{row['candidates_an_hour']:,} | {row['efficiency']:.2f}"
        (found,) = (
            line for line in page.splitlines() if line.startswith(f"| {row['hosts']} |") and cells in line
        )
        assert found


def test_the_table_of_models_has_the_numbers_of_the_chart(monkeypatch) -> None:
    page = (ROOT / "benchmarks" / "README.md").read_text()
    results = json.loads((ROOT / "benchmarks" / "results" / "cpu_models.json").read_text())
    assert f"commit {results['about']['commit']}" in page
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from model_tables import Row, summary

    for line in filter(None, summary([Row(**row) for row in results["rows"]]).splitlines()):
        assert line in page
