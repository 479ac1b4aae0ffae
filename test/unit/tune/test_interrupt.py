"""Signals from outside: Ctrl-C keeps what was found, a killed run keeps its journal."""

import json
import signal
import subprocess
import sys
import time

import pytest
from programs import ZERO_MATMUL


@pytest.fixture
def running(tmp_path):
    """A tuning run in a process of its own, as soon as its journal has a round of trials."""
    program, journal = tmp_path / "mm.mlir", tmp_path / "trials.jsonl"
    program.write_text(ZERO_MATMUL)
    command = [
        sys.executable, "-m", "iree_tuner.cli", "tune", str(program), "--effort", "full",
        "--journal", str(journal), "-o", str(tmp_path / "out.spec.mlir"), "--json",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (journal.exists() and journal.read_text().count("\n") >= 32):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "no trials within two minutes"
        time.sleep(0.2)
    yield process, journal, tmp_path
    if process.poll() is None:
        process.kill()


def test_ctrl_c_ends_the_search_and_writes_the_spec(running):
    process, _, folder = running
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "interrupted: this is what was found until then" in err
    assert "Traceback" not in err
    assert json.loads(out.splitlines()[-1])["interrupted"] is True
    assert (folder / "out.spec.mlir").exists()


def test_a_killed_run_leaves_whole_lines(running):
    process, journal, folder = running
    process.kill()
    process.communicate(timeout=60)
    for line in journal.read_text().splitlines():
        assert json.loads(line)["outcome"]
    assert not (folder / "out.spec.mlir").exists()
