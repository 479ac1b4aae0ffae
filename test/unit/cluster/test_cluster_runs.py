"""Runs on a cluster find what runs on this machine find; and what is told where a cluster does not do."""

import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time

import dask
import pytest
from cluster_processes import Processes, free_port
from distributed import Client
from once import each_once  # noqa: F401 (a fixture)
from programs import ZERO_MATMUL

from iree_tuner import tune_module
from iree_tuner.cli import main
from iree_tuner.cli.inputs import tell_caution
from iree_tuner.cluster.cluster import Cluster
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.source import Kernels
from iree_tuner.targets.machine import processor_name
from iree_tuner.tuning.lab import Lab, lab_for
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.options import TuningOptions

NO_COMPILER = "no C compiler: install gcc or clang, or set CC"
HOW = {
    "candidates": 1, "effort": "smoke", "seed": 3, "profile": False, "try_flags": False,
    "strategy": "shuffle",  # others learn from times, which are never the same twice
}  # fmt: skip


def tried(result):
    """Of each workload: its candidates, as a set, as they end in any order."""
    return {
        each.task.workload.name: {(trial.assignment, trial.digest) for trial in each.trials}
        for each in result.results
    }


def test_the_same_candidates_are_tried_and_the_verdict_holds(processes):
    here = tune_module(ZERO_MATMUL, **HOW)
    there = tune_module(ZERO_MATMUL, scheduler=processes.address, **HOW)
    assert tried(there) == tried(here)
    (trials,) = [each.trials for each in there.results]
    assert {trial.outcome for trial in trials} <= {"ok", "too_slow", "wrong_result"}
    assert {trial.device for trial in trials if trial.samples_us} == {"local-task of board"}
    assert there.speedup is None or there.speedup > 0, "it is None where nothing won, so nothing was compared"
    assert len(there.time.lanes) > 1


class Notes(Silent):
    def __init__(self):
        self.notes = []

    def noted(self, message):
        self.notes.append(message)


class Joins(Notes):
    """Has a device join when the first candidate has ended, and the first device hang until it measures."""

    def __init__(self, processes, monkeypatch):
        super().__init__()
        self._processes = processes
        self._board = processes.serving("board")
        self._took = threading.Event()
        take = Lab.take

        def note(lab, uri, worker):
            take(lab, uri, worker)
            if worker == "second":
                self._took.set()

        monkeypatch.setattr(Lab, "take", note)

    def tried(self, task, trials, best):
        if "second" not in self._processes.workers:
            self._processes.start_worker("second", "--device", "local-task")
            assert self._took.wait(120)
            self._board.suspend()
        elif trials[0].device == "local-task of second":
            self._board.resume()


def test_a_lab_takes_a_device_that_joins_and_sees_it_leave(processes):
    until = time.monotonic() + 120
    with lab_for(TuningOptions(scheduler=processes.address)) as lab:
        processes.start_worker("second", "--device", "local-task", "--compile-slots", "1")
        outer = processes.workers["second"]
        try:
            while not lab.news and time.monotonic() < until:
                time.sleep(0.05)
            told = []
            lab.tell(told.append)
            assert told == ["local-task of second joined the run"]
            assert [each.name for each in lab.measurers] == ["local-task of board", "local-task of second"]
            assert lab.measurer.name == "local-task of board", "the first device judges"
            assert sorted(each.name for each in lab.slots._workers()) == ["one", "two"]
            assert lab.measurers[1].there
            serving = processes.serving("second")
            serving.terminate()  # as Slurm does: all processes of a job are told, and one tells the other
            outer.terminate()
            outer.wait(timeout=60)
            assert not serving.is_running()
        finally:
            processes.stop("second")
        while lab.measurers[1].there:
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.mark.exhaustive
def test_a_device_joins_a_run(processes, monkeypatch):
    watch = Joins(processes, monkeypatch)
    try:
        how = HOW | {"candidates": 12, "effort": "quick"}
        found = tune_module(ZERO_MATMUL, scheduler=processes.address, observer=watch, **how)
    finally:
        processes.stop("second")
    (trials,) = [each.trials for each in found.results]
    assert len({trial.assignment for trial in trials}) == len(trials) == 12
    assert {trial.device for trial in trials if trial.samples_us} == {
        "local-task of board", "local-task of second",
    }  # fmt: skip
    assert watch.notes == ["local-task of second joined the run"]


