"""Disposable workers: all code that runs compiler phases runs here, because it may not come back.

An LLVM error exits the process, a bad configuration aborts or hangs it, and no call cancels it. A worker
keeps one compiler session for each set of flags it is asked for.

Each worker is a process (`process`) in a slot, whose thread decides how a call ended and starts the next
process when one is spent. Calls that had not begun when their worker died are made again.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import shutil
import time
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Lock, Thread
from typing import TYPE_CHECKING, Any, Self, TypeVar

from iree_tuner.compiler.process import (
    GoneError,
    WorkerProcess,
    coordinator,
    make_folder,
    remove_orphaned_folders,
    sweep,
    sweep_orphans,
)
from iree_tuner.compiler.task import Crash, End, Lost, Ok, Reply, Settings, SpentError, Timeout, WorkerError

if TYPE_CHECKING:
    from iree_tuner.compiler.session import CompilerSession


# A place for one worker: it takes calls, and hires a new worker when the last is spent.


_PAUSES_S = (0.0, 0.0, 0.1, 0.5, 1.0)
"""Before each attempt to begin a call: a worker may die before that, because of an earlier call."""

_START_S = 120.0
"""For a worker to start and begin a call."""


@dataclass(frozen=True)
class WorkSpan:
    """One period of a worker's work, by the monotonic clock; `what` names the called function."""

    worker: int
    what: str
    begin: float
    end: float


class CallFuture(Future[Any]):
    """A call that can be cancelled while it runs, which kills its worker."""

    begun = False

    def running(self) -> bool:
        """Whether a worker has begun it, and not ended."""
        return self.begun and not self.done()

    def unsendable(self, error: Exception) -> Self:
        """End it, because its arguments do not pickle."""
        problem = WorkerError(Lost(f"the arguments do not pickle: {type(error).__name__}: {error}"))
        problem.__cause__ = error
        self.set_exception(problem)
        return self


@dataclass(frozen=True, eq=False)
class Call:
    """A call whose result is waited for: a function (`what` is its name) and arguments, pickled.

    `timeout_s` counts from its begin in the worker.
    """

    what: str
    payload: bytes
    timeout_s: float
    future: CallFuture

    def end(self, value: object = None, error: BaseException | None = None) -> None:
        """Set the future's result, unless the call has been cancelled."""
        try:
            if error is None:
                self.future.set_result(value)
            else:
                self.future.set_exception(error)
        except InvalidStateError:
            self.drop()

    def drop(self) -> None:
        """Cancel it, and wake its waiters."""
        if self.future.cancel():
            with contextlib.suppress(InvalidStateError, RuntimeError):  # reported already
                self.future.set_running_or_notify_cancel()


class _NotBegunError(Exception):
    """The worker died before the call had begun."""


