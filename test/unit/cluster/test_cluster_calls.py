"""Calls on a cluster's workers end as those of processes on this machine do."""

import hashlib
import itertools
import os
import time
from concurrent.futures import CancelledError, wait
from pathlib import Path

import cluster_calls_here
import psutil
import pytest

from iree_tuner.cluster.calls import ClusterCalls
from iree_tuner.cluster.serve import Objects
from iree_tuner.compiler.task import HostLost, UnfitError
from iree_tuner.compiler.worker import Crash, Lost, SentPath, Timeout, WorkerError, Workers, WrittenPath
from iree_tuner.errors import TunerError, UsageError


@pytest.fixture
def calls(cluster):
    with cluster.compile_calls({"board"}) as found:
        yield found


def test_values_come_back(calls):
    futures = [calls.submit(cluster_calls_here.echo_here, number) for number in range(40)]
    assert [calls.wait(each) for each in futures] == list(range(40))
    assert len(calls.spans) == 40


def test_errors_come_back_with_their_place_and_hint(calls):
    with pytest.raises(TunerError) as caught:
        calls.call(cluster_calls_here.fail_here, "no")
    assert str(caught.value) == "there: no (do something else)"


def test_a_process_that_dies_ends_its_call_and_nothing_else(calls):
    others = [calls.submit(cluster_calls_here.echo_here, number, 0.05) for number in range(6)]
    end = calls.end(calls.submit(cluster_calls_here.die_here))
    assert isinstance(end, Crash)
    assert end.exit_code == -9
    assert [each.result() for each in others] == list(range(6))


def test_a_limit_is_kept_there(calls):
    end = calls.end(calls.submit(cluster_calls_here.echo_here, 1, 60.0, timeout_s=0.3))
    assert end == Timeout(0.3)


def test_a_call_that_is_cancelled_is_ended_there(calls, tmp_path):
    running = calls.submit(cluster_calls_here.echo_here, 1, 600.0)
    calls.call(cluster_calls_here.echo_here, 2)  # the other slot
    assert running.cancel()
    with pytest.raises(CancelledError):
        running.result()
    both = [calls.submit(cluster_calls_here.echo_here, number, 0.2) for number in range(2)]
    assert not wait(both, timeout=30).not_done, "both slots are free again"


def test_large_bytes_and_files_travel_on_their_own(calls, tmp_path):
    data = bytes(range(256)) * 4096
    for _ in range(3):  # inside the call, scattered, and in a reply
        assert calls.call(cluster_calls_here.size_here, data) == (len(data), data)
    path = tmp_path / "weights.irpa"
    path.write_text("first")
    there, text = calls.call(cluster_calls_here.read_here, SentPath(path))
    assert text == "first"
    assert Path(there) != path
    assert Path(there).name == path.name
    path.write_text("second!")
    assert calls.call(cluster_calls_here.read_here, SentPath(path))[1] == "second!"


def test_what_is_larger_than_a_message_is_sent_in_parts(calls, monkeypatch, tmp_path):
    """And calls that send the same at the same time have each their own."""
    monkeypatch.setattr("iree_tuner.cluster.line._PART", 50_000)
    data = os.urandom(200_001)
    path = tmp_path / "weights.irpa"
    path.write_text("x" * 120_000)
    futures = [calls.submit(cluster_calls_here.size_here, data) for _ in range(6)]
    files = [calls.submit(cluster_calls_here.read_here, SentPath(path)) for _ in range(3)]
    assert [each.result() for each in futures] == [(200_001, data)] * 6
    assert {each.result()[1] for each in files} == {"x" * 120_000}


def test_a_store_forgets_what_was_not_used_for_longest():
    store = Objects(10)
    for digest in "abc":
        store.put(digest, b"1234")
        store.get("a")
    assert [store.get(each) for each in "abc"] == [b"1234", None, b"1234"]
    store.put("large", bytes(20))
    assert [store.get(each) for each in ("a", "c", "large")] == [None, None, bytes(20)]


