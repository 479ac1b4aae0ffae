"""One worker from its start to its end: a pebble pool of a single process, its folder, and what it leaves."""

from __future__ import annotations

import contextlib
import shutil
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from threading import Thread

from pebble import ProcessPool

from iree_tuner.compiler import task
from iree_tuner.compiler.orphans import COOKIE, sweep
from iree_tuner.compiler.process import OneProcess

_OUTPUT_BYTES = 32 << 10
_LOOK_S = 0.25
_END_S = 5.0
"""How long a killed process and pebble's threads may take to end; all it costs to give up is a thread."""


class Hired:
    """A worker process and all that belongs to it.

    Args:
        cookie: marks the process and what it starts, see `orphans`.
        settings: where it works, and within which limits.
    """

    def __init__(self, cookie: str, settings: task.Settings) -> None:
        self._cookie = cookie
        self._settings = settings
        self._context = OneProcess({COOKIE: cookie, "TMPDIR": str(settings.temporary)})
        self._pool = ProcessPool(1, initializer=task.start, initargs=(settings,), context=self._context)
        self.served = 0

    def start(self) -> None:
        """Start the process, in this thread: Linux kills it when the thread that started it ends.

        Raises:
            OSError, RuntimeError: it could not be started.
        """
        settings = self._settings
        settings.temporary.mkdir(parents=True, exist_ok=True)
        if not self._pool.active:
            raise RuntimeError("the worker could not be started")

    def schedule(self, number: int, payload: bytes, timeout_s: float) -> Future[task.Reply]:
        """Begin a call.

        Raises:
            RuntimeError: the process is gone.
        """
        return self._pool.schedule(task.run, args=(number, payload), timeout=timeout_s)

    def result(self, future: Future[task.Reply], timeout_s: float) -> task.Reply:
        """Wait for a call.

        Looks after the process now and then: a call that is scheduled just as pebble's pool breaks is
        never ended by pebble.

        Raises:
            ProcessExpired, BrokenProcessPool: the process is gone.
            TimeoutError: no reply yet.
        """
        deadline = time.monotonic() + timeout_s
        gone = 0
        while True:
            try:
                return future.result(_LOOK_S)
            except TimeoutError:
                if future.done():
                    return future.result()
            gone = 0 if self._is_there() else gone + 1
            if gone == 2:  # once may be between its end and pebble's word of it
                raise BrokenProcessPool("the worker is gone")
            if time.monotonic() > deadline:
                raise TimeoutError

    def _is_there(self) -> bool:
        process = self._context.process
        return process is not None and process.is_alive() and self._pool.active

    def has_begun(self, number: int) -> bool:
        """Whether that call was begun."""
        try:
            return self._settings.begun.read_bytes() == task.numbered(number)
        except OSError:
            return False

    def output(self) -> str:
        """Beginning and end of what the current call printed, and what the processes it started did."""
        try:
            with Path(self._settings.log).open("rb") as log:
                first = log.read(_OUTPUT_BYTES)
                log.seek(max(log.tell(), self._settings.log.stat().st_size - _OUTPUT_BYTES))
                return (first + log.read(_OUTPUT_BYTES)).decode(errors="replace")
        except OSError:
            return ""

    @property
    def out_of_time(self) -> bool:
        """Whether pebble ended it at its call's limit."""
        return self._context.process is not None and self._context.process.out_of_time

    def kill(self) -> None:
        """End the process and its group now. From any thread."""
        process = self._context.process
        # It may not be started yet; the thread that does so looks whether it is still wanted.
        with contextlib.suppress(AttributeError, ValueError):
            if process is not None:
                process.kill()

    def exit_code(self) -> int | None:
        """How the process ended; None where it did not, by itself, and is killed."""
        process = self._context.process
        if process is None or process.pid is None:
            return None
        process.join(_END_S)
        code = process.exitcode
        self.kill()
        return code

    def dispose(self) -> None:
        """End it, and all that it started, and remove its folder."""
        self.kill()
        sweep(self._cookie)
        self._pool.stop()
        # What hid itself from the sweep may hold a pipe open, and pebble's threads would wait for its end.
        joining = Thread(target=self._pool.join, daemon=True)
        joining.start()
        joining.join(_END_S)
        process = self._context.process
        with contextlib.suppress(ValueError):  # not dead yet
            if process is not None and not joining.is_alive():
                process.close()
        shutil.rmtree(self._settings.folder, ignore_errors=True)
