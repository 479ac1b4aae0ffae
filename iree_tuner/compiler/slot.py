"""A place for one worker: it takes calls, and hires a new worker when the last is spent."""

from __future__ import annotations

import contextlib
import pickle
import time
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from threading import Thread
from typing import Any, Protocol

from iree_tuner.compiler.ends import Crash, Lost, SpentError, Timeout, WorkerError
from iree_tuner.compiler.process import GoneError, WorkerProcess
from iree_tuner.compiler.task import Reply

_PAUSES_S = (0.0, 0.0, 0.1, 0.5, 1.0)
"""Before each attempt to begin a call: a worker may die before that, because of an earlier call."""

_START_S = 120.0
"""For a worker to start and begin a call."""


@dataclass(frozen=True)
class Span:
    """One period of a worker: what it did, from when to when.

    Attributes:
        worker: which of its pool, from 0.
        what: the name of the function that was called.
        begin, end: of the monotonic clock.
    """

    worker: int
    what: str
    begin: float
    end: float


class CallFuture(Future[Any]):
    """A call that can be cancelled while it runs, which kills its worker."""

    begun = False

    def running(self) -> bool:
        """Whether a worker has begun it."""
        return self.begun and not self.done()


@dataclass(frozen=True, eq=False)
class Call:
    """A call whose result is waited for.

    Attributes:
        what: the function's name.
        payload: the pickled function and arguments.
        timeout_s: counted from its begin in the worker.
        future: what its caller holds.
    """

    what: str
    payload: bytes
    timeout_s: float
    future: CallFuture

    def end(self, value: object = None, error: BaseException | None = None) -> None:
        """Tell the caller, unless the call was cancelled meanwhile."""
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


class Crew(Protocol):
    """The part of `Workers` that a slot uses."""

    tasks_per_worker: int
    memory_bytes: int | None

    @property
    def closed(self) -> bool:
        """Whether nothing is to be begun any more."""
        ...

    def hire(self) -> WorkerProcess:
        """A new worker. Raises OSError where it cannot be started."""
        ...

    def note(self, span: Span) -> None:
        """Keep what a worker did."""
        ...

    def next(self, slot: Slot) -> Call | None:
        """The next call, waited for; None at the end."""
        ...


class _NotBegunError(Exception):
    """The worker died before the call had begun."""


class Slot:
    """A thread with a worker. The thread starts its processes, and they end when it does."""

    def __init__(self, crew: Crew, number: int) -> None:
        self._crew = crew
        self._number = number
        self._worker: WorkerProcess | None = None
        self._call: Call | None = None
        self.thread = Thread(target=self._run, name="iree_tuner worker", daemon=True)
        self.thread.start()

    def kill(self, call: Call | None = None) -> None:
        """Kill the worker, if a call is given only while it serves that call. From any thread."""
        worker = self._worker
        if worker is not None and (call is None or self._call is call):
            worker.kill()

    def _run(self) -> None:
        while self._take():
            continue
        self._replace(hire=False)

    def _take(self) -> bool:
        """Serve the next call; its result is not held here while waiting for another."""
        call = self._crew.next(self)
        if call is None:
            return False
        self._call = call
        if call.future.cancelled():
            call.drop()
        else:
            start = time.monotonic()
            self._serve(call)
            self._crew.note(Span(self._number, call.what, start, time.monotonic()))
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
                call.end(error=_bare(error))
        else:
            call.end(value)
        if self._worker is not None:
            self._worker.served += 1
            spent = spent or self._worker.served == self._crew.tasks_per_worker
        if spent:
            self._replace()

    def _value(self, reply: Reply) -> object:
        """The return value of a call; raises what it raised."""
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
        """The next worker starts while the last one is cleaned away."""
        last, self._worker = self._worker, None
        if last is not None:
            last.kill()
        if hire and not self._crew.closed:
            with contextlib.suppress(OSError):  # it is tried again
                self._worker = self._crew.hire()
        if last is not None:
            last.dispose()


def _bare(error: BaseException) -> BaseException:
    """Without the frames it came through here, which would keep the worker's pipes open."""
    with contextlib.suppress(AttributeError):  # frozen
        error.__context__ = None
    return error.with_traceback(None)


class _RemoteTracebackError(Exception):
    """Shows where in the worker an exception was raised."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"
