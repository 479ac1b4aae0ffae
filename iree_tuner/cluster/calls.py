"""Calls on a cluster's workers, which end as those of processes on this machine do."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from distributed import Future as DaskFuture

from iree_tuner.cluster.serve import serve
from iree_tuner.cluster.wire import Parcel, read_value, unpack, write
from iree_tuner.compiler.calls import TIMEOUT_S, Calls
from iree_tuner.compiler.slot import Call, CallFuture, Span
from iree_tuner.compiler.worker import Crash, Lost, Timeout, WorkerError

if TYPE_CHECKING:
    from iree_tuner.cluster.cluster import Cluster

R = TypeVar("R")

PATIENCE_S = 60.0
"""For a worker, or the scheduler, to come back."""

_LOOK_S = 2.0
_QUEUE_S = 300.0  # that a call may wait for its turn, and its worker hang, beside its own limit
_ATTEMPTS = 8
_HELD = 512
_SENT_TWICE_KEPT = 256
_NAMES = {"build_here": "compile", "screen_here": "time", "agree_here": "check", "rounds_here": "compare"}
"""What dask's dashboard calls them; others are called as they are without `_here`."""

_run = f"{os.uname().nodename}-{os.getpid()}-{int(time.time())}"
_numbers = itertools.count()


class Shared:
    """What calls of one cluster share: bytes that its workers have."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._lock = Lock()
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._sent: OrderedDict[str, DaskFuture[Any]] = OrderedDict()
        self._replies: OrderedDict[str, DaskFuture[Any]] = OrderedDict()

    def holders(self, parcel: Parcel) -> tuple[list[str], list[Any], list[DaskFuture[Any]]]:
        """For what travels beside a call: names and bytes or where they are, and replies that hold some.

        What is sent a second time is scattered: the workers have it from then on, and give it to each other.
        """
        names: list[str] = []
        values: list[Any] = []
        inside: list[DaskFuture[Any]] = []
        for name, make in parcel.beside.items():
            with self._lock:
                reply, sent = self._replies.get(name), self._sent.get(name)
                again = name in self._seen
                self._seen[name] = None
                while len(self._seen) > 16 * _HELD:
                    self._seen.popitem(last=False)
            if reply is not None and reply.status == "finished":
                inside.append(reply)
                continue
            if sent is not None and sent.status in ("lost", "cancelled", "error"):
                sent = None
            if sent is None and again:
                sent = cast("DaskFuture[Any]", self._cluster.client.scatter(make(), hash=False))
                with self._lock:
                    self._sent[name] = sent
                    while len(self._sent) > _SENT_TWICE_KEPT:
                        self._sent.popitem(last=False)
            names.append(name)
            values.append(make() if sent is None else sent)
        return names, values, inside

    def keep(self, names: list[str], reply: DaskFuture[Any]) -> None:
        """A reply holds these: whoever needs one has it from there."""
        with self._lock:
            for name in names:
                self._replies[name] = reply
            while len(self._replies) > _HELD:
                self._replies.popitem(last=False)

    def forget(self) -> None:
        """The scheduler is another one: nothing is there any more."""
        with self._lock:
            for each in (self._seen, self._sent, self._replies):
                each.clear()


class ClusterCalls(Calls):
    """Calls at one place of a cluster.

    Args:
        cluster: it.
        place: `compile`, `load`, or a device's URI.
        resource: of which each call takes one.
        where: names of the workers that may take it; None for all that have the resource.
    """

    def __init__(
        self, cluster: Cluster, place: str, resource: str, where: Callable[[], list[str]] | None = None
    ) -> None:
        self._cluster = cluster
        self._place = place
        self._resource = resource
        self._where = where
        self._lock = Lock()
        self._open: dict[str, CallFuture] = {}
        self._spans: list[Span] = []
        self._lanes: list[float] = []  # until when each row is taken
        self._closed = False

    def submit(
        self, function: Callable[..., R], *args: object, timeout_s: float = TIMEOUT_S, **kwargs: object
    ) -> Future[R]:
        """See `Calls`. What a worker's process is killed by ends the call there, too."""
        if self._closed:
            raise RuntimeError("the workers are closed")
        future = CallFuture()
        what = getattr(function, "__name__", "call")
        try:
            parcel = write((function, args, kwargs))
        except Exception as error:
            problem = WorkerError(Lost(f"the arguments do not pickle: {type(error).__name__}: {error}"))
            future.set_exception(problem)
            return future
        name = f"{_NAMES.get(what, what.removesuffix('_here'))}-{_run}-{next(_numbers)}"
        call = Call(what, b"", timeout_s, future)
        with self._lock:
            self._open[name] = future
        future.add_done_callback(lambda _: self._ended(name))
        asyncio.run_coroutine_threadsafe(
            _Attempts(self, self._cluster, call, name, parcel).make(), self._cluster.loop
        )
        return future

    def begin(self, name: str, parcel: Parcel, timeout_s: float, again: bool) -> DaskFuture[Any]:
        """Hand a call to dask; blocks while something is scattered.

        What was lost once travels with its own bytes: those that were shared may be lost, too.
        """
        if again:
            names, inside = list(parcel.beside), list[DaskFuture[Any]]()
            beside: list[Any] = [make() for make in parcel.beside.values()]
        else:
            names, beside, inside = self._cluster.shared.holders(parcel)
        where = self._where() if self._where else None
        return self._cluster.client.submit(
            serve, name, self._place, parcel.data, names, beside, inside, timeout_s,
            key=name, pure=False, resources={self._resource: 1}, workers=where, allow_other_workers=False,
        )  # fmt: skip

    def is_there(self) -> bool:
        """Whether any worker can take a call now."""
        return any(
            self._resource in each.resources and (self._where is None or each.name in self._where())
            for each in self._cluster.members()
        )

    def note(self, call: Call, seconds: float) -> None:
        """A call has ended that took so long."""
        end = time.monotonic()
        with self._lock:
            self._spans.append(Span(self._lane(end - seconds, end), call.what, end - seconds, end))

    def _lane(self, begin: float, end: float) -> int:
        """A row of the timeline that is free then."""
        for number, until in enumerate(self._lanes):
            if until <= begin:
                self._lanes[number] = end
                return number
        self._lanes.append(end)
        return len(self._lanes) - 1

    def settle(self) -> None:
        """Wait until all calls that were submitted so far have ended."""
        with self._lock:
            open_ones = list(self._open.values())
        wait(open_ones)

    def cancel_all(self) -> None:
        """Cancel the calls that have not ended; the workers of those that run are killed."""
        with self._lock:
            open_ones = list(self._open.values())
        for each in open_ones:
            each.cancel()

    @property
    def spans(self) -> tuple[Span, ...]:
        """What each worker did, and when, as the client saw it."""
        return tuple(self._spans)

    def close(self) -> None:
        """Cancel what has not ended. The workers stay."""
        self._closed = True
        self.cancel_all()

    def _ended(self, name: str) -> None:
        with self._lock:
            self._open.pop(name, None)


