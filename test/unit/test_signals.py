"""Commands that are told to end at any moment: nothing is lost, nothing goes on, nothing is left over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from amounts import amount
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from programs import ZERO_MATMUL

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")

COMMANDS = (
    "tune p.mlir --effort smoke --jobs 1 --db trials.db -o found.mlir --report page.html",
    "tune p.mlir --effort smoke --jobs 1 --no-db --json -o found.mlir",
    "extract p.mlir",
    "space p.mlir --target cuda:sm_90 --sample 2 --compile",
    "profile p.mlir -o profile.json",
    "bench p.mlir",
    "db record p.mlir --count 3 -o recorded",
)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MARK = "IREE_TUNER_TEST_MARK"
PATIENCE_S = 120.0
PHASES = amount([Phase.explicit], list(Phase))
"""By default one moment that is written here, which random ones of few examples may not reach."""


def alive(mark):
    """Processes that were started by a command with this mark, by whatever way."""
    found = []
    for each in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{MARK}={mark}".encode() in each.read_bytes().split(b"\0"):
                found.append(int(each.parent.name))
        except OSError:
            continue
    return found


@example(command=COMMANDS[1], number=signal.SIGTERM, after_s=3.0)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(
    command=st.sampled_from(COMMANDS),
    number=st.sampled_from(SIGNALS),
    after_s=st.floats(0.0, 8.0),
)
def test_a_signal_at_any_moment_ends_it_and_leaves_nothing(tmp_path_factory, command, number, after_s):
    folder = tmp_path_factory.mktemp("signals")
    (folder / "temporary").mkdir()
    (folder / "p.mlir").write_text(ZERO_MATMUL)
    mark = uuid.uuid4().hex
    own = {MARK: mark, "TMPDIR": f"{folder}/temporary", "XDG_DATA_HOME": f"{folder}/data"}
    process = subprocess.Popen(
        [sys.executable, "-m", "iree_tuner", *command.split()], cwd=folder, env=os.environ | own,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        time.sleep(after_s)
        process.send_signal(number)
        _, told = process.communicate(timeout=PATIENCE_S)
        looked_for = "_get_module_details" in told  # `python -m` had not begun to run the command
        assert looked_for or "Traceback" not in told, told
        # Before Python itself has begun, a signal does what it does to any process; and where one came while
        # a module was imported, CPython may end as if by Ctrl-C, whatever the status was to be.
        assert process.returncode in (0, 128 + number, -number, -signal.SIGINT), told
        if process.returncode == 128 + number:
            assert told.strip(), "it says why it ended"
        assert (folder / "p.mlir").read_text() == ZERO_MATMUL
        end = time.monotonic() + PATIENCE_S
        while (left := alive(mark)) and time.monotonic() < end:
            time.sleep(0.1)
        assert not left
        if process.returncode >= 0:
            assert not list((folder / "temporary").iterdir())
        assert not list(folder.rglob(".iree_tuner_*"))
    finally:
        process.kill()
        process.wait()
