"""The process of a back end: however a library behaves, there is one line about it and the next one works."""

import json
import os
import subprocess
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from fake_backends import (
    Counts,
    Failing,
    FailingLate,
    Fake,
    Off,
    Reshaped,
    Retyped,
    Tells,
    Wrong,
)
from made_operations import Made, arrays, expected, magnitudes

from iree_tuner.compiler import process
from iree_tuner.suite.backends.backend import BackendError, Conditions, Job
from iree_tuner.suite.backends.in_numpy import Numpy
from iree_tuner.suite.cores import use_cores
from iree_tuner.suite.device_run import copies_for
from iree_tuner.suite.host import BackendHost
from iree_tuner.suite.site import DeviceAddress, Hosts

QUICK = Conditions(threads=1, batch_s=0.002, pause_s=0.0)


@pytest.fixture
def job(tmp_path):
    """A job of a case, with its inputs; `expected` and `magnitudes` lie beside them."""

    def make(case="matmul f32", conditions=QUICK, copies=1):
        operation = Made(case=case)
        inputs = arrays(operation)
        paths = [str(tmp_path / f"{number}.npy") for number, _ in enumerate(inputs)]
        for path, each in zip(paths, inputs, strict=True):
            np.save(path, each)
        np.save(tmp_path / "expected.npy", expected(operation, inputs))
        scale = magnitudes(operation, inputs)
        if scale is not None:
            np.save(tmp_path / "magnitudes.npy", scale)
        return Job(operation, tuple(paths), "local-task", conditions, copies)

    return make


@pytest.fixture
def want(tmp_path):
    return str(tmp_path / "expected.npy")


class OneBackend(BackendHost):
    """The process of one back end, which is not told each time."""

    def __init__(self, backend, patience_s=60.0):
        super().__init__(lambda: Hosts().process(DeviceAddress("local-task")), patience_s=patience_s)
        self.backend = backend

    def load(self, job, expected="", magnitudes="", slot=""):
        return super().load(self.backend, job, expected, magnitudes, slot)


@pytest.fixture
def host():
    hosts = []

    def start(backend, patience_s=60.0):
        hosts.append(OneBackend(backend, patience_s))
        return hosts[-1]

    yield start
    for each in hosts:
        each.close()


@pytest.fixture
def started(forked_workers, monkeypatch):
    """Processes are no forks, as in `own_workers`, of which others of this module are."""
    monkeypatch.setattr(process, "subprocess", subprocess)


@pytest.fixture(scope="module")
def shared():
    """A host that goes on from test to test, each of which leaves it with a process that works."""
    with closing(OneBackend(Fake())) as found:
        yield found


def test_a_result_is_compared_and_the_operation_sampled(host, job, want, tmp_path):
    one = host(Numpy())
    loaded = one.load(job(copies=2), want, str(tmp_path / "magnitudes.npy"))
    assert loaded.agreement.ok
    assert 0 <= loaded.agreement.worst <= 1
    assert loaded.note == ""
    samples = [one.sample() for _ in range(3)]
    assert all(each > 0.1 for each in samples)
    assert one.load(job(), "").agreement is None
    assert one.sample() > 0


def test_a_single_number_is_compared_too(host, job, want):
    assert host(Numpy()).load(job("sum of (0, 1)"), want).agreement.ok


def test_results_of_types_that_files_do_not_name_are_compared(host, job, want):
    assert host(Fake()).load(job("max bf16"), want).agreement.ok
    assert not host(Wrong()).load(job("max bf16"), want).agreement.ok


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        (Wrong(), "at [17, 23]: got"),
        (Wrong(kind=Reshaped), "got float32[17, 24], expected float32[18, 24]"),
        (Wrong(kind=Retyped), "got float64[18, 24], expected float32[18, 24]"),
    ],
)
def test_a_wrong_result_is_told_and_not_timed(backend, message, host, job, want):
    assert issubclass(backend.kind, Off)  # whose runs are errors
    one = host(backend)
    agreement = one.load(job(), want).agreement
    assert not agreement.ok
    assert message in agreement.message
    with pytest.raises(BackendError, match="nothing is loaded") as caught:
        one.sample()
    assert caught.value.state == "failed"