def test_what_is_forgotten_there_is_sent_again(cluster, calls):
    data = os.urandom(50_000)
    assert calls.call(cluster_calls_here.size_here, data)[0] == 50_000
    for line in cluster._lines.values():  # as if each worker had it
        line.holds(hashlib.sha256(other := os.urandom(60_000)).hexdigest())
        line.holds(hashlib.sha256(data).hexdigest())
    assert calls.call(cluster_calls_here.size_here, other) == (60_000, other)


@pytest.mark.parametrize("dies", [False, True])
def test_what_a_call_writes_comes_back(dies, calls, tmp_path):
    path = tmp_path / "marker"
    end = calls.end(calls.submit(cluster_calls_here.mark_here, WrittenPath(path), "3", dies))
    assert isinstance(end, Crash) == dies
    assert path.read_text() == "3"


def test_what_is_no_data_is_not_read(calls):
    end = calls.end(calls.submit(cluster_calls_here.no_data_here))
    assert isinstance(end, Lost)
    assert "cluster_calls_here.NoData, which is not part of a run's data" in str(end)


def test_arguments_that_do_not_pickle_are_told_at_once(calls):
    end = calls.end(calls.submit(cluster_calls_here.echo_here, lambda: None))
    assert isinstance(end, Lost)
    assert str(end).startswith("the arguments do not pickle")


def test_each_worker_tells_what_it_is_doing(cluster, calls):
    running = [calls.submit(cluster_calls_here.echo_here, number, 600.0) for number in range(3)]
    names = {each.address: each.name for each in cluster.members()}
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = cluster.client.sync(cluster.ask, "doing")
        told = {names[address]: doing for address, doing in found.items()}
        if sum(map(len, told.values())) == 3:
            break
    assert told["board"] == []
    assert {place for doing in told.values() for place, _, _ in doing} == {"compile"}
    assert all(name.startswith("echo-") for doing in told.values() for _, name, _ in doing)
    assert {len(told["one"]), len(told["two"])} == {1, 2}
    for each in running:
        each.cancel()


def test_what_a_host_lacks_another_makes(cluster, processes):
    """And where all lack it, this one does."""
    with Workers(1) as here, cluster.compile_calls(here=here) as calls:
        pid = processes.serving("two").pid
        assert {calls.call(cluster_calls_here.only_of_here, pid) for _ in range(8)} == {pid}
        with pytest.raises(UnfitError, match="no such tool"):
            calls.call(cluster_calls_here.only_of_here, -1)
        assert calls.call(cluster_calls_here.only_of_here, os.getpid()) == os.getpid()
        assert sorted(cluster.news) == ["worker 'one': no such tool", "worker 'two': no such tool"]
        with pytest.raises(ModuleNotFoundError, match="nowhere"):
            calls.call(cluster_calls_here.import_here)
        running = calls.submit(cluster_calls_here.only_of_here, os.getpid())
        running.cancel()
        assert calls.call(cluster_calls_here.echo_here, 3) == 3


def test_devices_have_one_worker_each(cluster):
    assert cluster.find(["local-task"]) == [("local-task", "board")]
    with pytest.raises(UsageError, match=r"no worker has cuda://7 .*devices: local-task of board"):
        cluster.find(["cuda://7"])
    with cluster.device_calls("local-task", "board") as device:
        with pytest.raises(WorkerError):
            device.call(cluster_calls_here.die_here)
        assert device.call(cluster_calls_here.echo_here, 5) == 5


def test_a_device_does_one_thing_at_a_time_in_whatever_process(cluster):
    places = [cluster.device_calls("local-task", "board", alone=alone) for alone in (False, True, True)]
    futures = [[each.submit(cluster_calls_here.span_here, 0.05) for each in places] for _ in range(4)]
    spans = [[each.result(timeout=60) for each in column] for column in zip(*futures, strict=True)]
    every = sorted(span for column in spans for span in column)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(every))
    pids = [{pid for _, _, pid in column} for column in spans]
    assert [len(each) for each in pids] == [1, 1, 1], "each has a process that stays"
    assert len(set.union(*pids)) == 3
    for each in places:
        each.close()
    deadline = time.monotonic() + 60
    while any(psutil.pid_exists(pid) for pid in pids[1] | pids[2]):
        assert time.monotonic() < deadline, "rooms end when they are closed"
        time.sleep(0.05)
    assert psutil.pid_exists(*pids[0])