class Slot:
    """A thread with a worker. The thread starts its processes, and they end when it does."""

    def __init__(self, crew: _Crew, number: int) -> None:
        self._crew = crew
        self._number = number
        self._worker: WorkerProcess | None = None
        self._call: Call | None = None
        self.thread = Thread(target=self._run, name="iree_tuner worker", daemon=True)
        self.thread.start()

    def kill(self, call: Call | None = None) -> None:
        """Kill the worker; if a call is given, only while it serves that call. From any thread."""
        worker = self._worker
        if worker is not None and (call is None or self._call is call):
            worker.kill()

    def _run(self) -> None:
        while self._take():
            continue
        self._replace(hire=False)

    def _take(self) -> bool:
        """Serve the next call; its result is not held here during the wait for another."""
        call = self._crew.next(self)
        if call is None:
            return False
        self._call = call
        if call.future.cancelled():
            call.drop()
        else:
            start = time.monotonic()
            self._serve(call)
            self._crew.spans.append(WorkSpan(self._number, call.what, start, time.monotonic()))
        self._call = None
        return True

    def _serve(self, call: Call) -> None:
        spent = True
        try:
            reply = self._reply(call)
            spent = reply.kind in ("exit", "memory")
            value = self._value(reply)
        except BaseException as error:  # whatever it is, the caller hears it and this thread goes on
            spent = spent or isinstance(error, SpentError)
            if self._crew.closed:
                call.drop()
            else:
                with contextlib.suppress(AttributeError):  # frozen
                    error.__context__ = None
                call.end(error=error.with_traceback(None))  # its frames would keep the worker's pipes open
        else:
            call.end(value)
        if self._worker is not None:
            self._worker.served += 1
            spent = spent or self._worker.served == self._crew.tasks_per_worker
        if spent:
            self._replace()

    def _value(self, reply: Reply) -> object:
        """The return value of a call; raises the exception that the call raised."""
        if reply.kind == "unsendable":
            raise WorkerError(Lost(reply.text))
        if reply.kind == "exit":
            raise WorkerError(Crash(reply.code, reply.text))
        if reply.kind == "memory":
            raise WorkerError(Crash.out_of_memory(None, reply.text, self._crew.memory_bytes))
        try:
            value = pickle.loads(reply.data)
        except BaseException as error:
            why = f"the result cannot be read: {type(error).__name__}: {error}"
            raise WorkerError(Lost(why)) from error
        if reply.kind == "error":
            with contextlib.suppress(AttributeError):  # frozen
                value.__cause__ = _RemoteTracebackError(reply.text)
            raise value
        return value

    def _reply(self, call: Call) -> Reply:
        """Have the call made, by the first worker that begins it."""
        output = ""
        for pause in _PAUSES_S:
            time.sleep(pause)
            try:
                return self._attempt(call)
            except _NotBegunError:
                output = self._worker.output() if self._worker else ""
                if self._crew.closed or call.future.cancelled():
                    break
                self._replace()
        raise WorkerError(Crash(None, output, "no worker could start the call"))

    def _attempt(self, call: Call) -> Reply:
        try:
            worker = self._worker = self._worker or self._crew.hire()
            if call.future.cancelled() or self._crew.closed:
                worker.kill()  # its caller may have looked for the worker before it was there
            worker.begin(call.payload, _START_S)
        except (OSError, GoneError) as error:  # a TimeoutError is an OSError
            raise _NotBegunError from error
        call.future.begun = True
        try:
            return worker.reply(call.timeout_s)
        except TimeoutError:
            worker.kill()
            raise WorkerError(Timeout(call.timeout_s)) from None
        except GoneError:
            code = worker.exit_code()
            raise WorkerError(Crash.of(code, worker.output(), self._crew.memory_bytes)) from None

    def _replace(self, hire: bool = True) -> None:
        """Start the next worker while the last one is cleaned away."""
        last, self._worker = self._worker, None
        if last is not None:
            last.kill()
        if hire and not self._crew.closed:
            with contextlib.suppress(OSError):  # it is tried again
                self._worker = self._crew.hire()
        if last is not None:
            last.dispose()


class _RemoteTracebackError(Exception):
    """Shows where in the worker an exception was raised."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


# Calls of functions that run elsewhere: in processes of this machine, or of others (`cluster`).


TIMEOUT_S = 1800.0
"""Of calls that look at whole programs: thousands of dispatches take minutes on few cores."""


class SentPath(str):
    """The path of a file that a call reads: on another host it is a copy's."""

    __slots__ = ()


class WrittenPath(str):
    """The path of a small file that a call writes: from another host it is sent back, also after a crash."""

    __slots__ = ()


