"""A request to stop is answered at once, whatever is waited for."""

import signal
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path
from types import SimpleNamespace

import pytest
from programs import ZERO_MATMUL

from iree_tuner.cli.main import run
from iree_tuner.compiler.worker import Workers
from iree_tuner.tuning.stop import StopRequest


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals come to the main thread"
)
def test_c2_ctrl_c_is_told_and_ends_what_flags_and_profiles_wait_for():
    told = []
    with (
        Workers(1) as workers,
        StopRequest(lambda: told.append("stopping")) as stop,
        stop.cancelling(workers),
    ):
        waiting = workers.submit(time.sleep, 3600.0, timeout_s=7200.0)
        signal.raise_signal(signal.SIGINT)
        assert told == ["stopping"]
        with pytest.raises(CancelledError):
            workers.wait(waiting)
    assert stop.requested


def test_what_begins_after_a_request_is_ended_too():
    stop = StopRequest()
    stop.request()
    with Workers(1) as workers, stop.cancelling(workers):
        workers.wait(workers.submit(time.sleep, 3600.0, timeout_s=7200.0))
        raise AssertionError("it was cancelled")


def stopped_contests(_source, _wanted, _lab, records, *_, **__):
    records.stop.request()
    return [], "", None


def stopped_suite(_plan, progress, **_):
    progress.stopping()
    return SimpleNamespace(rows=[])


def stopped_search(*given):
    (stop,) = (each for each in given if isinstance(each, StopRequest))
    stop.request()
    return []


@pytest.mark.parametrize(
    ("command", "replaced"),
    [
        (["kernel", "bench", "mm.mlir", "--no-db"], {"kernels.commands.kernel._compete": stopped_contests}),
        (["suite", "run", "cpu", "-o", "results"], {"suite.commands.run.run_suite": stopped_suite}),
        (
            ["bench", "mm.mlir", "--transform-script", "t.mlir", "--search", "--no-db"],
            {
                "script.commands.bench.compile_with_script": lambda *_: SimpleNamespace(lowered=()),
                "script.commands.run.ScriptFlags.load": lambda _: SimpleNamespace(name="t"),
                "script.commands.bench._searched": stopped_search,
                "script.commands.bench._compare": lambda *_: [],
                "script.commands.bench._report": lambda *_: None,
            },
        ),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else "",
)
def test_a_command_that_was_stopped_does_not_end_as_if_it_had_done_all(
    command, replaced, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    Path("mm.mlir").write_text(ZERO_MATMUL)
    for name, fake in replaced.items():
        monkeypatch.setattr(f"iree_tuner.{name}", fake)
    assert run(command) == 130
    assert "interrupted" in capfd.readouterr().err
