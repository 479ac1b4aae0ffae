"""Calls that do their worst: each ends in exactly one way, and nothing of them is left."""

import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from pathlib import Path

import psutil
import pytest
from amounts import amount
from compiler import faults

from iree_tuner.compiler.process import COOKIE, coordinator
from iree_tuner.compiler.worker import Crash, Lost, Ok, Timeout, WorkerError, Workers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

KILLS = amount(5, 60)
"""Of workers at random moments."""

NAMED = {fault.__name__: fault for fault in faults.FAULTS}


def hostile(count, **limits):
    return Workers(count, memory_bytes=faults.MEMORY_BYTES, file_bytes=faults.FILE_BYTES, **limits)


def begin(workers, fault):
    return workers.submit(fault, timeout_s=faults.HANG_S if fault in faults.HANGS else 60.0)


def ending(future):
    """How a call ended, in words."""
    wait([future], timeout=120)
    try:
        end = Workers.end(None, future)
    except Exception as error:
        return type(error).__name__
    match end:
        case Ok():
            return "value"
        case Crash(exit_code):
            return "memory" if "memory limit" in str(end) else f"crash {exit_code}"
        case Timeout():
            return "timeout"
        case Lost():
            return "task error"


def ours(prefix=None):
    """Processes that carry a cookie of this coordinator."""
    mark = f"{COOKIE}={prefix or coordinator()}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and mark in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def gone(pids, within_s=120.0):
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


@pytest.fixture(scope="module")
def workers():
    with hostile(1) as pool:
        yield pool


@pytest.mark.parametrize("name", NAMED)
def test_each_fault_ends_as_it_should(workers, name):
    fault = NAMED[name]
    worker = workers.call(os.getpid)
    assert ending(begin(workers, fault)) in faults.FAULTS[fault]
    if fault is faults.die_later:
        assert gone([worker])  # the next call might begin before it strikes
    assert workers.call(faults.square, 7) == 49


def held():
    """Threads, open files and children (zombies too) of this process, and its resident bytes."""
    gc.collect()
    me = psutil.Process()
    return (threading.active_count(), me.num_fds(), len(me.children())), me.memory_info().rss


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("count", [amount(16, 400)])
def test_many_faults_among_good_calls(count):
    rng = random.Random(count)
    with hostile(1) as first:
        first.call(faults.square, 1)  # multiprocessing's own helpers start once, and stay
    (before, _), others = held(), set(ours())
    resident = []
    struck = victims = 0
    step = amount(8, 25)
    with hostile(4, tasks_per_worker=amount(10, 20)) as pool:
        for start in range(0, count, step):
            chosen = rng.choices(list(faults.FAULTS), k=min(step, count - start))
            victims += check(pool, chosen)
            struck += chosen.count(faults.die_later)
            resident.append(held()[1])
    assert victims <= struck
    assert held()[0] == before
    assert set(ours()) <= others
    print("resident MiB:", [size >> 20 for size in resident])
    # In the first half every thread's heap becomes as large as it gets. What leaks stays: a peak is no leak.
    half, quarter = len(resident) // 2, len(resident) // 4
    grown = min(resident[-quarter:]) - max(resident[:half])
    assert grown < amount(128, 48) << 20, "the caller's memory grows"


def check(pool, chosen):
    """Make these calls, each with a good one; how many died of what an earlier one had left running."""
    calls = [(begin(pool, fault), faults.FAULTS[fault], pool.submit(faults.square, 5)) for fault in chosen]
    victims = 0
    for bad, ends, good in calls:
        assert ending(bad) in ends or is_victim(bad)
        assert ending(good) == "value" or is_victim(good)
        victims += (ending(bad) not in ends) + is_victim(good)
    return victims


def is_victim(future):
    """Whether the call died of what an earlier call in its worker had left running."""
    error = future.exception()
    return isinstance(error, WorkerError) and getattr(error.end, "exit_code", None) == -faults.STRUCK


def test_workers_killed_at_random_moments_cost_one_call_each():
    rng = random.Random(7)
    kills, calls = 0, []
    others = set(ours())
    with hostile(2) as pool:
        while kills < KILLS:
            calls += [pool.submit(time.sleep, rng.choice((0.0, 0.001, 0.02))) for _ in range(12)]
            calls += [pool.submit(bytes, rng.choice((10, 1 << 20))) for _ in range(4)]
            time.sleep(rng.uniform(0, 0.2))
            kills += sum(try_to_kill(pid) for pid in set(ours()) - others if rng.random() < 0.5)
        endings = [ending(call) for call in calls]
    # On a crowded machine five workers in a row may be killed before they begin a call: it has no exit code.
    assert set(endings) <= {"value", "crash -9", "crash None"}
    assert endings.count("crash -9") <= kills


def try_to_kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return 0
    return 1


@pytest.mark.parametrize("pause_s", [0.0, 0.005, 0.3])
def test_an_idle_worker_that_dies_costs_nothing(workers, pause_s):
    for number in range(amount(1, 3)):
        os.kill(workers.call(os.getpid), signal.SIGKILL)
        time.sleep(pause_s)
        assert workers.call(faults.square, number) == number * number


@pytest.mark.parametrize("fault", [faults.abort, faults.sleep_in_native_code, faults.exit_at_once])
@pytest.mark.parametrize("session", [False, True], ids=["group", "session"])
def test_what_a_worker_started_ends_with_it(workers, fault, session):
    child = workers.call(faults.spawn_sleeper, session)
    worker = workers.call(os.getpid)
    assert alive(child)
    assert ending(begin(workers, fault)) in faults.FAULTS[fault]
    assert gone([worker, child])


