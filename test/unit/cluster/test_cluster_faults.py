"""Whatever happens to workers and to the scheduler, each call ends once, with its own value."""

import random
import threading
import time
from contextlib import contextmanager

import cluster_calls_here
import pytest
from amounts import amount
from programs import ZERO_MATMUL
from test_cluster_calls import calls  # noqa: F401  # a fixture

from iree_tuner import tune_module
from iree_tuner.tuning.observer import Silent

KINDS = "kill", "freeze", "kill the device's", "restart the scheduler"
FAULTS = amount(4, 100)
CALLS = amount(40, 3000)
HOW = {
    "candidates": 12, "effort": "quick", "seed": 3, "profile": False, "try_flags": False,
    "strategy": "shuffle",
}  # fmt: skip


def disturb(processes, kind, rng):
    """One fault, and its end."""
    name = "board" if kind == "kill the device's" else rng.choice(["one", "two"])
    if kind == "restart the scheduler":
        processes.restart_scheduler()
        processes.wait_for("board", "one", "two")
        return
    serving = processes.serving(name)
    if serving is None:  # it is being replaced
        return
    if kind == "freeze":
        serving.suspend()
        time.sleep(amount(3.0, 20.0))
        serving.resume()
        return
    serving.kill()
    processes.wait_for(name)


@pytest.mark.timeout(amount(240, 7200))
def test_no_call_is_lost_or_told_twice(processes, cluster, calls, tmp_path):  # noqa: F811
    rng = random.Random(0)
    plan = [KINDS[number % len(KINDS)] for number in range(FAULTS)]
    rng.shuffle(plan)
    told, problems, over = [], [], threading.Event()

    def chaos():
        try:
            for kind in plan:
                time.sleep(rng.uniform(0.2, 1.0))
                disturb(processes, kind, rng)
        except BaseException as error:
            problems.append(error)
        finally:
            over.set()

    with cluster.device_calls("local-task", "board") as device:
        disturbing = threading.Thread(target=chaos)
        disturbing.start()
        number, open_ones = 0, []
        while number < CALLS or not over.is_set():
            while len(open_ones) < 8:
                pool = device if number % 4 == 0 else calls
                future = pool.submit(cluster_calls_here.echo_here, number, 0.02, str(tmp_path))
                future.add_done_callback(lambda each: told.append(each.exception() or each.result()))
                open_ones.append(future)
                number += 1
            open_ones[0].exception(timeout=120)
            open_ones = [each for each in open_ones if not each.done()]
        for each in open_ones:
            each.exception(timeout=120)
        disturbing.join()
    assert not problems
    until = time.monotonic() + 60
    while len(told) < number and time.monotonic() < until:  # who waits may wake before others are told
        time.sleep(0.01)
    assert sorted(told, key=str) == sorted(range(number), key=str)
    assert {int(each.name) for each in tmp_path.iterdir()} == set(range(number)), "each was made"


@contextmanager
def meanwhile(chaos):
    """Call a function with an event that is set in the end, in a thread; what it raises is a failure."""
    over, problems = threading.Event(), []

    def disturbing():
        try:
            chaos(over)
        except BaseException as error:
            problems.append(error)

    thread = threading.Thread(target=disturbing)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert not problems


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", range(10))
def test_a_run_finds_what_it_finds_without_faults(number, processes, undisturbed):
    rng = random.Random(number)

    def chaos(over):
        for kind in rng.sample([kind for kind in KINDS if kind != "freeze"], 2):
            if over.wait(rng.uniform(1.0, 3.0)):
                break
            disturb(processes, kind, rng)

    with meanwhile(chaos):
        found = tune_module(ZERO_MATMUL, scheduler=processes.address, **HOW)
    (trials,) = [each.trials for each in found.results]
    (calm,) = [each.trials for each in undisturbed.results]
    assert sorted(map(str, (each.assignment for each in trials))) == sorted(
        map(str, (each.assignment for each in calm))
    ), "each candidate has one outcome"
    assert [each.message for each in trials if each.outcome not in ("ok", "too_slow")] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", range(3))
def test_a_second_device_comes_and_goes(number, processes):
    """It joins, is killed, and comes back, again and again: each candidate has one outcome."""
    rng = random.Random(number)

    def chaos(over):
        while not over.is_set():
            processes.start_worker("second", "--device", "local-task")
            processes.wait_for("second")
            over.wait(rng.uniform(1.0, 8.0))
            serving = processes.serving("second")
            if serving is not None and rng.random() < 0.5:
                serving.kill()
                over.wait(rng.uniform(1.0, 8.0))
            processes.stop("second")
            over.wait(rng.uniform(0.5, 2.0))

    with meanwhile(chaos):
        how = HOW | {"candidates": 64, "effort": "default"}
        found = tune_module(ZERO_MATMUL, scheduler=processes.address, **how)
    (trials,) = [each.trials for each in found.results]
    assert len({each.assignment for each in trials}) == len(trials) == 64
    assert [each.message for each in trials if each.outcome not in ("ok", "too_slow")] == []
    assert {each.device for each in trials if each.samples_us} <= {
        "local-task of board", "local-task of second",
    }  # fmt: skip


class StopsTheFirst(Silent):
    """Has the first device's worker go for good, when the second one has measured."""

    def __init__(self, processes):
        self.notes = []
        self._processes = processes

    def tried(self, task, trials, best):
        if trials[0].device == "local-task of second" and "board" in self._processes.workers:
            self._processes.stop("board")

    def noted(self, message):
        self.notes.append(message)


@pytest.mark.exhaustive
def test_a_run_ends_on_the_devices_that_are_left(processes):
    processes.start_worker("second", "--device", "local-task")
    processes.wait_for("second")
    watch = StopsTheFirst(processes)
    try:
        how = HOW | {"candidates": 32, "effort": "default"}
        found = tune_module(ZERO_MATMUL, scheduler=processes.address, observer=watch, **how)
        assert "board" not in processes.workers
    finally:
        processes.stop("second")
        processes.start_worker("board", "--device", "local-task")
        processes.wait_for("board")
    (trials,) = [each.trials for each in found.results]
    assert len({each.assignment for each in trials}) == len(trials) == 32
    assert [each.message for each in trials if each.outcome not in ("ok", "too_slow")] == []
    assert found.speedup > 0
    assert found.results[0].judged
    assert [each for each in watch.notes if each.startswith("local-task of board left")]


@pytest.fixture(scope="module")
def undisturbed():
    return tune_module(ZERO_MATMUL, **HOW)