def test_what_a_process_held_is_lost_with_its_worker(cluster, processes):
    processes.start_worker("fragile", "--device", "local-sync")
    processes.wait_for("fragile")
    with cluster.device_calls("local-sync", "fragile", alone=True) as alone:
        assert alone.call(cluster_calls_here.echo_here, 1) == 1
        waiting = alone.submit(cluster_calls_here.echo_here, 2, 600.0)
        processes.serving("fragile").kill()
        for future in (waiting, alone.submit(cluster_calls_here.echo_here, 3)):
            assert isinstance(alone.end(future), HostLost), "it is not made again in another process"
    processes.stop("fragile")


def test_where_a_device_computes_nothing_compiles(cluster, processes):
    processes.start_worker("both", "--compile-slots", "1", "--device", "local-sync")
    processes.wait_for("both")
    try:
        with cluster.compile_calls({"both"}) as calls:
            assert sorted(each.name for each in calls._workers()) == ["one", "two"]
            assert calls.slots == 2
    finally:
        processes.stop("both")


def test_a_call_ends_where_nobody_has_the_device_any_more(cluster, processes, monkeypatch):
    monkeypatch.setattr("iree_tuner.cluster.calls.PATIENCE_S", 3.0)
    processes.start_worker("other", "--device", "local-sync")
    processes.wait_for("other")
    with cluster.device_calls("local-sync", "other") as device:
        assert device.call(cluster_calls_here.echo_here, 1) == 1
        processes.stop("other")
        end = device.end(device.submit(cluster_calls_here.echo_here, 2))
    assert isinstance(end, Crash)
    assert "is left that can make the call" in str(end)


def test_calls_of_a_worker_that_is_asked_to_end_are_made_by_the_next(cluster, processes):
    """However far its end has come when a call arrives."""
    processes.start_worker("leaving", "--device", "local-sync")
    processes.wait_for("leaving")
    with cluster.device_calls("local-sync", "leaving") as device:
        futures = [device.submit(cluster_calls_here.echo_here, number, 0.02) for number in range(60)]
        futures[5].result(timeout=60)
        processes.serving("leaving").terminate()
        futures += [device.submit(cluster_calls_here.echo_here, number, 0.02) for number in range(60, 120)]
        assert [each.result(timeout=60) for each in futures] == list(range(120))
    processes.stop("leaving")


def test_devices_of_a_run_are_of_one_kind(cluster, monkeypatch):
    devices = [("local-task", "board")]
    assert cluster.target(devices, "host").device == "local-task"
    chips = iter(["znver4", "znver3"])
    monkeypatch.setattr(
        "iree_tuner.cluster.cluster.ClusterCalls.call",
        lambda self, function, uri, chip: function(uri, next(chips)),
    )
    with pytest.raises(UsageError, match="is not of the same kind as local-task of board"):
        cluster.target(2 * devices, "host")


@pytest.mark.exhaustive
def test_plain_dask_workers_serve_with_a_preload(cluster, processes):
    served = ["--preload", "iree_tuner.cluster.serve", "--", "--compile-slots", "1"]
    command = ["-m", "distributed.cli.dask_worker", processes.address, "--name", "plain"]
    processes.start("plain", *command, *served)
    processes.wait_for("plain")
    try:
        with ClusterCalls(
            cluster, "compile", lambda: [each for each in cluster.members() if each.name == "plain"]
        ) as calls:
            assert calls.call(cluster_calls_here.echo_here, 3) == 3
    finally:
        processes.stop("plain")
