"""Disposable workers: whatever runs compiler phases runs here, because it may not come back.

An LLVM error exits the process, a bad configuration aborts or hangs it, and there is no
cancel call. A worker keeps one compiler session for each set of flags it is asked for.

Each worker is a process (`process`) in a `slot`, whose thread decides how a call ended and starts the next
process when one is spent. Calls that had not begun when their worker died are made again.
"""

from __future__ import annotations

import itertools
import os
import pickle
import shutil
import time
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path
from threading import Condition, Lock
from typing import TYPE_CHECKING, Any, TypeVar

from iree_tuner.compiler.calls import TIMEOUT_S, Calls
from iree_tuner.compiler.ends import Crash, End, Lost, Ok, SpentError, Timeout, WorkerError
from iree_tuner.compiler.orphans import (
    coordinator,
    make_folder,
    remove_orphaned_folders,
    sweep,
    sweep_orphans,
)
from iree_tuner.compiler.process import WorkerProcess
from iree_tuner.compiler.slot import Call, CallFuture, Slot, Span
from iree_tuner.compiler.task import Settings

if TYPE_CHECKING:
    from iree_tuner.compiler.session import CompilerSession

__all__ = [
    "Calls", "Crash", "End", "Lost", "Ok", "SpentError", "Timeout", "WorkerError", "Workers", "session_for",
]  # fmt: skip

R = TypeVar("R")

FAIR_SHARE = 0
"""Of the machine's memory, for `memory_bytes`: three quarters of it divided among the workers."""

_MOST_BYTES = 8 << 30
_LEAST_FILE_BYTES = 64 << 20
_CLOSE_S = 10.0

_pools = itertools.count()


