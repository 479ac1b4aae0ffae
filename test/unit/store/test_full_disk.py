"""A file system that is really full: what was acknowledged is there, and goes on once there is room."""

import subprocess
import sys
from pathlib import Path

import pytest
from store.test_faults import WRITING, checked

from iree_tuner.store import Store

SIZE = "size=400k"


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", SIZE, "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted here: {error}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def written(path, first):
    """Write until it fails; what was acknowledged, and what it said at the end."""
    command = [sys.executable, str(WRITING), str(path), str(first), "100000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    return {int(line) for line in done.stdout.splitlines()}, done.stderr


def test_a_full_disk_keeps_what_was_acknowledged(small_disk):
    path = small_disk / "trials.db"
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"\0" * (64 << 10))
    acknowledged, message = written(path, 0)
    assert "the disk is full" in message
    assert acknowledged
    assert acknowledged <= checked(path, readonly=True)  # opening to write tells that the disk is full
    ballast.unlink()
    more, _ = written(path, 1_000_000)
    assert more
    assert acknowledged | more <= checked(path, readonly=True)


def test_a_database_on_a_full_disk_can_be_read(small_disk):
    path = small_disk / "trials.db"
    acknowledged, _ = written(path, 0)
    rest = Path(small_disk / "rest")
    with rest.open("wb", buffering=0) as stream, pytest.raises(OSError, match="No space left"):  # noqa: PT012
        while True:
            stream.write(b"\0" * 4096)
    with Store.open(path, readonly=True) as store:
        found = {row[0] for row in store.read("SELECT json_extract(assignment, '$.x') FROM trials")}
    assert acknowledged <= found
