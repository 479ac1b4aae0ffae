"""Signals from outside: Ctrl-C keeps what was found, a killed run keeps its trials."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import ZERO_MATMUL

from iree_tuner.cli.main import run
from iree_tuner.store import Store, StoreError
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.search import Search

HOW = (
    "--effort", "smoke", "--candidates", "40", "--json", "--keep-flags", "--no-profile", "--jobs", "1",
    "--no-kernels", "--strategy", "shuffle",
)  # fmt: skip


def trials_in(db):
    """Assignments of the trials that are stored."""
    if not db.exists():
        return []
    try:
        with Store.open(db, readonly=True) as store:
            return [row["assignment"] for row in store.connection.execute("SELECT assignment FROM trials")]
    except StoreError:  # it is being made
        return []


@pytest.fixture
def running(tmp_path):
    """A tuning run in a process of its own, as soon as its database has some trials."""
    program, db = tmp_path / "mm.mlir", tmp_path / "trials.db"
    program.write_text(ZERO_MATMUL)
    own = ("--db", str(db), "-o", str(tmp_path / "out.spec.mlir"))
    command = [sys.executable, "-m", "iree_tuner.cli", "tune", str(program), *own, *HOW]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 600
    while len(trials_in(db)) < 2:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "no trials within ten minutes"
        time.sleep(0.2)
    yield process, db, tmp_path
    if process.poll() is None:
        process.kill()


@pytest.fixture
def heard():
    """A signal that comes after the command does nothing here."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_ctrl_c_ends_the_search_and_writes_the_spec(tmp_path, capfd, monkeypatch):
    """After the second trial, in this process; test_signals has signals to others."""
    monkeypatch.chdir(tmp_path)
    program, db, spec = Path("mm.mlir"), Path("trials.db"), Path("out.spec.mlir")
    program.write_text(ZERO_MATMUL)
    add, added = Search.add, list[Trial]()

    def interrupting(search, trial, *seconds):
        add(search, trial, *seconds)
        added.append(trial)
        if len(added) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Search, "add", interrupting)
    status = run(["tune", str(program), "--db", str(db), "-o", str(spec), *HOW])
    out, err = capfd.readouterr()
    assert status == 130, err
    assert "stopping: results so far, if there are any, are written" in err
    assert "RESULT, so far: " in err
    assert "Traceback" not in err
    assert json.loads(out.splitlines()[-1])["interrupted"] is True
    assert spec.exists()


@pytest.mark.exhaustive  # test_resume kills runs at more moments, without real candidates
def test_a_killed_run_leaves_its_trials(running):
    process, db, folder = running
    before = trials_in(db)
    process.kill()
    process.communicate(timeout=600)
    after = trials_in(db)
    assert set(before) <= set(after)
    assert not (folder / "out.spec.mlir").exists()
