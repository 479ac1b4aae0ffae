"""A place for one worker: it takes calls, and hires a new worker when the last is spent."""

from __future__ import annotations

import contextlib
import pickle
import time
from concurrent.futures import InvalidStateError
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from threading import Thread
from typing import Any, Protocol

from pebble import ProcessExpired, ProcessFuture

from iree_tuner.compiler.ends import WorkerCrashError, WorkerTaskError, WorkerTimeoutError
from iree_tuner.compiler.hired import Hired
from iree_tuner.compiler.task import Reply

_PAUSES_S = (0.0, 0.0, 0.1, 0.5, 1.0)
"""Before each attempt to have a call begun: a worker may die before that, of what an earlier call left."""

_GRACE_S = 10.0
"""pebble ends a call at its limit; this much later the call is ended without it."""

_START_S = 120.0
"""A new worker's time to start."""


@dataclass(frozen=True, eq=False)
class Call:
    """A call that somebody waits for.

    Attributes:
        payload: the pickled function and arguments.
        timeout_s: counted from its begin in the worker.
        future: what its caller holds.
    """

    number: int
    payload: bytes
    timeout_s: float
    future: ProcessFuture[Any]

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
        """Cancel it, and tell those who wait."""
        self.future.cancel()
        try:
            self.future.set_running_or_notify_cancel()
        except RuntimeError:  # told already, or ended
            return


class Crew(Protocol):
    """What a slot knows of the workers it belongs to."""

    tasks_per_worker: int
    memory_bytes: int | None

    @property
    def closed(self) -> bool:
        """Whether nothing is to be begun any more."""
        ...

    def hire(self) -> Hired:
        """A new worker, not started."""
        ...

    def next(self, slot: Slot) -> Call | None:
        """The next call, waited for; None at the end."""
        ...


class _NotBegunError(Exception):
    """The worker died before the call had begun."""


class Slot:
    """A thread with a worker. The thread starts its processes, and they end when it does."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._worker: Hired | None = None
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
        if call.future.set_running_or_notify_cancel():
            self._serve(call)
        self._call = None
        return True

    def _serve(self, call: Call) -> None:
        spent = True
        try:
            reply = self._reply(call)
            spent = reply.kind in ("exit", "memory")
            value = self._value(reply)
        except BaseException as error:  # whatever it is, the caller hears it and this thread goes on
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
        """What a call returned; raises what it raised."""
        if reply.kind == "unsendable":
            raise WorkerTaskError(reply.text)
        if reply.kind == "exit":
            raise WorkerCrashError(reply.code, reply.text)
        if reply.kind == "memory":
            raise WorkerCrashError.out_of_memory(None, reply.text, self._crew.memory_bytes)
        try:
            value = pickle.loads(reply.data)
        except BaseException as error:
            raise WorkerTaskError(f"the result cannot be read: {type(error).__name__}: {error}") from error
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
        raise WorkerCrashError(None, output, "no worker could begin the call")

    def _attempt(self, call: Call) -> Reply:
        worker = self._worker
        try:
            if worker is None:
                worker = self._hire()
            future = worker.schedule(call.number, call.payload, call.timeout_s)
        except (OSError, RuntimeError) as error:
            raise _NotBegunError from error
        if call.future.cancelled() or self._crew.closed:
            worker.kill()  # whoever did that may have looked for the worker before it was there
        try:
            return worker.result(future, call.timeout_s + _GRACE_S + (0 if worker.served else _START_S))
        except (ProcessExpired, BrokenProcessPool):
            code = worker.exit_code()
            if not worker.has_begun(call.number):
                raise _NotBegunError from None
            if worker.out_of_time:
                raise WorkerTimeoutError("no result within the time limit") from None
            raise WorkerCrashError.of(code, worker.output(), self._crew.memory_bytes) from None
        except TimeoutError:
            worker.kill()
            if not worker.has_begun(call.number):
                raise _NotBegunError from None
            raise WorkerTimeoutError("no result within the time limit") from None

    def _hire(self) -> Hired:
        self._worker = worker = self._crew.hire()
        worker.start()
        return worker

    def _replace(self, hire: bool = True) -> None:
        """The next worker starts while the last one is cleaned away."""
        last, self._worker = self._worker, None
        if last is not None:
            last.kill()
        if hire and not self._crew.closed:
            try:
                self._hire()
            except (OSError, RuntimeError):
                self._drop_worker()
        if last is not None:
            last.dispose()

    def _drop_worker(self) -> None:
        failed, self._worker = self._worker, None
        if failed is not None:
            failed.dispose()


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
