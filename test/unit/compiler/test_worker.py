"""Workers die, hang and fail; the caller hears how, and goes on."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from iree_tuner.compiler.session import CompileError
from iree_tuner.compiler.worker import WorkerError, Workers, session_for
from iree_tuner.errors import TunerError


@pytest.fixture(scope="module")
def workers():
    with Workers(1) as pool:
        yield pool


def test_values_come_back(workers):
    assert workers.call(len, [1, 2, 3]) == 3


def test_a_crash_is_told_with_its_signal_and_output(workers):
    with pytest.raises(WorkerError) as caught:
        workers.call(os.abort)
    assert caught.value.end.exit_code == -signal.SIGABRT
    assert workers.call(len, [1]) == 1


def test_what_a_dying_worker_printed_is_kept(workers):
    with pytest.raises(WorkerError, match="LLVM ERROR: pretend"):
        workers.call(exec, "import os; os.write(2, b'LLVM ERROR: pretend'); os._exit(1)")


def test_a_hang_ends_at_its_limit(workers):
    start = time.monotonic()
    with pytest.raises(WorkerError):
        workers.call(time.sleep, 60, timeout_s=1.0)
    assert time.monotonic() - start < 50
    assert workers.call(len, []) == 0


def test_compile_errors_keep_their_location(workers):
    with pytest.raises(CompileError) as caught:
        workers.call(_parse, b"func.func @f() {\n  oops\n}", "some.mlir")
    assert caught.value.location == "some.mlir:2:3"
    assert caught.value.diagnostics


def test_unknown_flags_are_an_error(workers):
    with pytest.raises(TunerError, match="no-such-flag"):
        workers.call(_session, ("--no-such-flag",))


def test_a_script_without_a_main_guard_can_use_workers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            from iree_tuner.compiler.worker import Workers
            with Workers(1) as pool:
                print("answer", pool.call(len, [1, 2]))
            """
        )
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout == "answer 2\n", done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="parent death signals are Linux's")
def test_workers_die_with_their_parent(tmp_path):
    code = (
        "import os, sys, time; from iree_tuner.compiler.worker import Workers\n"
        "pool = Workers(1); print(pool.call(os.getpid), flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and _alive(child):
        time.sleep(0.1)
    assert not _alive(child)


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def _parse(source, name):
    return len(str(session_for(()).parse(source, name)))


def _session(flags):
    session_for(flags)


@pytest.mark.parametrize(
    ("count", "given", "expected"), [(1, None, None), (2, None, "1"), (1, "3", "3"), (2, "3", "3")]
)
def test_workers_that_share_cores_have_one_thread_of_blas_each(monkeypatch, count, given, expected):
    """Unless their user says how many."""
    if given is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    else:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", given)
    with Workers(count) as workers:
        assert workers.call(os.getenv, "OPENBLAS_NUM_THREADS") == expected
