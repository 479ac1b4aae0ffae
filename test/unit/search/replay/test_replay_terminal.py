"""With standard error on a terminal: a line of progress there, and all JSON where standard output goes."""

import json
import os
import subprocess
import sys

import pytest
from search.replay.recordings import INPUTS

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals on this system")


def test_progress_leaves_standard_output_alone(tmp_path):
    ours, theirs = pty.openpty()
    arguments = ["replay", str(INPUTS / "flat_h200.jsonl"), "--strategy", "local", "--seeds", "3", "--json"]
    with (tmp_path / "stdout").open("wb") as stdout:
        running = subprocess.Popen(
            [sys.executable, "-m", "iree_tuner.cli", *arguments],
            stdout=stdout,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        )
        os.close(theirs)
        told = b"".join(chunks(ours))
        assert running.wait() == 0
    os.close(ours)
    lines = [json.loads(line) for line in (tmp_path / "stdout").read_text().splitlines()]
    assert [line["seed"] for line in lines if "seed" in line] == [0, 1, 2]
    assert len(lines) == 5
    assert b"flat_h200: local" in told
    assert b"best_after" not in told


def chunks(descriptor):
    """What is written to a terminal, until the other side is closed: an error on Linux, an end elsewhere."""
    while True:
        try:
            chunk = os.read(descriptor, 1 << 16)
        except OSError:
            return
        if not chunk:
            return
        yield chunk
