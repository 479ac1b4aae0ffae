"""A request to stop is answered at once, whatever is waited for."""

import signal
import threading
import time
from concurrent.futures import CancelledError

import pytest

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
