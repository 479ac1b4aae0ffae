"""Findings: kept with their run, exported, merged and pruned with it."""

import io
import json
import math
import sqlite3
import tempfile
from pathlib import Path

import pytest
from amounts import amount
from hypothesis import given, settings
from hypothesis import strategies as st
from store.samples import COMPARISON, KEY, KEYS, trial

from iree_tuner.store import Store, StoreError
from iree_tuner.store.exchange import Added, import_file, merge, records, write_lines
from iree_tuner.store.queries import Unwanted, all_studies, prune, unwanted
from iree_tuner.store.store import STEPS

BODY = {"speedup": 1.5, "interval": [1.4, 1.6], "note": "<script>", "steps": [{"what": "all"}]}

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10)
names = st.text(max_size=5)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner), max_leaves=8
)
bodies = st.dictionaries(st.text(max_size=8), values, max_size=4)


def exported(store, studies=None):
    stream = io.StringIO()
    write_lines(stream, records(store, all_studies(store) if studies is None else studies))
    return stream.getvalue().splitlines()


def as_read(value):
    """What JSON makes of a value."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {name: as_read(member) for name, member in value.items()}
    return [as_read(member) for member in value] if isinstance(value, list | tuple) else value


@settings(max_examples=amount(10, 30), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["profile", "whole", "newer"]), bodies), max_size=4))
def test_findings_come_back_and_travel(found):
    expected = [(kind, as_read(body)) for kind, body in found]
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "trials.jsonl"
        with Store.open(Path(name) / "a.db") as a, Store.open(Path(name) / "b.db") as b:
            run = a.start_run("program", {})
            for kind, body in found:
                a.add_finding(run, kind, body)
            assert [(each.kind, each.body) for each in a.findings(run)] == expected
            assert a.findings(run + 1) == []
            file.write_text("\n".join(exported(a)))
            import_file(b, file)
            assert merge(b, a) == Added(), "what was imported is known"
            runs = b.read("SELECT id FROM runs")
            assert [
                (each.kind, each.body) for row in runs for each in b.findings(row["id"])
            ] == expected  # fmt: skip


def test_what_json_does_not_have_is_text(store):
    run = store.start_run("program", {})
    store.add_finding(run, "use", {"spec": Path("a.mlir"), "times": (1, math.inf), "deep": [{"x": math.nan}]})
    (found,) = store.findings(run)
    assert found.body == {"spec": "a.mlir", "times": [1, "inf"], "deep": [{"x": "nan"}]}
    assert found.at > 0


def test_a_finding_of_no_run_is_told(store):
    with pytest.raises(StoreError, match="no longer in the database"):
        store.add_finding(7, "whole", BODY)


def test_findings_go_along_with_all_studies_only(store):
    run = store.start_run("program", {})
    for key in KEYS[:2]:
        store.add(store.study(key), run, [trial(1)])
    store.add_finding(run, "whole", BODY)
    one, two = all_studies(store)
    assert any('"kind": "finding"' in line for line in exported(store))
    assert not any('"kind": "finding"' in line for line in [*exported(store, [one]), *exported(store, [two])])


def version_2(path):
    """A database as version 2 made it, with a run."""
    connection = sqlite3.connect(path, isolation_level=None)
    for step in STEPS[:2]:
        step(connection)
    connection.execute("PRAGMA user_version = 2")
    connection.execute("PRAGMA application_id = 0x49524554")
    connection.execute("INSERT INTO runs VALUES (1, 'r', 'program', '{}', 1.0, NULL, 'running')")
    connection.close()


def test_a_database_of_version_2_is_migrated(tmp_path):
    path = tmp_path / "old.db"
    version_2(path)
    with Store.open(path, readonly=True) as store:
        assert store.findings(1) == []
    with Store.open(path) as store:
        store.add_finding(1, "whole", BODY)
        assert [each.body for each in store.findings(1)] == [BODY]
    tables = [
        sqlite3.connect(file).execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
        for file in (path, _new(tmp_path))
    ]
    assert tables[0] == tables[1]


def _new(folder):
    Store.open(folder / "new.db").close()
    return folder / "new.db"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"body": {', '"body": [], "was": {', "the body is not an object"),
        ('"about": "whole"', '"about": 3', "about is not a text"),
        ('"about"', '"a"', "about is missing"),
        ('"at"', '"a"', "at is missing"),
        ('"run": "', '"run": "no', "no earlier line has the run of this line"),
    ],
)
def test_a_damaged_finding_is_told_and_nothing_is_taken(store, other, tmp_path, old, new, message):
    other.add_finding(other.start_run("program", {}), "whole", BODY)
    *lines, last = exported(other)
    file = tmp_path / "damaged.jsonl"
    file.write_text("\n".join([*lines, last.replace(old, new, 1)]))
    with pytest.raises(StoreError, match=message) as told:
        import_file(store, file)
    assert told.value.location == f"{file}:{len(lines) + 1}"
    assert store.read("SELECT id FROM runs") == []


def test_prune_takes_the_findings_of_a_run_without_trials(store):
    run = store.start_run("program", {})
    store.add(store.study(KEY), run, [trial(1)])
    store.add_finding(run, "whole", BODY)
    again = store.start_run("program", {})  # found all its trials in the first
    store.add_verdict(store.study(KEY), again, trial(1).assignment, COMPARISON)
    store.add_finding(again, "whole", BODY)
    kept = store.start_run("program", {})
    store.add(store.study(KEYS[2]), kept, [trial(2, "run_crash")])
    store.add_finding(kept, "whole", BODY)
    for each in (run, again, kept):
        store.end_run(each, "done")
    prune(store, unwanted(store, Unwanted(outcome="ok")))
    assert [row["id"] for row in store.read("SELECT id FROM runs")] == [kept]
    assert [row["run_id"] for row in store.read("SELECT run_id FROM findings")] == [kept]
    assert store.read("PRAGMA foreign_key_check") == []


def test_prune_leaves_the_findings_of_a_run_that_goes_on(store):
    run = store.start_run("program", {})
    store.add(store.study(KEY), run, [trial(1)])
    store.add_finding(run, "profile", json.loads(json.dumps(BODY)))
    prune(store, unwanted(store, Unwanted()))
    assert len(store.findings(run)) == 1
