"""Find what workers left behind: processes, even where they left the worker's process group, and folders.

Commands have a folder for temporary files, which a later command removes if they were killed.

Every worker is started with a cookie in its environment, which all that it starts inherit:
`<coordinator's pid>.<its start time>.<pool>.<worker>.`, so that a prefix names a worker, a pool, or all
of a coordinator's. Linux only (/proc); elsewhere no process is found, and the process group has to do.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path

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

    A signal may come between any two steps of Python, between making a folder and noting that it is to be
    removed too. So this one's removal is noted before it is made.
    """
    global _shared
    try:
        shared = tempfile.gettempdir()
    except FileNotFoundError:  # there is none: what needs one says so
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
    """Where temporary files are made that stay after the command's end; None for `tempfile`'s own choice."""
    return _shared


def coordinator() -> str:
    """The prefix of the cookies of this process's workers."""
    return f"{os.getpid()}.{_started(os.getpid())}."


def sweep(prefix: str) -> None:
    """Kill every process whose cookie starts so."""
    _sweep(lambda _, cookie: cookie.startswith(prefix))


def sweep_orphans() -> None:
    """Kill what is left of coordinators that were killed before they could do so."""
    _sweep(_is_orphan)


def make_folder() -> tuple[Path, int]:
    """A folder for temporary files, and a handle whose lock says that it is in use until it is closed."""
    folder = Path(tempfile.mkdtemp(prefix=_FOLDER))
    return folder, _lock(folder)


def _lock(folder: Path) -> int:
    handle = os.open(folder / "new", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    (folder / "new").rename(folder / _LOCK)  # only now can it be found unlocked
    return handle


def remove_orphaned_folders() -> None:
    """Remove folders with a lock whose processes were killed since."""
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
            _kill(pid, matches)
        if not found:
            return


def _is_orphan(pid: int, cookie: str) -> bool:
    owner, _, rest = cookie.partition(".")
    if not owner.isdecimal() or _namespace(pid) != _namespace(os.getpid()):
        return False  # pids of another container's processes mean nothing here
    return _started(int(owner)) != rest.partition(".")[0]


def _marked() -> Iterator[tuple[int, str]]:
    """The processes that carry a cookie. Zombies have no environment: they are not found."""
    try:
        names = [entry.name for entry in _PROC.iterdir()]
    except OSError:
        return
    for name in names:
        if name.isdecimal() and (cookie := _cookie(int(name))):
            yield int(name), cookie


def _cookie(pid: int) -> str:
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:  # another user's, or gone
        return ""
    if _MARK not in environment:
        return ""
    values = (part[len(_MARK) :] for part in environment.split(b"\0") if part.startswith(_MARK))
    return next(values, b"").decode(errors="replace")


def _kill(pid: int, matches: Callable[[int, str], bool]) -> None:
    """Kill a process if it still is the one: a handle to it cannot come to mean another process."""
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            if matches(pid, _cookie(pid)):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)


def _started(pid: int) -> str:
    """When a process started, in clock ticks since the boot; "0" if there is none."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return "0"
    state, *fields = stat.rpartition(")")[2].split()
    return "0" if state in "ZX" else fields[18]


def _namespace(pid: int) -> str:
    try:
        return str((_PROC / str(pid) / "ns" / "pid").readlink())
    except OSError:
        return ""
