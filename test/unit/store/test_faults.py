"""Kills, full disks and what cannot be written: nothing that was acknowledged is lost."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from amounts import amount
from store.samples import KEY, trial

from iree_tuner.store import Store, StoreError

KILLS = amount(8, 200)
NOBODY = 65534
WRITING = Path(__file__).with_name("writing.py")


def checked(path, *, readonly=False):
    """Knobs in the database, each trial once; the file is whole."""
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    with Store.open(path, readonly=readonly) as store:
        values = [row[0] for row in store.read("SELECT json_extract(assignment, '$.x') FROM trials")]
    assert len(values) == len(set(values)), "a trial is there twice"
    return set(values)


def killed_writer(path, first, after):
    """Write from `first` on in a process that is killed after so many of its lines; the first is `ready`."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            with Store.open(path) as store:
                study, run = store.study(KEY), store.start_run("killed", {})
                os.write(writer, b"ready\n")
                for value in range(first, first + 100_000):
                    store.add(study, run, [trial(value, at=float(value))])
                    os.write(writer, b"%d\n" % value)
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        lines = [pipe.readline() for _ in range(after)]
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "it ended by itself"
        lines += pipe.read().splitlines(keepends=True)
    return {int(line) for line in lines if line.endswith(b"\n") and line != b"ready\n"}


def test_kills(tmp_path):
    path, rng = tmp_path / "trials.db", random.Random(5)
    acknowledged, among = set(), 0
    for turn in range(KILLS):
        # A writer may be killed after it wrote and before it says so: each has numbers of its own.
        new = killed_writer(path, turn * 100_000, rng.randrange(12))
        among += bool(new)
        acknowledged |= new
        assert acknowledged <= checked(path), "an acknowledged trial was lost"
    assert among > KILLS / 4, "most were killed before they wrote anything"


def test_a_full_database_keeps_what_it_has(tmp_path):
    path = tmp_path / "trials.db"
    stored = 0
    with Store.open(path) as store:
        study, run = store.study(KEY), store.start_run("program", {})
        pages = store.read("PRAGMA page_count")[0][0]
        store.connection.execute(f"PRAGMA max_page_count = {pages + 3}")
        with pytest.raises(StoreError, match="the disk is full") as told:  # noqa: PT012
            for stored in range(10_000):
                store.add(study, run, [trial(stored, message="long " * 100)])
        assert len(str(told.value).splitlines()) == 1
        assert not store.connection.in_transaction
        store.connection.execute("PRAGMA max_page_count = 1000000")
        store.add(study, run, [trial(stored)])
    assert checked(path) == set(range(stored + 1))


def test_a_limit_on_files_keeps_what_was_acknowledged(tmp_path):
    path = tmp_path / "trials.db"
    Store.open(path).close()
    done = subprocess.run(
        [sys.executable, WRITING, path, "0", "100000", "300000"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {path}: ")
    assert len(done.stderr.splitlines()) == 1
    acknowledged = {int(line) for line in done.stdout.splitlines()}
    assert acknowledged
    assert acknowledged <= checked(path)


def test_a_read_only_database_is_read_and_not_written(tmp_path):
    path = tmp_path / "trials.db"
    with Store.open(path) as store:
        store.add(store.study(KEY), store.start_run("program", {}), [trial(1)])
    with Store.open(path, readonly=True) as store:
        study = store.study(KEY)
        assert [each["x"] for each in store.trials(study)] == [1]
        with pytest.raises(StoreError, match="read-only"):
            store.start_run("program", {})


@pytest.fixture
def folder_of_a_user():
    """A folder of somebody who is not root, and this process is that user meanwhile."""
    folder = Path(tempfile.mkdtemp())
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    yield folder
    if os.getuid() == 0:
        os.seteuid(0)
    shutil.rmtree(folder)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_without_permission_to_write(folder_of_a_user, what):
    folder = folder_of_a_user / "folder"
    path = folder / "trials.db"
    with Store.open(path) as store:
        store.add(store.study(KEY), store.start_run("program", {}), [trial(1)])
    closed = path if what == "file" else folder
    closed.chmod(0o555)
    try:
        with pytest.raises(StoreError) as told:
            Store.open(path)
        assert len(str(told.value).splitlines()) == 1
        with Store.open(path, readonly=True) as store:
            assert [each["x"] for each in store.trials(store.study(KEY))] == [1]
    finally:
        closed.chmod(0o755)