def test_a_replaced_worker_leaves_nothing():
    with hostile(1, tasks_per_worker=2) as pool:
        child = pool.call(faults.spawn_sleeper, True)
        worker = pool.call(os.getpid)
        assert pool.call(os.getpid) != worker
        assert gone([worker, child])


@pytest.mark.parametrize("size", [1, amount(20, 40) << 20])
def test_frames_of_any_size_go_both_ways(workers, size):
    assert workers.call(bytes.upper, b"x" * size) == b"X" * size


def test_without_a_handle_of_the_process_its_end_is_seen(monkeypatch):
    def refuse(pid):
        raise OSError(f"no handle of {pid}")  # as in some sandboxes, and as if on macOS

    monkeypatch.setattr(os, "pidfd_open", refuse)
    with hostile(1) as pool:
        for fault in (NAMED["be_killed"], NAMED["leave_fork_and_die"], faults.sleep_in_native_code):
            assert ending(begin(pool, fault)) in faults.FAULTS[fault]
        assert pool.call(faults.square, 3) == 9


def test_what_each_worker_did_is_known():
    with hostile(2) as pool:
        pool.call(faults.square, 2)
        assert ending(begin(pool, faults.abort)) == "crash -6"
        pool.call(faults.square, 3)
        spans = pool.spans
    assert [span.what for span in spans][:2] == ["square", "abort"]
    assert all(span.begin <= span.end and span.worker in (0, 1) for span in spans)


def test_closing_ends_busy_and_waiting_calls():
    others = set(ours())
    pool = hostile(2)
    child = pool.call(faults.spawn_sleeper, True)
    busy = [pool.submit(faults.sleep_in_native_code) for _ in range(2)]
    waiting = pool.submit(faults.square, 2)
    pids = [*(set(ours()) - others), child]
    pool.close()
    assert wait([*busy, waiting], timeout=120).not_done == set()
    for call in (*busy, waiting):
        with pytest.raises(CancelledError):
            pool.wait(call)
    assert gone(pids)
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit(faults.square, 2)
    pool.close()


def test_a_cancelled_call_ends_with_its_worker(workers):
    workers.call(faults.square, 1)
    busy, waiting = workers.submit(faults.sleep_in_native_code), workers.submit(faults.square, 2)
    while not busy.running():
        time.sleep(0.01)
    assert waiting.cancel()
    assert wait([busy, waiting], timeout=120, return_when=FIRST_COMPLETED).done == {waiting}
    assert busy.cancel()
    assert wait([busy], timeout=120).done == {busy}
    assert workers.call(faults.square, 3) == 9


def test_the_first_to_end_is_told_first():
    with hostile(2) as pool:
        slow, quick = pool.submit(faults.sleep_in_native_code), pool.submit(faults.square, 2)
        assert wait([slow, quick], timeout=120, return_when=FIRST_COMPLETED).done == {quick}


def test_a_crash_shows_what_its_own_call_printed_last(workers):
    workers.call(exec, "import os; os.write(1, b'an older call'); print('its rest')")
    with pytest.raises(WorkerError) as caught:
        workers.call(exec, "import os; os.write(1, b'x' * 300000 + b'the end'); os.abort()")
    assert "older" not in caught.value.end.output
    assert "its rest" not in caught.value.end.output
    assert caught.value.end.output.endswith("the end")
    assert len(caught.value.end.output) == 64 << 10


def test_temporary_files_go_with_the_worker(workers):
    folder = Path(workers.call(faults.leave_temporary_file))
    assert folder.exists()
    assert ending(begin(workers, faults.abort)) == "crash -6"
    workers.call(faults.square, 1)  # the next worker is there, and the last one cleaned away
    assert not folder.exists()


@pytest.mark.parametrize("python", ["/bin/false", "/no/such/python"])
def test_workers_that_cannot_start_are_an_error(monkeypatch, python):
    with hostile(1) as pool:
        monkeypatch.setattr(sys, "executable", python)
        with pytest.raises(WorkerError, match="no worker could start the call"):
            pool.call(faults.square, 1)
        monkeypatch.undo()
        assert pool.call(faults.square, 1) == 1


def test_arguments_that_do_not_pickle_are_an_error(workers):
    with pytest.raises(WorkerError, match="do not pickle"):
        workers.call(len, threading.Lock())
    with pytest.raises(WorkerError, match="arguments cannot be read"):
        workers.call(len, faults.Bomb())


def test_errors_say_where_they_were_raised(workers):
    with pytest.raises(ValueError, match="plain") as caught:
        workers.call(faults.plain_error)
    assert "in plain_error" in str(caught.value.__cause__)


def test_what_a_killed_coordinator_left_is_swept_by_the_next():
    code = (
        "from compiler import faults; from iree_tuner.compiler.worker import Workers\n"
        "pool = Workers(1); print(pool.call(faults.spawn_sleeper, True))\n"
        "print(pool.call(faults.leave_temporary_file), flush=True)\n"
        "pool.call(faults.sleep_in_native_code)"
    )
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    owner = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert owner.stdout is not None
    child, folder = int(owner.stdout.readline()), Path(owner.stdout.readline().strip())
    with hostile(1) as pool:
        pool.call(faults.square, 1)
        assert alive(child), "its coordinator lives"
        assert folder.exists()
    owner.kill()
    owner.wait()
    owner.stdout.close()
    with hostile(1) as pool:
        pool.call(faults.square, 1)
        assert gone([child])
        assert not folder.exists()


def test_a_worker_ends_only_with_its_pool_not_with_the_thread_that_asked(workers):
    found = []
    asking = threading.Thread(target=lambda: found.append(workers.call(os.getpid)))
    asking.start()
    asking.join()
    assert workers.call(os.getpid) == found[0]
