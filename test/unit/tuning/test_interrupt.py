"""Signals from outside: Ctrl-C keeps what was found, a killed run keeps its trials."""

import json
import signal
import subprocess
import sys
import time

import pytest
from programs import ZERO_MATMUL

from iree_tuner.store import Store, StoreError


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
    command = [
        sys.executable, "-m", "iree_tuner.cli", "tune", str(program), "--effort", "quick",
        "--db", str(db), "-o", str(tmp_path / "out.spec.mlir"), "--json", "--keep-flags", "--no-profile",
        "--jobs", "1", "--no-kernels", "--strategy", "shuffle",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 600
    while len(trials_in(db)) < 2:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "no trials within ten minutes"
        time.sleep(0.2)
    yield process, db, tmp_path
    if process.poll() is None:
        process.kill()


def test_ctrl_c_ends_the_search_and_writes_the_spec(running):
    process, _, folder = running
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130, err
    assert "stopping: what was found so far is compared and written" in err
    assert "RESULT, so far: " in err
    assert "Traceback" not in err
    assert json.loads(out.splitlines()[-1])["interrupted"] is True
    assert (folder / "out.spec.mlir").exists()


@pytest.mark.exhaustive  # test_resume kills runs at more moments, without real candidates
def test_a_killed_run_leaves_its_trials(running):
    process, db, folder = running
    before = trials_in(db)
    process.kill()
    process.communicate(timeout=600)
    after = trials_in(db)
    assert set(before) <= set(after)
    assert not (folder / "out.spec.mlir").exists()