class _Attempts:
    """One call until it has ended, exactly once. Lives on the client's event loop."""

    def __init__(self, calls: ClusterCalls, cluster: Cluster, call: Call, name: str, parcel: Parcel) -> None:
        self._calls = calls
        self._cluster = cluster
        self._call = call
        self._name = name
        self._parcel = parcel
        self._over = asyncio.Event()

    async def make(self) -> None:
        """Have it made, again where nobody is to blame for its loss."""
        loop = asyncio.get_running_loop()
        self._call.future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._over.set))
        try:
            for attempt in range(_ATTEMPTS):
                reply = await self._attempt(f"{self._name}.{attempt}" if attempt else self._name)
                if reply is not None or self._call.future.cancelled():
                    break
                await asyncio.sleep(_LOOK_S)
            else:
                self._fail(Crash(None, "", f"its worker was lost {_ATTEMPTS} times"))
        except WorkerError as error:
            self._call.end(error=error)
        except BaseException as error:  # nobody else would tell
            self._fail(Lost(f"{type(error).__name__}: {error}"))

    async def _attempt(self, name: str) -> bytes | None:
        """A reply, which has been told; None where the call was lost."""
        if not await self._cluster.connected(PATIENCE_S):
            raise WorkerError(Lost(f"the scheduler at {self._cluster.address} did not come back"))
        loop = asyncio.get_running_loop()
        task = await loop.run_in_executor(
            self._cluster.threads,
            self._calls.begin,
            name,
            self._parcel,
            self._call.timeout_s,
            name != self._name,
        )
        self._call.future.begun = True
        waiting = asyncio.ensure_future(task._result())  # pyright: ignore[reportPrivateUsage]  # no public name
        over = asyncio.ensure_future(self._over.wait())
        begun, missing = time.monotonic(), 0.0
        try:
            while True:
                await asyncio.wait([waiting, over], timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
                if waiting.done():
                    break
                if self._call.future.cancelled():
                    await self._drop(name, task)
                    return b""
                if time.monotonic() - begun > self._call.timeout_s + _QUEUE_S:
                    await self._drop(name, task)
                    raise WorkerError(Timeout(self._call.timeout_s))
                missing = 0.0 if self._calls.is_there() else missing + _LOOK_S
                if missing > PATIENCE_S:
                    await self._drop(name, task)
                    why = f"no worker of {self._cluster.address} can do it any more"
                    raise WorkerError(Crash(None, "", why))
            try:
                reply = cast(bytes, waiting.result())
            except WorkerError:
                raise
            except (asyncio.CancelledError, Exception):  # dask's own: the worker or the scheduler was lost
                return None
        finally:
            waiting.cancel()
            over.cancel()
        return reply if self._tell(reply, task) else None

    def _tell(self, reply: bytes, task: DaskFuture[Any]) -> bool:
        """Tell the caller how it ended; whether it did."""
        data, beside = unpack(reply)
        kind, value, seconds, files = read_value(data, beside)
        for number, content in files.items():
            Path(self._parcel.written[number]).write_bytes(content)
        self._calls.note(self._call, seconds)
        match kind:
            case "value":
                if beside:
                    self._cluster.shared.keep(list(beside), task)
                self._call.end(value)
            case "raised":
                self._call.end(error=value)
            case "end":
                self._call.end(error=WorkerError(value))
            case "lost":
                self._fail(Lost(value))
            case _:  # dropped there, as when a worker closes
                return self._call.future.cancelled()
        return True

    async def _drop(self, name: str, task: DaskFuture[Any]) -> None:
        """Nobody waits for it any more: its process is killed."""
        with suppress(Exception):  # the scheduler may be away
            await task.cancel(asynchronous=True)
            await self._cluster.drop(name)

    def _fail(self, end: Crash | Timeout | Lost) -> None:
        self._call.end(error=WorkerError(end))