def test_a_client_of_the_users_stays_connected(processes):
    with Client(processes.address, set_as_default=False) as client:
        with lab_for(TuningOptions(), client=client) as lab:
            assert lab.measurer.name == "local-task of board"
            assert lab.jobs == 2
        assert client.status == "running"


@pytest.mark.exhaustive
def test_a_run_goes_on_where_a_killed_one_ended(processes, tmp_path):
    known = str(tmp_path / "trials.db")
    first = tune_module(ZERO_MATMUL, scheduler=processes.address, db=known, **HOW)
    again = tune_module(ZERO_MATMUL, scheduler=processes.address, db=known, **HOW)
    assert tried(again) == tried(first)
    assert {trial.at for each in again.results for trial in each.trials} == {
        trial.at for each in first.results for trial in each.trials
    }


@pytest.mark.exhaustive
@pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())
def test_kernels_are_compiled_on_slots_that_have_their_tools(processes, tmp_path):
    # So many that it always has least to do: each kernel is asked of it first.
    processes.start_worker("bare", "--compile-slots", "16", PATH=str(tmp_path), CC="")
    processes.wait_for("bare")
    watch = Notes()
    try:
        found = tune_module(
            ZERO_MATMUL, scheduler=processes.address, observer=watch, sources=[Kernels([CGemm()])], **HOW
        )
    finally:
        processes.stop("bare")
    assert watch.notes == [f"worker 'bare': the kernel 'c_gemm_f32' is not compiled there: {NO_COMPILER}"]
    (kernels,) = [each for result in found.results for each in result.competitors]
    assert {trial.outcome for trial in kernels.trials} <= {"ok", "too_slow"}
    made = {lane.worker for lane in found.time.lanes for what, *_ in lane.calls if what == "make_here"}
    assert made
    assert all(worker.startswith("compile slot") for worker in made)


