"""A database of schema 3 is read as before; its file was made by the version that wrote `*Body` findings.

PYTHONPATH=test/unit python test/unit/store/test_record.py    # writes the golden file anew
"""

import contextlib
import io
import json
import re
import shutil
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import pytest

from iree_tuner.cli.main import run

OLD = Path(__file__).with_name("schema_3.sqlite")
GOLDEN = Path(__file__).with_name("schema_3.txt")


class Page(HTMLParser):
    """The text of a page, and the data of its charts."""

    def __init__(self, html):
        super().__init__()
        self.lines = []
        self.feed(html)
        self.close()

    def handle_data(self, data):
        if self.cdata_elem is None and data.strip():
            self.lines.append(" ".join(data.split()))
        elif self.cdata_elem == "script" and data.startswith("{"):
            self.lines += [f"{name}: {rows}" for name, rows in json.loads(data)["datasets"].items()]


def told(*arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run([*map(str, arguments)]) == 0
    return out.getvalue()


def shown(folder):
    """What commands say of the database."""
    page, file = folder / "page.html", shutil.copy(OLD, folder / "old.db")
    found = [told("db", name, "--db", file, "--json") for name in ("list", "best", "failures")]
    found += [told("db", "show", str(study), "--db", file, "--json") for study in (1, 2)]
    for number in (1, 2, 3):
        said = told("report", file, "--run", str(number), "-o", page, "--json")
        found += [re.sub(r'"report": "[^"]*", |, "bytes": \d+', "", said)]
        found += [f"{line}\n" for line in Page(page.read_text(encoding="utf-8")).lines]
    return "".join(found)


def test_a_database_of_schema_3_says_what_it_said(tmp_path):
    for library in ("altair", "vl_convert", "jinja2"):
        pytest.importorskip(library)
    assert shown(tmp_path).splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        GOLDEN.write_text(shown(Path(name)), encoding="utf-8")
