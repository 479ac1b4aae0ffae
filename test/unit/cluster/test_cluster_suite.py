"""`suite run` and `suite compare` on a cluster: the same rows as on this machine."""

import threading
import time
from dataclasses import replace

import pytest
from cluster_backends_here import Hangs

from iree_tuner.cli import main
from iree_tuner.suite.backends.backend import Conditions
from iree_tuner.suite.backends.in_numpy import Numpy
from iree_tuner.suite.kinds.product import Matmul
from iree_tuner.suite.plan import Item, SuitePlan
from iree_tuner.suite.results import read_results
from iree_tuner.suite.session import run_suite
from iree_tuner.suite.site import Hosts

PEAKS = (
    '{"local-task": {"name": "x", "flops_per_s": {"f32": 1e9}, "levels": [{"bytes_per_s": 1e9, '
    '"capacity_bytes": null}], "how": "given"}}'
)


@pytest.fixture
def peaks(tmp_path):
    found = tmp_path / "peaks.json"
    found.write_text(PEAKS)
    return found


@pytest.fixture
def plan(tmp_path, peaks):
    quick = Conditions(threads=1, batch_s=0.001, pause_s=0.0, rounds=4)
    items = [Item(Matmul(m=16, n=16, k=16))]
    return SuitePlan("test", items, ("local-task",), tmp_path / "results", quick, rooflines=peaks)


class Watch:
    """Remembers what was noted."""

    def __init__(self):
        self.notes = []

    def noted(self, message):
        self.notes.append(message)

    def __getattr__(self, name):
        return lambda *_: None


def told(row):
    return (
        row.operation, row.backend, row.configuration, row.state, row.verification, row.reference,
        row.compute_type, row.message.removesuffix(" (on board)"), row.time_us is not None,
        row.roofline_share is not None,
    )  # fmt: skip


def test_rows_are_those_of_a_run_on_this_machine(processes, tmp_path, peaks):
    """The program whole and its dispatches alone, beside a library that is there and one that is not."""
    found = {}
    for place, more in (("here", []), ("there", ["--scheduler", processes.address])):
        folder = tmp_path / place
        how = ["--roofline", str(peaks), "--timing", "device", "--rounds", "4", "--sample", "0.001s"]
        libraries = ["--backends", "numpy,rocblas"]
        command = ["suite", "compare", "gemm -m 64 -n 32 -k 16", *libraries, *how, "-o", str(folder)]
        assert main.run([*command, *more]) == 0
        found[place] = read_results(folder)
    here, there = found["here"], found["there"]
    assert [told(row) for row in there.rows] == [told(row) for row in here.rows]
    assert [(row.backend, row.state) for row in there.rows] == [
        ("iree", "ok"), ("numpy", "ok"), ("rocblas", "missing"),
    ]  # fmt: skip
    assert there.rows[2].message.endswith(" (on board)")
    assert {row.device for row in there.rows} == {"local-task of board"}
    assert there.facts.devices == {"local-task of board": here.facts.devices["local-task"]}
    assert there.facts.versions == here.facts.versions
    assert there.facts.conditions == here.facts.conditions


ABSENT = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Absent:
    name: str = "absent"
    title: str = "Absent"
"""


def test_a_back_end_whose_package_the_worker_does_not_have(plan, cluster, tmp_path, monkeypatch):
    (tmp_path / "backend_only_here.py").write_text(ABSENT)
    monkeypatch.syspath_prepend(str(tmp_path))
    import backend_only_here

    absent = backend_only_here.Absent()
    results = run_suite(replace(plan, backends=[absent, Numpy()]), Watch(), site=Hosts(cluster))
    assert [(row.backend, row.state) for row in results.rows] == [
        ("iree", "ok"), ("absent", "missing"), ("numpy", "ok"),
    ]  # fmt: skip
    message = "the back end is not installed: No module named 'backend_only_here' (on board)"
    assert results.rows[1].message == message


def test_what_a_lost_worker_had_loaded_is_loaded_by_the_next(plan, cluster, processes, tmp_path):
    marker = tmp_path / "hangs"

    def kill():
        while not marker.exists():
            time.sleep(0.02)
        processes.serving("board").kill()

    killing = threading.Thread(target=kill, daemon=True)
    killing.start()
    watch = Watch()
    results = run_suite(replace(plan, backends=[Hangs(str(marker))]), watch, site=Hosts(cluster))
    assert [(row.backend, row.state) for row in results.rows] == [("iree", "ok"), ("hangs", "ok")]
    assert watch.notes == ["local-task of board: its worker was lost, and has come back"]