def test_the_command_shows_who_is_there(processes, capfd):
    assert main.run(["cluster", "--scheduler", processes.address]) == 0
    told = capfd.readouterr()
    assert "board: 0 compile slots, local-task: idle" in told.err + told.out
    assert main.run(["cluster", "--scheduler", processes.address, "--json"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert {row["worker"]: (row["compile_slots"], row["devices"]) for row in rows} == {
        "board": (0, ["local-task"]), "one": (1, []), "two": (1, []),
    }  # fmt: skip


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl, which makes certificates, is not here")
def test_calls_go_over_tls(tmp_path):
    made = [str(tmp_path / name) for name in ("key.pem", "certificate.pem")]
    how = ["-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run(
        ["openssl", "req", "-x509", *how, "-keyout", made[0], "-out", made[1]], check=True,
        capture_output=True,
    )  # fmt: skip
    files = {"ca-file": made[1]}
    for role in ("scheduler", "worker", "client"):
        files |= {f"{role}.key": made[0], f"{role}.cert": made[1]}
    with dask.config.set({f"distributed.comm.tls.{name}": path for name, path in files.items()}):
        more = {"DASK_INTERNAL_INHERIT_CONFIG": dask.config.serialize(dask.config.config)}
        processes = Processes(tmp_path, "tls", more)
        try:
            processes.start_scheduler()
            processes.start_worker("one", "--compile-slots", "1")
            processes.wait_for("one")
            with Cluster(processes.address) as cluster, cluster.compile_calls() as calls:
                assert all(each.address.startswith("tls://") for each in cluster.members())
                assert calls.call(max, 3, 4) == 4
        finally:
            processes.close()


@pytest.fixture
def nobody(monkeypatch):
    """An address where no scheduler is, which is found out soon."""
    monkeypatch.setattr("iree_tuner.cluster.cluster._CONNECT_S", 0.5)
    monkeypatch.setattr("iree_tuner.cluster.worker._CONNECT_S", 0.5)
    return f"tcp://127.0.0.1:{free_port()}"


@pytest.mark.parametrize("command", [["cluster"], ["worker", "--compile-slots", "1"], ["tune", "PROGRAM"]])
def test_no_scheduler_is_one_line(command, nobody, tmp_path, capsys):
    program = tmp_path / "program.mlir"
    program.write_text(ZERO_MATMUL)
    given = [str(program) if each == "PROGRAM" else each for each in command]
    assert main.run([*given, "--scheduler", nobody, *(["--no-db"] if "tune" in command else [])]) == 1
    line = rf"error: {nobody}: no scheduler responds: .* \(start one: dask scheduler\)\n"
    assert re.fullmatch(line, capsys.readouterr().err)


def test_a_worker_without_anything_is_no_worker(capfd):
    assert main.run(["worker", "--scheduler", "tcp://127.0.0.1:1"]) == 2
    assert capfd.readouterr().err == "error: a worker requires --compile-slots or --device\n"


def test_workers_that_only_compile_have_names_of_their_own(monkeypatch):
    names = []
    monkeypatch.setattr("iree_tuner.cluster.worker.run_worker", lambda _, name, *rest: names.append(name))
    for what in (["--compile-slots", "1"], ["--device", "local-task"]):
        assert main.run(["worker", "--scheduler", "tcp://127.0.0.1:1", *what]) == 0
    host = socket.gethostname()
    assert names == [f"{host}+compile-{os.getpid()}", f"{host}+local-task"]


def test_a_device_that_nobody_has(processes):
    with pytest.raises(UsageError, match="no worker has local-sync"):
        tune_module(ZERO_MATMUL, device="local-sync", scheduler=processes.address)


def test_other_versions_are_refused(processes, monkeypatch):
    monkeypatch.setattr("iree_tuner.cluster.cluster.versions_here", lambda: {"iree-tuner": "9.9"})
    with pytest.raises(TunerError, match=r"has iree-tuner .*, but this machine has 9\.9"):
        Cluster(processes.address)


def test_workers_of_other_versions_that_join_take_no_part(processes, monkeypatch):
    with Cluster(processes.address) as cluster:
        monkeypatch.setattr("iree_tuner.cluster.cluster.versions_here", lambda: {"iree-tuner": "9.9"})
        cluster._facts.clear()  # as if all of them had just come
        until = time.monotonic() + 60
        while len(cluster.news) < 3 and time.monotonic() < until:
            time.sleep(0.05)
        assert sorted(each.partition(" has ")[0] for each in cluster.news) == [
            "worker 'board'", "worker 'one'", "worker 'two'",
        ]  # fmt: skip
        assert all(each.endswith("but this machine has 9.9: the worker is not used") for each in cluster.news)
        assert cluster.members() == []


def test_the_processor_of_whoever_compiles_is_the_device_s(processes, monkeypatch):
    with Cluster(processes.address) as cluster:
        own = cluster.processor("board")
        assert own == processor_name()
        with cluster.compile_calls({"board"}, own) as calls:
            assert calls.slots == 2
        with pytest.raises(
            UsageError, match=r"no compile slot runs on the device's processor, Zen 3 .*--chip"
        ):
            cluster.compile_calls({"board"}, "Zen 3")
    monkeypatch.setattr("iree_tuner.cluster.lab.processor_name", lambda: "Zen 3")
    with pytest.raises(UsageError, match=r"board has the processor .* compiles, has Zen 3 \(pass --chip"):
        tune_module(ZERO_MATMUL, scheduler=processes.address, **HOW)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("tcp://127.0.0.1:8786", False), ("tcp://localhost:8786", False), ("tls://10.0.0.5:8786", False),
        ("tcp://10.0.0.5:8786", True),
    ],
)  # fmt: skip
def test_an_open_scheduler_is_warned_about(address, told, capsys):
    tell_caution(address)
    said = "has no TLS: anybody who can connect to it can run code on its workers; see docs/cluster.md"
    assert capsys.readouterr().err.replace("\n", " ").strip() == (
        f"warning: {address} {said}" if told else ""
    )