class Workers(Calls):
    """A pool of worker processes.

    Args:
        count: processes; 1 for measuring.
        tasks_per_worker: a worker is replaced after this many calls (0: never), against slow leaks.
        memory_bytes: how much data a worker may hold, and each process that it starts; `FAIR_SHARE` is
            at most 8 GiB; None is no limit, for drivers of GPUs, which map more than they use.
        file_bytes: how large a file may get that a worker writes, its output among them; None is a quarter of
            the free space for temporary files, at most 8 GiB.
        yielding: workers give way to other processes: set if they compile while something is timed.
    """

    def __init__(
        self,
        count: int = 1,
        tasks_per_worker: int = 0,
        *,
        memory_bytes: int | None = FAIR_SHARE,
        file_bytes: int | None = None,
        yielding: bool = False,
    ) -> None:
        if memory_bytes == FAIR_SHARE:
            memory_bytes = min(_MOST_BYTES, memory_of_machine() * 3 // 4 // count)
        self._crew = _Crew(count, tasks_per_worker, memory_bytes, file_bytes, yielding)
        self._close = weakref.finalize(self, self._crew.close)

    def submit(
        self,
        function: Callable[..., R],
        *args: object,
        timeout_s: float = TIMEOUT_S,
        **kwargs: object,
    ) -> Future[R]:
        """Run a module-level function in a worker. Its future ends as `end` and `wait` say.

        Cancelling it while it runs kills its worker. The limit counts from the begin of the call.
        """
        future = CallFuture()
        try:
            payload = pickle.dumps((function, args, kwargs), pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            problem = WorkerError(Lost(f"the arguments do not pickle: {type(error).__name__}: {error}"))
            problem.__cause__ = error
            future.set_exception(problem)
            return future
        if module := getattr(function, "__module__", None):  # methods of built-in types have none
            self._crew.modules.setdefault(module)
        self._crew.add(getattr(function, "__name__", "call"), payload, timeout_s, future)
        return future

    def settle(self) -> None:
        """Wait until all calls that were submitted so far have ended."""
        wait(self._crew.begun())

    def cancel_all(self) -> None:
        """Cancel the calls that have not ended; workers with a running call are killed."""
        for future in self._crew.begun():
            future.cancel()

    @property
    def spans(self) -> tuple[Span, ...]:
        """The work of each worker with its times, ordered by the ends of calls."""
        return tuple(self._crew.spans)

    def close(self) -> None:
        """Stop the workers, busy ones too. Calls that did not end are cancelled."""
        self._close()


class _Crew:
    """The calls that wait and the slots that take them; known to the slots' threads, unlike `Workers`."""

    def __init__(
        self,
        count: int,
        tasks_per_worker: int,
        memory_bytes: int | None,
        file_bytes: int | None,
        yielding: bool,
    ) -> None:
        self._yielding = yielding
        self.tasks_per_worker = tasks_per_worker
        self.memory_bytes = memory_bytes
        self.closed = False
        self.spans: list[Span] = []
        self.modules: dict[str, None] = {}  # of all functions that were called
        self._count = count
        self._folder, self._folder_handle = make_folder()
        free = shutil.disk_usage(self._folder).free
        self._file_bytes = file_bytes or max(_LEAST_FILE_BYTES, min(_MOST_BYTES, free // 4))
        self._owner = os.getpid()
        self._cookie = f"{coordinator()}{next(_pools)}."
        self._hired = itertools.count()
        self._lock = Lock()
        self._pending: deque[Call] = deque()
        self._calls: list[Future[Any]] = []
        self._slots: list[Slot] = []
        self._idle: list[tuple[Slot, Condition]] = []

    def add(self, what: str, payload: bytes, timeout_s: float, future: CallFuture) -> None:
        """Queue a call, for the slot that was idle last: its worker is the warmest."""
        with self._lock:
            if self.closed:
                raise RuntimeError("the workers are closed")
            call = Call(what, payload, timeout_s, future)
            self._pending.append(call)
            self._calls = [each for each in self._calls if not each.done()]
            self._calls.append(future)
            if self._idle:
                self._idle.pop()[1].notify()
            elif len(self._slots) < self._count:
                if not self._slots:
                    sweep_orphans()
                    remove_orphaned_folders()
                self._slots.append(Slot(self, len(self._slots)))
        future.add_done_callback(lambda _: self._cancelled(call) if future.cancelled() else None)

    def begun(self) -> list[Future[Any]]:
        """Calls that have not ended."""
        with self._lock:
            self._calls = [future for future in self._calls if not future.done()]
            return list(self._calls)

    def next(self, slot: Slot) -> Call | None:
        """The next call; None at the end."""
        awake = Condition(self._lock)
        with self._lock:
            while not self._pending and not self.closed:
                self._idle.append((slot, awake))
                awake.wait()
            return None if self.closed else self._pending.popleft()

    def hire(self) -> WorkerProcess:
        """A new worker. Raises OSError where it cannot be started."""
        serial = next(self._hired)
        folder = str(self._folder / str(serial))
        modules = tuple(self.modules)
        settings = Settings(
            folder, os.getpid(), self.memory_bytes, self._file_bytes, self._yielding, modules, self._count > 1
        )  # fmt: skip
        return WorkerProcess(f"{self._cookie}{serial}.", settings)

    def note(self, span: Span) -> None:
        """Keep what a worker did."""
        self.spans.append(span)

    def close(self) -> None:
        """End all calls and workers."""
        if os.getpid() != self._owner:  # in a fork of the coordinator, at its exit
            return
        with self._lock:
            self.closed = True
            pending = list(self._pending)
            self._pending.clear()
            for _, awake in self._idle:
                awake.notify()
            self._idle.clear()
        for call in pending:
            call.drop()
        deadline = time.monotonic() + _CLOSE_S
        for slot in self._slots:
            slot.kill()
        for slot in self._slots:
            slot.thread.join(max(0.0, deadline - time.monotonic()))
        sweep(self._cookie)
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._folder_handle)

    def _cancelled(self, call: Call) -> None:
        """Take a cancelled call out of the queue, or kill its worker."""
        with self._lock:
            waiting = call in self._pending
            if waiting:
                self._pending.remove(call)
        if waiting:
            call.drop()
        else:
            for slot in self._slots:
                slot.kill(call)


def memory_of_machine() -> int:
    """Bytes that this process and its children may use together: of the machine, or of its container."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            return min(physical, int(Path("/sys/fs/cgroup", name).read_text()))
        except (OSError, ValueError):  # no such control group, or "max"
            continue
    return physical


_sessions: dict[tuple[str, ...], CompilerSession] = {}
_SESSIONS_KEPT = 4


def session_for(flags: tuple[str, ...]) -> CompilerSession:
    """This process's session with these flags. For functions that run in workers.

    Some flags are global to the process although a session takes them (flags of the tuner and of specs):
    another session may have changed them since, so they are set again.
    """
    from iree_tuner.compiler.session import CompilerSession  # workers that never compile do without it

    if flags not in _sessions:
        if len(_sessions) >= _SESSIONS_KEPT:
            _sessions.pop(next(iter(_sessions)))
        _sessions[flags] = CompilerSession(flags)
    session = _sessions[flags]
    session.apply_flags()
    return session
