"""A worker's process: its channel, its folder, and a process group that dies with it however it ends.

The process is started by this module alone, without `multiprocessing`: frames go through two pipes, and the
coordinator waits for a frame and for the end of the process at once. Its group is killed before its leader is
reaped: until then no other process can get its number.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import json
import os
import pickle
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from threading import Lock
from typing import cast

from iree_tuner.compiler import task

# Find what workers left behind: processes, even where they left the worker's process group, and folders.
#
# Commands have a folder for temporary files, which a later command removes if they were killed.
#
# Every worker is started with a cookie in its environment, which all that it starts inherit:
# `<coordinator's pid>.<its start time>.<pool>.<worker>.`, so that a prefix names a worker, a pool, or all
# of a coordinator's. Linux only (/proc); elsewhere no process is found, and the process group has to do.


COOKIE = "IREE_TUNER_WORKER"

_FOLDER, _LOCK = "iree_tuner_", "lock"
_PROC = Path("/proc")
_MARK = f"{COOKIE}=".encode()
_ROUNDS = 10
"""A process may fork between being seen and being killed, so the search is repeated."""

_shared: str | None = None
"""The system's folder for temporary files, while this process has one of its own."""


@contextlib.contextmanager
def own_temporary_folder() -> Generator[None]:
    """While this is entered, all temporary files are made in one folder, which is removed at the end.

    A signal may come between any two steps of Python, for example after a folder is made and before its
    removal is registered. So the removal is registered first.
    """
    global _shared
    try:
        shared = tempfile.gettempdir()
    except FileNotFoundError:  # code that needs a temporary folder reports this
        yield
        return
    before, outer = tempfile.tempdir, _shared
    folder = Path(shared) / f"{_FOLDER}{secrets.token_hex(8)}"
    remove = partial(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(remove)
    handle = -1
    try:
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700)
            handle = _lock(folder)
            _shared, tempfile.tempdir = shared, str(folder)
        yield
    finally:
        _shared, tempfile.tempdir = outer, before
        remove()
        atexit.unregister(remove)
        if handle >= 0:
            os.close(handle)


def shared_folder() -> str | None:
    """The folder of temporary files that outlive the command; None for `tempfile`'s own choice."""
    return _shared


def coordinator() -> str:
    """The prefix of the cookies of this process's workers."""
    return f"{os.getpid()}.{_started(os.getpid())}."


def sweep(prefix: str) -> None:
    """Kill every process whose cookie has this prefix."""
    _sweep(lambda _, cookie: cookie.startswith(prefix))


def sweep_orphans() -> None:
    """Kill the processes of coordinators that were killed before they could do so."""
    _sweep(_is_orphan)


def make_folder() -> tuple[Path, int]:
    """A folder for temporary files, and a handle whose lock marks it as in use until it is closed."""
    folder = Path(tempfile.mkdtemp(prefix=_FOLDER))
    return folder, _lock(folder)


def _lock(folder: Path) -> int:
    handle = os.open(folder / "new", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    (folder / "new").rename(folder / _LOCK)  # only now can it be found unlocked
    return handle


def remove_orphaned_folders() -> None:
    """Remove folders with a lock whose processes were killed."""
    for folder in Path(_shared or tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        with contextlib.suppress(OSError):  # another user's, or gone, or in use
            if folder.lstat().st_uid != os.getuid():
                continue
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def _sweep(matches: Callable[[int, str], bool]) -> None:
    for _ in range(_ROUNDS):
        found = [pid for pid, cookie in _marked() if matches(pid, cookie)]
        for pid in found:
            with contextlib.suppress(OSError):
                handle = os.pidfd_open(pid)  # a handle never refers to another process
                try:
                    if matches(pid, _cookie(pid)):  # it is still the same
                        signal.pidfd_send_signal(handle, signal.SIGKILL)
                finally:
                    os.close(handle)
        if not found:
            return


def _is_orphan(pid: int, cookie: str) -> bool:
    owner, _, rest = cookie.partition(".")
    if not owner.isdecimal() or _namespace(pid) != _namespace(os.getpid()):
        return False  # pids of another container's processes mean nothing here
    return _started(int(owner)) != rest.partition(".")[0]


def _marked() -> Iterator[tuple[int, str]]:
    """The processes that carry a cookie. Zombies have no environment, and are not found."""
    try:
        names = [entry.name for entry in _PROC.iterdir()]
    except OSError:
        return
    for name in names:
        if name.isdecimal() and (cookie := _cookie(int(name))):
            yield int(name), cookie


def _cookie(pid: int) -> str:
    values = (each[len(_MARK) :] for each in _told(pid, "environ").split(b"\0") if each.startswith(_MARK))
    return next(values, b"").decode(errors="replace")


def _started(pid: int) -> str:
    """The start of a process, in clock ticks since the boot; "0" for no process.

    QEMU's user mode gives a process another time for itself in `/proc/PID/stat`, but not here.
    """
    stat = _told(pid, "task", str(pid), "stat").decode(errors="replace")
    state, *fields = stat.rpartition(")")[2].split() or "Z"
    return "0" if state in "ZX" else fields[18]


def _told(pid: int, *names: str) -> bytes:
    """What the system says of a process; empty for one of another user, and for one that is gone."""
    try:
        return _PROC.joinpath(str(pid), *names).read_bytes()
    except OSError:
        return b""


def _namespace(pid: int) -> str:
    try:
        return str((_PROC / str(pid) / "ns" / "pid").readlink())
    except OSError:
        return ""


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
    """A process that makes calls, one after the other; `cookie` marks it and the processes that it starts.

    Created by the thread that uses it: Linux kills the process when that thread ends. Raises OSError if it
    cannot be started.
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
            os.write(self._write, task.frame(pickle.dumps(settings, pickle.HIGHEST_PROTOCOL)))

    def begin(self, payload: bytes, timeout_s: float) -> None:
        """Begin a call: `payload` is the pickled function and arguments.

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
        return cast(task.Reply, pickle.loads(self._receive(time.monotonic() + timeout_s)))

    def output(self) -> str:
        """Beginning and end of the output of the current call, and of processes that it started."""
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
        """The process's exit code, negative for a signal; None if it did not end by itself and was killed."""
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
        """Wait a little for the end of the process."""
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