@pytest.mark.parametrize(
    ("how", "state", "message"),
    [
        ("cannot", "skipped", "it has no kernel for this"),
        ("error", "failed", "RuntimeError: first line"),
        ("long", "failed", "ValueError: xxx"),
        ("silent", "failed", "KeyError"),
        ("unsendable", "failed", "UnsendableError: of no use"),
        ("import", "missing", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("exit", "failed", "its process exited with status 3: good-bye"),
        ("sys.exit", "failed", "its process exited with status 4"),
        ("abort", "failed", "its process was killed by SIGABRT"),
        ("memory", "failed", "MemoryError"),
        ("hang", "failed", "no result after"),
    ],
)
def test_what_fails_is_told_in_one_line_and_the_next_one_works(how, state, message, shared, job, want):
    one = shared
    one.backend, one._patience_s = Failing(how=how), 2.0 if how == "hang" else 60.0
    with pytest.raises(BackendError) as caught:
        one.load(job(), want)
    assert caught.value.state == state
    assert caught.value.message.startswith(message)
    assert "\n" not in caught.value.message
    assert len(caught.value.message) <= 300
    with pytest.raises(BackendError, match="nothing is loaded"):
        one.sample()
    one.backend, one._patience_s = Fake(), 60.0
    assert one.load(job(), want).agreement.ok
    assert one.sample() > 0


def test_after_a_failure_the_process_is_another_one_and_after_a_refusal_it_is_not(host, job):
    one = host(Tells())

    def pid():
        one.backend = Tells()
        return json.loads(one.load(job()).note)["pid"]

    first = pid()
    for backend, state, same in (
        (Failing(how="cannot"), "skipped", True),
        (Failing(how="error"), "failed", False),
    ):  # fmt: skip
        one.backend = backend
        with pytest.raises(BackendError) as caught:
            one.load(job())
        assert caught.value.state == state
        assert (pid() == first) is same


def test_a_process_that_ends_while_it_is_sampled(host, job, want, tmp_path):
    one = host(FailingLate())
    one.load(job(), want)
    assert one.sample() > 0
    (tmp_path / "0.now").touch()
    with pytest.raises(BackendError, match="its process was killed by SIGABRT") as caught:
        one.sample()
    assert caught.value.state == "failed"
    (tmp_path / "0.now").unlink()
    one.load(job(), want)
    assert one.sample() > 0


def test_what_is_not_loaded_cannot_be_sampled(host):
    with pytest.raises(BackendError, match="nothing is loaded"):
        host(Fake()).sample()


def test_errors_can_be_sent():
    import pickle

    again = pickle.loads(pickle.dumps(BackendError("skipped", "no kernel")))
    assert (again.state, again.message, str(again)) == ("skipped", "no kernel", "no kernel")


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity on this system")
@pytest.mark.usefixtures("started")
class TestCores:
    """Of processes that are started as users' are: what is imported before counts the cores."""

    def told(self, host, job, threads):
        conditions = replace(QUICK, threads=threads)
        return json.loads(host.load(job(conditions=conditions)).note)

    def test_a_process_keeps_to_the_first_cores_before_libraries_count_them(self, host, job):
        usable = sorted(os.sched_getaffinity(0))
        one = self.told(host(Tells()), job, 1)
        assert one["cores"] == usable[:1]
        assert one["omp"] == "1"
        assert sorted(os.sched_getaffinity(0)) == usable
        if len(usable) > 1:
            two = self.told(host(Tells()), job, 2)
            assert two["cores"] == usable[:2]
            assert two["omp"] == "2"
            # BLAS has a thread for each core but the one that calls it.
            assert two["threads"] == one["threads"] + 1

    def test_another_number_of_cores_takes_another_process(self, host, job):
        one = host(Tells())
        first = self.told(one, job, 1)
        again = self.told(one, job, 1)
        assert again["pid"] == first["pid"]
        free = self.told(one, job, 0)
        assert free["pid"] != first["pid"]
        assert free["cores"] == sorted(os.sched_getaffinity(0))
        assert free["omp"] == os.environ.get("OMP_NUM_THREADS")

    def test_more_cores_than_there_are(self, monkeypatch):
        every = sorted(os.sched_getaffinity(0))
        monkeypatch.setattr(os, "environ", dict(os.environ))
        try:
            assert use_cores(1000) == len(every)
            assert sorted(os.sched_getaffinity(0)) == every
            assert os.environ["OMP_NUM_THREADS"] == "1000"
        finally:
            os.sched_setaffinity(0, every)


def test_streams_share_the_time_of_a_batch(host, job, want):
    """A run of the fake waits for a millisecond, as for a device that has room for more."""
    alone = host(Fake())
    alone.load(job(), want)
    four = host(Fake())
    four.load(job(conditions=replace(QUICK, streams=4)), want)
    one_us = min(alone.sample() for _ in range(3))
    four_us = min(four.sample() for _ in range(3))
    assert one_us >= 1000
    assert 200 <= four_us < one_us


def test_a_background_load_computes_before_each_sample(host, job, monkeypatch, tmp_path):
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_LOG", str(log))
    one = host(Counts())
    one.load(job(conditions=replace(QUICK, background_load_s=0.005)))
    log.write_text("")
    one.sample()
    lines = log.read_text().splitlines()
    # Its inputs are gone: a back end has taken its copies when it has loaded.
    assert lines[:-1] == ["matmul 1 False"] * (len(lines) - 1)
    assert 1 <= len(lines) - 1 <= 5
    assert lines[-1].startswith("made ")
    quiet = host(Counts())
    quiet.load(job())
    log.write_text("")
    quiet.sample()
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["made"]


def test_a_background_load_of_a_real_library_takes_its_time(host, job):
    one = host(Numpy())
    one.load(job(conditions=replace(QUICK, background_load_s=0.2)))
    start = time.monotonic()
    one.sample()
    assert time.monotonic() - start >= 0.2


@pytest.mark.parametrize(
    ("copies_bytes", "copies"), [(0, 1), (1, 1), (6720, 1), (6721, 2), (67200, 10), (1 << 40, 4096)]
)
def test_copies_have_so_many_bytes_together(copies_bytes, copies):
    operation = Made(case="matmul f32")  # 18 x 40 and 40 x 24
    assert sum(each.bytes for each in operation.inputs) == 6720
    assert copies_for(operation, Conditions(copies_bytes=copies_bytes)) == copies
