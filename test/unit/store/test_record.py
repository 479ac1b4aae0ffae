"""Records: those of an older database, which the version made that had no records, and their page.

PYTHONPATH=test/unit python test/unit/store/test_record.py    # writes the golden file anew
"""

import contextlib
import io
import json
import math
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from iree_tuner.cli.main import run
from iree_tuner.store import Store
from iree_tuner.store.record import (
    ChangeRecord,
    Count,
    Finding,
    Finite,
    Pair,
    Positive,
    RunRecord,
    StepRecord,
    Stretch,
    WholeRecord,
    WorkloadRecord,
    known,
    record_of,
)

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


@pytest.mark.parametrize(("what", "kind"), [("a workload", WorkloadRecord), ("the program", WholeRecord)])
def test_the_page_of_json_has_all_members(what, kind):
    text = (Path(__file__).parents[3] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    table = re.search(rf"\| key of {what} \|.*?\n((?:\|.*\n)+)", text)
    keys = [key for row in table[1].splitlines()[1:] for key in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(keys) == sorted(kind.__struct_fields__)


def test_kernels_of_older_databases_are_changes():
    """They were names, one for each layer."""
    (whole,) = [record_of([Finding("whole", {"kernels": ["b", "a", "b"], "wins": 1})]).whole]
    assert whole == WholeRecord(
        changes=[ChangeRecord("kernels", "b", count=2), ChangeRecord("kernels", "a")], wins=1
    )
    assert record_of([Finding("whole", {"kernels": "b"})]).whole == WholeRecord()
    assert record_of(RunRecord(whole=whole).findings()).whole.changes == whole.changes


def test_numbers_of_numpy_are_numbers(tmp_path):
    record = RunRecord(
        [WorkloadRecord("w", share=np.float64(0.5), outcomes={"ok": 1})], conditions={"at": Path("a")}
    )
    with Store.open(tmp_path / "a.db") as store:
        number = store.start_run("program", {})
        for each in record.findings():
            store.add_finding(number, each.kind, each.body)
        found = record_of(store.findings(number))
    (workload,) = found.workloads
    assert (workload.share, type(workload.share), found.conditions) == (0.5, float, {"at": "a"})


@pytest.mark.parametrize(
    ("value", "kind", "found"),
    [
        (1, Positive, [1.0]),
        (2.0, Count, [2]),
        (10**400, Positive, []),
        (math.inf, Finite, []),
        (True, Count, []),
        ("\udc80", str, ["\\udc80"]),
        ([2.0, 1.0], Pair, []),
        ([1.0, 2.0, 3.0], Pair, []),
        ([1, "x", None, 2], Sequence[Count], [[1, 2]]),
        ({"a": 1, "b": -1}, Mapping[str, Count], [{"a": 1}]),
        (None, str | None, []),
        ({"name": "a", "begin": 0.0}, Stretch, []),
        ({"what": "a", "speedup": "no", "newer": 1}, StepRecord, [StepRecord(what="a")]),
        ([], StepRecord, []),
    ],
)
def test_what_is_odd_is_not_known(value, kind, found):
    assert known(value, kind) == found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        GOLDEN.write_text(shown(Path(name)), encoding="utf-8")
