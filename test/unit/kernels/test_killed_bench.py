"""A `kernel bench` that is killed goes on where it was: what is in the database is not measured again."""

import json
import signal
import subprocess
import sys
import time

import pytest
from amounts import amount
from problems import matmul

from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.store import Store, StoreError

pytestmark = [
    pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing()),
]
VARIANTS, KILLS = amount((3, 1), (9, 2))
BEFORE = amount(1, 2)  # trials before the kill, at least


def trials_in(db):
    """Name and assignment of each trial, in the order in which they were stored."""
    if not db.exists():
        return []
    try:
        with Store.open(db, readonly=True) as store:
            found = store.read("SELECT uid, assignment FROM trials ORDER BY id")
            return [(row["uid"], row["assignment"]) for row in found]
    except StoreError:  # it is being made
        return []


KERNELS = ("kernel", "bench", "--variants", str(VARIANTS), "--alone")
SCRIPT = ("bench", "--transform-script", "cpu_matmul", "--search", "--trials", str(VARIANTS))


def start(folder, words=KERNELS):
    """A bench in a process of its own."""
    command = [
        sys.executable, "-m", "iree_tuner.cli", *words, str(folder / "mm.mlir"),
        "--db", str(folder / "trials.db"), "--rounds", "8", "--jobs", "1", "--json",
    ]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def killed_after(count, folder, words=KERNELS):
    """Kill a bench as soon as there are so many trials; those that are there after its end."""
    process = start(folder, words)
    deadline = time.monotonic() + 600
    while len(trials_in(folder / "trials.db")) < count:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "no trials within ten minutes"
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=600)
    assert process.returncode == -signal.SIGKILL
    return trials_in(folder / "trials.db")


@pytest.mark.exhaustive  # kills are tested in store/ and tuning/
def test_a_killed_bench_goes_on_where_it_was(tmp_path):
    (tmp_path / "mm.mlir").write_text(matmul(64, 96, 64))
    before = []
    for _ in range(KILLS):
        there = killed_after(len(before) + BEFORE, tmp_path)
        assert there[: len(before)] == before, "what was measured survives"
        before = there
    process = start(tmp_path)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    row = json.loads(out.splitlines()[0])
    kept = trials_in(tmp_path / "trials.db")
    assert kept[: len(before)] == before
    assignments = [assignment for _, assignment in kept]
    wrong = row["outcomes"].get("wrong_result", 0)
    # A second look may find a variant to be wrong that was right before, which is then written down.
    assert len(assignments) - len(set(assignments)) <= wrong
    assert row["trials"] == len(set(assignments)) == VARIANTS
    assert sum(row["outcomes"].values()) == VARIANTS
    assert row["over_default"]["pairs"] > 0, "the best are built again and judged"
    with Store.open(tmp_path / "trials.db", readonly=True) as store:
        states = [each["state"] for each in store.read("SELECT state FROM runs ORDER BY id")]
        (study,) = store.read("SELECT count(*) AS n FROM studies")
    assert states == ["running"] * KILLS + ["done"]
    assert study["n"] == 1


@pytest.mark.exhaustive
def test_so_does_a_killed_search_of_a_script(tmp_path):
    (tmp_path / "mm.mlir").write_text(matmul(64, 96, 64))
    first = killed_after(BEFORE, tmp_path, SCRIPT)
    process = start(tmp_path, SCRIPT)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    kept = trials_in(tmp_path / "trials.db")
    assert kept[: len(first)] == first, "what was measured survives"
    tried = [row for row in map(json.loads, out.splitlines()) if "outcome" in row]
    assert len(tried) == len({assignment for _, assignment in kept}) == VARIANTS
