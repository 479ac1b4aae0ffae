"""Tests in forks of the process that collected them: `pytest --forks 3`.

Importing and collecting thousands of tests takes as long as hundreds of them: here it is done once. Each fork
has a part of the tests, in the order of collection, so that what a fixture keeps for a session or a folder
serves many. A fork without tests takes half of the most that another has left. A test that ends its process
fails, and a new fork goes on with the rest.
"""

from __future__ import annotations

import atexit
import marshal
import os
import selectors
import socket
import sys
import threading
import traceback
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from _pytest.junitxml import xml_key

from iree_tuner.compiler.task import die_with, exit_text

_SIZE_BYTES = 4
_NONE_LEFT = -1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, help="run the tests in so many forks of this process")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """In the place of pytest's own, if forks are asked for and nothing failed to be collected."""
    option = session.config.option
    if not option.forks or option.collectonly or session.testsfailed or not session.items:
        return None
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "one thread: OPENBLAS_NUM_THREADS=1"
    config = session.config
    config._tmp_path_factory.getbasetemp()  # the folder of all
    _Loop(session, option.forks).run()
    return True


@dataclass
class _Fork:
    """A process, the tests that are its own, and those it has or begins next."""

    pid: int
    channel: socket.socket
    left: deque[int]
    given: deque[int] = field(default_factory=deque)


class _Loop:
    """Gives tests to forks, and their reports to pytest."""

    def __init__(self, session: pytest.Session, count: int) -> None:
        self._session = session
        self._items = session.items
        self._started = 0
        self._forks: list[_Fork] = []
        self._waiting = selectors.DefaultSelector()
        bounds = [len(self._items) * number // count for number in range(count + 1)]
        self._shares = [deque(range(*each)) for each in pairwise(bounds)]

    def run(self) -> None:
        try:
            for share in self._shares:
                if share:
                    self._start(share)
            while self._forks:
                for key, _ in self._waiting.select():
                    self._attend(key.data)
        finally:
            for fork in self._forks:
                with suppress(ProcessLookupError):
                    os.kill(fork.pid, 9)
                os.waitpid(fork.pid, 0)

    def _start(self, share: deque[int]) -> None:
        ours, theirs = socket.socketpair()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                ours.close()
                self._waiting.close()
                for fork in self._forks:
                    fork.channel.close()
                die_with(parent)
                _run_tests(self._session, theirs, self._started)
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(1)
        theirs.close()
        self._started += 1
        fork = _Fork(pid, ours, share)
        self._forks.append(fork)
        self._waiting.register(ours, selectors.EVENT_READ, fork)

    def _attend(self, fork: _Fork) -> None:
        """Take one message: None asks for a test, a dictionary is a report."""
        message = _receive(fork.channel)
        if message is None:
            index = self._next_for(fork)
            if index != _NONE_LEFT:
                fork.given.append(index)
            _send(fork.channel, index)
        elif isinstance(message, dict):
            self._report(fork, message)
        else:
            self._ended(fork)

    def _next_for(self, fork: _Fork) -> int:
        if not fork.left:
            most = max(self._forks, key=lambda each: len(each.left)).left
            fork.left.extend(reversed([most.pop() for _ in range((len(most) + 1) // 2)]))
        return fork.left.popleft() if fork.left else _NONE_LEFT

    def _report(self, fork: _Fork, data: dict[str, object]) -> None:
        hook = self._session.config.hook
        report = hook.pytest_report_from_serializable(config=self._session.config, data=data)
        if report.when == "setup":
            hook.pytest_runtest_logstart(nodeid=report.nodeid, location=report.location)
        hook.pytest_runtest_logreport(report=report)
        if report.when == "teardown":
            fork.given.popleft()
            hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _ended(self, fork: _Fork) -> None:
        """It has no more tests, or died in one."""
        self._waiting.unregister(fork.channel)
        fork.channel.close()
        self._forks.remove(fork)
        code = os.waitstatus_to_exitcode(os.waitpid(fork.pid, 0)[1])
        if fork.given:
            item = self._items[fork.given.popleft()]
            report = pytest.TestReport(
                item.nodeid, item.location, {}, "failed", f"its process {exit_text(code)}", "call"
            )
            self._session.config.hook.pytest_runtest_logreport(report=report)
            self._start(deque([*fork.given, *fork.left]))


def _run_tests(session: pytest.Session, channel: socket.socket, number: int) -> None:
    """What a fork does."""
    config = session.config
    config.workerinput = {"workerid": f"fork{number}"}  # as of xdist: plugins leave summaries to the parent
    plugins = config.pluginmanager
    for plugin in (plugins.getplugin("terminalreporter"), config.stash.get(xml_key, None)):
        if plugin is not None:
            plugins.unregister(plugin)
    capturing = plugins.getplugin("capturemanager")  # its files are the parent's
    capturing.stop_global_capturing()
    capturing.start_global_capturing()
    capturing.suspend_global_capture()
    factory = config._tmp_path_factory
    factory._basetemp = factory.getbasetemp() / f"fork{number}"
    factory._basetemp.mkdir()
    plugins.register(_Reports(config, channel))
    current = _ask(channel)
    while current != _NONE_LEFT:
        following = _ask(channel)
        nextitem = None if following == _NONE_LEFT else session.items[following]
        config.hook.pytest_runtest_protocol(item=session.items[current], nextitem=nextitem)
        current = following
    config.hook.pytest_sessionfinish(session=session, exitstatus=0)
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class _Reports:
    """Sends what becomes of tests."""

    def __init__(self, config: pytest.Config, channel: socket.socket) -> None:
        self._config = config
        self._channel = channel

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        _send(self._channel, data)


def _ask(channel: socket.socket) -> int:
    _send(channel, None)
    index = _receive(channel)
    if not isinstance(index, int):  # the parent has ended
        os._exit(1)
    return index


def _send(channel: socket.socket, message: object) -> None:
    data = marshal.dumps(message)
    channel.sendall(len(data).to_bytes(_SIZE_BYTES, "little") + data)


def _receive(channel: socket.socket) -> object:
    """The next message; False where the other end is gone."""
    try:
        size = channel.recv(_SIZE_BYTES, socket.MSG_WAITALL)
        if len(size) < _SIZE_BYTES:
            return False
        count = int.from_bytes(size, "little")
        data = channel.recv(count, socket.MSG_WAITALL)
        return marshal.loads(data) if len(data) == count else False
    except OSError:
        return False
