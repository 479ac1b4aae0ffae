"""A worker's process: its channel, its folder, and a process group that dies with it, whatever way it ends.

The process is started by this module alone, without `multiprocessing`: frames go through two pipes, and the
coordinator waits for a frame and for the end of the process at once. Its group is killed before its leader is
reaped: until then no other process can get its number.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from threading import Lock

from iree_tuner.compiler import task
from iree_tuner.compiler.orphans import COOKIE, sweep

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[3]); "
    "from iree_tuner.compiler import task; task.serve(int(sys.argv[1]), int(sys.argv[2]))"
)
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""NumPy starts a thread a core when it is imported, which waits awake for 60 ms."""

_OUTPUT_BYTES = 32 << 10
_CHUNK_BYTES = 1 << 20
_POLL_S = 0.05
_END_S = 5.0


class GoneError(Exception):
    """The process ended, or its channel did."""


class WorkerProcess:
    """A process that makes calls, one after the other.

    Created by the thread that uses it: Linux kills the process when that thread ends.

    Args:
        cookie: marks the process and what it starts, see `orphans`.
        settings: where it works, and within which limits.

    Attributes:
        served: calls that it has made.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, cookie: str, settings: task.Settings) -> None:
        self.served = 0
        self._cookie = cookie
        self._settings = settings
        self._reaping = Lock()
        self._exit_code: int | None = None
        settings.temporary.mkdir(parents=True, exist_ok=True)
        theirs_read, self._write = os.pipe()
        self._read, theirs_write = os.pipe()
        arguments = (str(theirs_read), str(theirs_write), json.dumps(sys.path))
        given = {**(_ONE_THREAD if settings.one_of_many else {}), **os.environ}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, *arguments],
                env={**given, COOKIE: cookie, "TMPDIR": str(settings.temporary)},
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs_read, theirs_write),
                process_group=0,  # Ctrl-C in a terminal goes to the caller's group: the caller decides
            )
        except BaseException:
            os.close(self._write)
            os.close(self._read)
            shutil.rmtree(settings.folder, ignore_errors=True)
            raise
        finally:
            os.close(theirs_read)
            os.close(theirs_write)
        self._handle = -1
        with contextlib.suppress(AttributeError, OSError):  # only Linux has it, and not every sandbox
            self._handle = os.pidfd_open(self._process.pid)
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        with contextlib.suppress(OSError):  # it has ended already: the next call finds out
            os.write(self._write, task.greeting(settings))

    def begin(self, payload: bytes, timeout_s: float) -> None:
        """Have a call begun: `payload` is the pickled function and arguments.

        Raises:
            GoneError: the process ended before it began.
            TimeoutError: it has not begun in time.
        """
        deadline = time.monotonic() + timeout_s
        self._send(task.frame(payload), deadline)
        if self._receive(deadline) != task.BEGUN:
            raise GoneError("its connection is corrupted")

    def reply(self, timeout_s: float) -> task.Reply:
        """Wait for the end of the call.

        Raises:
            GoneError: the process ended.
            TimeoutError: no reply yet.
        """
        return task.reply_of(self._receive(time.monotonic() + timeout_s))

    def output(self) -> str:
        """Beginning and end of what the current call printed, and what the processes it started did."""
        try:
            with self._settings.log.open("rb") as log:
                first = log.read(_OUTPUT_BYTES)
                log.seek(max(log.tell(), self._settings.log.stat().st_size - _OUTPUT_BYTES))
                return (first + log.read(_OUTPUT_BYTES)).decode(errors="replace")
        except OSError:
            return ""

    def kill(self) -> None:
        """End the process and its group now. From any thread."""
        with self._reaping:
            if self._exit_code is None:
                self._kill_group()

    def exit_code(self) -> int | None:
        """How the process ended, negative for a signal; None where it does not, by itself, and is killed."""
        deadline = time.monotonic() + _END_S
        while not self._ended() and time.monotonic() < deadline:
            self._pause(deadline)
        code = self._reap()
        self.kill()
        return code

    def dispose(self) -> None:
        """End it, and all that it started, and remove its folder."""
        self.kill()
        sweep(self._cookie)
        deadline = time.monotonic() + _END_S
        while self._reap() is None and time.monotonic() < deadline:
            self._pause(deadline)
        for handle in (self._read, self._write, self._handle):
            with contextlib.suppress(OSError):
                os.close(handle)
        shutil.rmtree(self._settings.folder, ignore_errors=True)

    def _send(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._write, select.POLLOUT, deadline)
            try:
                view = view[os.write(self._write, view[:_CHUNK_BYTES]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise GoneError(str(error)) from None

    def _receive(self, deadline: float) -> bytes:
        length = task.length_of(self._exactly(task.HEADER_BYTES, deadline))
        return self._exactly(length, deadline)

    def _exactly(self, count: int, deadline: float) -> bytes:
        found = bytearray()
        while len(found) < count:
            self._wait(self._read, select.POLLIN, deadline)
            try:
                part = os.read(self._read, min(_CHUNK_BYTES, count - len(found)))
            except BlockingIOError:
                continue
            if not part:
                raise GoneError("its connection was closed")
            found += part
        return bytes(found)

    def _wait(self, channel: int, event: int, deadline: float) -> None:
        """Until the channel is ready. Messages that the process sent before its end are read first."""
        while True:
            left_s = deadline - time.monotonic()
            poll = select.poll()
            poll.register(channel, event)
            if self._handle >= 0:
                poll.register(self._handle, select.POLLIN)
            pause_s = left_s if self._handle >= 0 else min(_POLL_S, left_s)
            ready = dict(poll.poll(max(0.0, pause_s) * 1e3))
            if channel in ready:
                return
            if self._ended():
                if channel in dict(poll.poll(0)):
                    return
                raise GoneError("the process ended")
            if left_s <= 0:
                raise TimeoutError

    def _pause(self, deadline: float) -> None:
        """Wait for the end of the process, for a little."""
        if self._handle < 0:
            time.sleep(_POLL_S)
            return
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        poll.poll(max(0.0, deadline - time.monotonic()) * 1e3)

    def _ended(self) -> bool:
        """Whether it has ended, without reaping it."""
        if self._exit_code is not None:
            return True
        if not hasattr(os, "waitid"):  # macOS before Python 3.13: it can only be asked by reaping it
            return self._process.poll() is not None
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # someone else reaped it
            return True

    def _reap(self) -> int | None:
        with self._reaping:
            if self._exit_code is None and self._ended():
                self._kill_group()
                self._exit_code = self._process.wait()
            return self._exit_code

    def _kill_group(self) -> None:
        for kill in (os.killpg, os.kill):  # the second for a leader that changed its group
            with contextlib.suppress(OSError):
                kill(self._process.pid, signal.SIGKILL)
