"""Each compilation once: programs and chips recur from test to test.

Rooms of pytests with `from once import each_once` in their `conftest.py`, and the commands of lit tests
(`command_server.py`), take the results of calls to the compiler from each other: in a folder that
`test/run.py` makes for one run, and without it in their own process.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import get_ident
from typing import TypeVar

import pytest

from iree_tuner.compiler.worker import Workers

SAME_EACH_TIME = {
    "_compile_here", "build_all_here", "build_here", "compile_check", "compile_widened", "emit_here",
    "expose_here", "extract_alone_here", "extract_here", "find_here", "find_joint_here", "lowered_here",
    "matched", "probe_program", "run_phases", "take_apart", "target_here", "valid_inputs", "with_scratch",
}  # fmt: skip
"""What gives the same for the same arguments; other rooms test that it does."""

T = TypeVar("T")

FOLDER = "IREE_TUNER_TEST_RESULTS"
_FILE = re.compile(rb"--iree[\w-]+=/")
"""A flag that names a file."""

_known: dict[bytes, Future[object]] = {}
_submit = Workers.submit


def submit(self: Workers, function, *args, timeout_s=None, **kwargs) -> Future[object]:
    """In the place of `Workers.submit`: a call that came to an end is not made again."""
    limit = {} if timeout_s is None else {"timeout_s": timeout_s}
    if function.__name__ not in SAME_EACH_TIME:
        return _submit(self, function, *args, **limit, **kwargs)
    key = pickle.dumps((function, args, kwargs))
    if _FILE.search(key):  # it may change
        return _submit(self, function, *args, **limit, **kwargs)
    future = _known.get(key)
    if future is None or future.cancelled() or (future.done() and future.exception() is not None):
        future = _known[key] = _kept(key) or _submit(self, function, *args, **limit, **kwargs)
        future.add_done_callback(lambda done: _keep(key, done))
    return future


def draw_once() -> None:
    """From now on Vega's script, which takes two seconds to make, is taken from a process that made it."""
    with suppress(ModuleNotFoundError):  # the core alone has no reports (test/core.py)
        page = import_module("iree_tuner.report.page")
        make = page._vega

        def vega() -> str:
            path = _path(b"vega")
            if path is None or not path.exists():
                return _keep_value(path, make())
            return pickle.loads(path.read_bytes())

        page._vega = vega


def _path(key: bytes) -> Path | None:
    folder = os.environ.get(FOLDER)
    return Path(folder, f"result_{hashlib.sha256(key).hexdigest()}") if folder else None


def _kept(key: bytes) -> Future[object] | None:
    """The result of a call that another process has made."""
    path = _path(key)
    if path is None or not path.exists():
        return None
    future: Future[object] = Future()
    future.set_result(pickle.loads(path.read_bytes()))
    return future


def _keep(key: bytes, done: Future[object]) -> None:
    path = _path(key)
    if path is not None and not path.exists() and not done.cancelled() and done.exception() is None:
        _keep_value(path, done.result())


def _keep_value(path: Path | None, value: T) -> T:
    if path is not None:
        part = path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}")
        part.write_bytes(pickle.dumps(value))
        part.replace(path)
    return value


@pytest.fixture(scope="module", autouse=True)
def each_once():
    """For the conftest of a room."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workers, "submit", submit)
        yield
