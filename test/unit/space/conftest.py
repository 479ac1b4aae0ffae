"""One context for all of this room's tests, and each compilation once."""

from __future__ import annotations

import pickle
from concurrent.futures import Future

import pytest
from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers

SAME_EACH_TIME = ("build_here", "emit_here", "extract_here")
"""What gives the same for the same arguments; other rooms test that it does."""

_known: dict[bytes, Future[object]] = {}


@pytest.fixture(scope="session")
def context() -> ir.Context:
    return new_context()


@pytest.fixture(scope="module", autouse=True)
def each_once():
    """A call that came to an end is not made again: chips and programs recur from test to test."""
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
