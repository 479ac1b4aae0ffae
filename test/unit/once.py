"""Each compilation once: programs and chips recur from test to test of a room."""

from __future__ import annotations

import pickle
from concurrent.futures import Future

import pytest

from iree_tuner.compiler.worker import Workers

SAME_EACH_TIME = ("build_here", "compile_check", "emit_here", "extract_here", "run_phases")
"""What gives the same for the same arguments; other rooms test that it does."""

_known: dict[bytes, Future[object]] = {}


@pytest.fixture(scope="module", autouse=True)
def each_once():
    """A call that came to an end is not made again. For the conftest of a room."""
    submit = Workers.submit

    def found(self, function, *args, timeout_s=None, **kwargs):
        limit = {} if timeout_s is None else {"timeout_s": timeout_s}
        if function.__name__ not in SAME_EACH_TIME:
            return submit(self, function, *args, **limit, **kwargs)
        key = pickle.dumps((function, args, kwargs))
        future = _known.get(key)
        if future is None or future.cancelled() or (future.done() and future.exception() is not None):
            future = _known[key] = submit(self, function, *args, **limit, **kwargs)
        return future

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workers, "submit", found)
        yield
