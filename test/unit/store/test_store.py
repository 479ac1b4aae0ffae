"""The store against a dictionary, several processes, and files that are not what they should be."""

import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from amounts import amount
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from store.samples import COMPARISON, DYNAMIC, KEY, KEYS, trial, trials

from iree_tuner.space.configuration import Assignment
from iree_tuner.store import Store, StoreError
from iree_tuner.store.queries import find_studies, ranked, summaries
from iree_tuner.store.store import STEPS, VERSION


class StoreModel(RuleBasedStateMachine):
    """Each study's newest trial of each assignment; of equal times the one that was added last."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "trials.db"
        self.store = Store.open(self.path)
        self.run = self.store.start_run("program", {})
        self.model = {}

    @rule(key=st.sampled_from(KEYS), batch=st.lists(trials, max_size=4))
    def add(self, key, batch):
        self.store.add(self.store.study(key), self.run, batch)
        for each in batch:
            self.take(key, each)

    @rule(key=st.sampled_from(KEYS), at=st.integers(0, 3), value=st.integers(0, 2))
    def add_again(self, key, at, value):
        each = trial(value, at=float(at), message=str(len(self.model)))
        self.store.add(self.store.study(key), self.run, [each])
        self.take(key, each)

    def take(self, key, each):
        known = self.model.setdefault(key.digest, {})
        if each.assignment not in known or known[each.assignment].at <= each.at:
            known[each.assignment] = each

    @rule()
    def reopen(self):
        self.store.close()
        self.store = Store.open(self.path)

    @rule(key=st.sampled_from(KEYS))
    def failed_write_changes_nothing(self, key):
        study = self.store.study(key)
        with pytest.raises(AttributeError):
            self.store.add(study, self.run, [trial(99), None])

    @invariant()
    def holds_what_the_model_holds(self):
        for key in KEYS:
            assert self.store.trials(self.store.study(key)) == self.model.get(key.digest, {})

    def teardown(self):
        self.store.close()
        self.folder.cleanup()


StoreModel.TestCase.settings = settings(max_examples=amount(10, 25), stateful_step_count=12, deadline=None)
TestStoreModel = StoreModel.TestCase


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trials.db"


def test_two_processes_write_at_once(path):
    with Store.open(path) as store:
        study, run = store.study(KEY), store.start_run("first", {})
        child = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("writing.py"), path, "1000", "200"]
        )
        for value in range(200):
            store.add(study, run, [trial(value)])
        assert child.wait(timeout=600) == 0
        assert {each["x"] for each in store.trials(study)} == {*range(200), *range(1000, 1200)}


def test_the_lock_of_another_is_told(path):
    with Store.open(path) as holder, Store.open(path, busy_s=0.05) as waiting:
        locked = pytest.raises(StoreError, match="locked by another process")
        with holder.write(), locked:
            waiting.start_run("program", {})


def test_a_pruned_study_is_told(path):
    with Store.open(path) as store, pytest.raises(StoreError, match="no longer in the database"):
        store.add(7, store.start_run("program", {}), [trial()])


def test_size_of_a_dynamic_loop_is_part_of_the_study(path):
    other = replace(DYNAMIC, workload=replace(DYNAMIC.workload, loops=(64, 5, 6)))
    assert other.workload == DYNAMIC.workload
    with Store.open(path) as store:
        assert store.study(other) != store.study(DYNAMIC)


def version_1(path):
    """A database as version 1 made it, with one trial."""
    connection = sqlite3.connect(path, isolation_level=None)
    STEPS[0](connection)
    connection.execute("PRAGMA user_version = 1")
    connection.execute("PRAGMA application_id = 0x49524554")
    connection.execute("INSERT INTO studies VALUES (1, ?, '{}', '', '')", (KEY.digest,))
    connection.execute("INSERT INTO runs VALUES (1, 'r', 'program', '{}', 1.0, NULL, 'running')")
    connection.execute(
        "INSERT INTO trials VALUES (1, 't', 1, 1, 'w', '{\"x\": 3}', 'ok', x'000000000000f03f', 2.0, '', '',"
        " 0.0, 0.0, '', NULL, ?, 1.0, '')",
        ('{"clock_mhz": null, "temperature_c": null, "load": null, "stolen": null, "throttled": 0}',),
    )
    connection.close()


def test_an_older_database_is_migrated(path):
    version_1(path)
    with Store.open(path, readonly=True) as store:
        assert store.read("SELECT time_us FROM trials")[0]["time_us"] == 1.0
    assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone() == (1,), "reading changes nothing"
    with Store.open(path) as store:
        found = store.trials(store.study(KEY))
        assert found[Assignment.of({"x": 3})].samples_us == (1.0,)
        assert store.read("SELECT time_us FROM trials")[0]["time_us"] == 1.0
        assert store.read("PRAGMA user_version")[0][0] == VERSION


def test_a_new_database_has_the_columns_of_a_migrated_one(path, tmp_path):
    version_1(path)
    Store.open(tmp_path / "new.db").close()
    Store.open(path).close()
    tables = [
        sqlite3.connect(file).execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
        for file in (path, tmp_path / "new.db")
    ]
    assert tables[0] == tables[1]


def test_a_failed_migration_changes_nothing(path, monkeypatch):
    version_1(path)

    def fails(connection):
        connection.execute("ALTER TABLE trials ADD COLUMN other")
        raise ValueError("half way")

    monkeypatch.setattr("iree_tuner.store.store.STEPS", (STEPS[0], fails))
    with pytest.raises(ValueError, match="half way"):
        Store.open(path)
    columns = [row[1] for row in sqlite3.connect(path).execute("PRAGMA table_info(trials)")]
    assert "other" not in columns


@pytest.mark.parametrize("readonly", [False, True])
def test_a_newer_database_is_refused(path, readonly):
    Store.open(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    with pytest.raises(StoreError, match="written by a newer iree-tuner") as told:
        Store.open(path, readonly=readonly)
    assert len(str(told.value).splitlines()) == 1


def make(path, kind):
    if kind == "text":
        path.write_text("not a database at all, but long enough to have a header " * 3)
    elif kind == "empty":
        path.touch()
    elif kind == "foreign":
        sqlite3.connect(path).execute("CREATE TABLE other (id)").connection.close()
    elif kind == "folder":
        path.mkdir()


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("missing", "no such database"),
        ("text", "not a database of iree-tuner"),
        ("empty", "not a database of iree-tuner"),
        ("foreign", "not a database of iree-tuner"),
        ("folder", "is a folder"),
    ],
)
def test_what_is_no_database_is_told(path, kind, message, readonly):
    make(path, kind)
    with pytest.raises(StoreError, match=message) as told:
        Store.open(path, create=False, readonly=readonly)
    assert str(path) in str(told.value)


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot create the folder of the database"):
        Store.open(tmp_path / "file" / "trials.db")


def test_summaries_count_the_newest_trials(path):
    with Store.open(path) as store:
        study, run = store.study(KEY), store.start_run("program.mlir", {})
        store.study(DYNAMIC)
        first = [trial(1), trial(2), trial(3, "compile_crash")]
        store.add(study, run, [*first, trial(1, "wrong_result", at=2.0)])
        store.add_verdict(study, run, None, COMPARISON)
        store.add_verdict(study, run, trial(2).assignment, COMPARISON)
        found = {each.number: each for each in summaries(store)}[study]
        assert found.outcomes == {"ok": 1, "compile_crash": 1, "wrong_result": 1}
        assert found.best == trial(2), "what turned out to be wrong is not the best"
        assert found.verdict.assignment == trial(2).assignment
        assert found.verdict.comparison == COMPARISON
        assert found.program == "program.mlir"
        assert ranked(list(store.trials(study).values()))[0] == trial(2)


def test_studies_are_found_by_number_name_and_key(path):
    with Store.open(path) as store:
        study = store.study(KEY)
        for word in (str(study), KEY.workload.name, KEY.workload.key, KEY.digest):
            assert find_studies(store, word) == [study]
        for word in ("99", "nothing", "", "9" * 30):
            with pytest.raises(StoreError, match="no study or workload"):
                find_studies(store, word)