class Calls(ABC):
    """Makes calls: processes on this machine, or a cluster."""

    @abstractmethod
    def submit(
        self, function: Callable[..., R], *args: object, timeout_s: float = TIMEOUT_S, **kwargs: object
    ) -> Future[R]:
        """Run a module-level function in a worker. Its future ends as `end` and `wait` describe.

        Cancelling it while it runs kills its worker. The limit counts from the begin of the call.
        """

    @abstractmethod
    def begun(self) -> Sequence[Future[Any]]:
        """Calls that have not ended."""

    def settle(self) -> None:
        """Wait until all calls that were submitted so far have ended."""
        wait(self.begun())

    def cancel_all(self) -> None:
        """Cancel the calls that have not ended; workers with a running call are killed."""
        for each in self.begun():
            each.cancel()

    @property
    @abstractmethod
    def spans(self) -> tuple[WorkSpan, ...]:
        """The work of each worker with its times, ordered by the ends of calls."""

    @abstractmethod
    def close(self) -> None:
        """Stop the workers, busy ones too. Calls that did not end are cancelled."""

    @property
    def slots(self) -> int:
        """How many calls are made at a time, now."""
        return 1

    @property
    def there(self) -> bool:
        """Whether a worker is free for a call now; else calls wait for their worker to come back."""
        return True

    def end(self, future: Future[R]) -> End[R]:
        """How a call ends; raises the call's own exception.

        Raises CancelledError if the future was cancelled, or the workers were closed.
        """
        try:
            return Ok(future.result())
        except WorkerError as error:
            return error.end

    def wait(self, future: Future[R]) -> R:
        """The call's value; raises the call's own exception.

        Raises:
            WorkerError: there is no value.
            CancelledError: the future was cancelled, or the workers were closed.
        """
        return future.result()

    def call(
        self, function: Callable[..., R], *args: object, timeout_s: float = TIMEOUT_S, **kwargs: object
    ) -> R:
        """`submit` and `wait` in one."""
        return self.wait(self.submit(function, *args, timeout_s=timeout_s, **kwargs))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
        memory_bytes: the data of a worker, and of each process that it starts; `FAIR_SHARE` is at most 8 GiB;
            None is no limit, for drivers of GPUs, which map more than they use.
        file_bytes: of each file that a worker writes, also its output; None is a quarter of the free space
            for temporary files, at most 8 GiB.
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
        self, function: Callable[..., R], *args: object, timeout_s: float = TIMEOUT_S, **kwargs: object
    ) -> Future[R]:
        future = CallFuture()
        try:
            payload = pickle.dumps((function, args, kwargs), pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            return future.unsendable(error)
        if module := getattr(function, "__module__", None):  # methods of built-in types have none
            self._crew.modules.setdefault(module)
        self._crew.add(getattr(function, "__name__", "call"), payload, timeout_s, future)
        return future

    def begun(self) -> Sequence[Future[Any]]:
        return self._crew.begun()

    @property
    def spans(self) -> tuple[WorkSpan, ...]:
        return tuple(self._crew.spans)

    @property
    def slots(self) -> int:
        return self._crew.count

    def close(self) -> None:
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
        self.spans: list[WorkSpan] = []
        self.modules: dict[str, None] = {}  # of all functions that were called
        self.count = count
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
            elif len(self._slots) < self.count:
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
        """A new worker. Raises OSError if it cannot be started."""
        serial = next(self._hired)
        folder = str(self._folder / str(serial))
        modules = tuple(self.modules)
        settings = Settings(
            folder, os.getpid(), self.memory_bytes, self._file_bytes, self._yielding, modules, self.count > 1
        )  # fmt: skip
        return WorkerProcess(f"{self._cookie}{serial}.", settings)

    def close(self) -> None:
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

    Some flags are global to the process although a session takes them (flags of the tuner and of specs).
    Another session may have changed them, so they are set again.
    """
    from iree_tuner.compiler.session import CompilerSession  # workers that never compile do without it

    if flags not in _sessions:
        if len(_sessions) >= _SESSIONS_KEPT:
            _sessions.pop(next(iter(_sessions)))
        _sessions[flags] = CompilerSession(flags)
    session = _sessions[flags]
    session.apply_flags()
    return session
