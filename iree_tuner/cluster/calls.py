"""Calls on a cluster's workers, which end in the same ways as calls on this machine."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from iree_tuner.cluster.line import Line, LineLostError, Parcel, UntypedError, read_value, unpack, write
from iree_tuner.compiler.task import HostLost, UnfitError
from iree_tuner.compiler.worker import (
    TIMEOUT_S,
    Call,
    CallFuture,
    Calls,
    Lost,
    Timeout,
    WorkerError,
    WorkSpan,
)

if TYPE_CHECKING:
    from iree_tuner.cluster.cluster import Cluster, Member

R = TypeVar("R")

PATIENCE_S = 60.0
"""For a worker, or the scheduler, to come back."""

_LOOK_S = 1.0
_QUEUE_S = 300.0  # that a call may wait for its turn, and its worker hang, in addition to its own limit
_ATTEMPTS = 8
_NAMES = {
    "build_here": "compile",
    "make_here": "compile",
    "screen_here": "time",
    "agree_here": "check",
    "same_here": "check",
    "rounds_here": "compare",
}
"""Names that `iree-tuner cluster` shows; for others, the function's name without `_here`."""

_run = f"{os.uname().nodename}-{os.getpid()}-{int(time.time())}"
_numbers = itertools.count()


class _UnfitWorkerError(Exception):  # a worker lacks what a call needs
    def __init__(self, address: str, why: str) -> None:
        super().__init__(why)
        self.address = address
        self.why = why


class _NoFitWorkerError(Exception):  # all connected workers lack what a call needs
    pass


class ClusterCalls(Calls):
    """Calls at one place of a cluster.

    Args:
        cluster: of the workers.
        place: `compile`, `load`, or a device's URI.
        workers: the ones that may take a call now.
        alone: in a process of its own there (a room, see `serve.Host`), which keeps the state of calls. If
            its host is lost, calls end as `HostLost`, and are not made again in another process.
        here: makes calls that every worker is unfit for (`UnfitError`, or a package is missing there).
    """

    def __init__(
        self, cluster: Cluster, place: str, workers: Callable[[], Sequence[Member]],
        *, alone: bool = False, here: Calls | None = None,
    ) -> None:  # fmt: skip
        self._cluster = cluster
        self._place = place
        self._workers = workers
        self._room = f"{_run}-{next(_numbers)}" if alone else ""
        self._at: Line | None = None  # where the room is, once a call has ended there
        self._lock = Lock()
        self._here = here
        self._unfit: dict[str, set[str]] = {}  # addresses, by what they lack
        self._open: dict[str, CallFuture] = {}
        self._under_way: dict[str, int] = {}  # by address
        self._spans: list[WorkSpan] = []
        self._lanes: list[float] = []  # until when each row is taken
        self._closed = False

    def submit(
        self, function: Callable[..., R], *args: object, timeout_s: float = TIMEOUT_S, **kwargs: object
    ) -> Future[R]:
        """See `Calls`. If a signal kills the worker's process, the call ends, too."""
        if self._closed:
            raise RuntimeError("the workers are closed")
        future = CallFuture()
        what = getattr(function, "__name__", "call")
        try:
            parcel = write((function, args, kwargs))
        except Exception as error:
            return future.unsendable(error)
        name = f"{_NAMES.get(what, what.removesuffix('_here'))}-{_run}-{next(_numbers)}"
        call = Call(what, b"", timeout_s, future)
        with self._lock:
            self._open[name] = future
        future.add_done_callback(lambda _: self._ended(name))
        here = self._here and partial(self._here.submit, function, *args, timeout_s=timeout_s, **kwargs)
        asyncio.run_coroutine_threadsafe(self._make(call, name, parcel, here), self._cluster.loop)
        return future

    def _record(self, what: str, seconds: float) -> None:
        """Record a call that ends now, after this many seconds, in the first row that is free."""
        end = time.monotonic()
        begin = end - seconds
        with self._lock:
            free = (number for number, until in enumerate(self._lanes) if until <= begin)
            lane = next(free, len(self._lanes))
            self._lanes[lane : lane + 1] = [end]
            self._spans.append(WorkSpan(lane, what, begin, end))

    def begun(self) -> Sequence[Future[Any]]:
        with self._lock:
            return list(self._open.values())

    @property
    def slots(self) -> int:
        return sum(each.slots for each in self._workers())

    @property
    def there(self) -> bool:
        return bool(self._workers())

    @property
    def spans(self) -> tuple[WorkSpan, ...]:
        return tuple(self._spans)

    def close(self) -> None:
        """Cancel calls that have not ended. The workers stay; a room ends."""
        self._closed = True
        self.cancel_all()
        if self._at is not None:
            asyncio.run_coroutine_threadsafe(self._at.leave(self._room), self._cluster.loop)

    def _ended(self, name: str) -> None:
        with self._lock:
            self._open.pop(name, None)

    async def _make(
        self, call: Call, name: str, parcel: Parcel, here: Callable[[], Future[Any]] | None
    ) -> None:
        """Make a call until it ends; repeated if its worker was lost. It ends exactly once."""
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        call.future.add_done_callback(lambda _: loop.call_soon_threadsafe(over.set))
        numbers, lost, unfit = itertools.count(), 0, set[str]()
        try:
            while lost < _ATTEMPTS:
                number = next(numbers)
                attempt = f"{name}.{number}" if number else name
                try:
                    if await self._attempt(call, attempt, parcel, over, unfit):
                        return
                except _UnfitWorkerError as error:
                    unfit |= self._lacking(error)
                    continue
                except _NoFitWorkerError:
                    assert here is not None, "else calls end as they end there"
                    await _follow(call, here())
                    return
                lost += 1
                await asyncio.sleep(_LOOK_S)
            call.end(error=WorkerError(HostLost(None, "", f"its worker was lost {_ATTEMPTS} times")))
        except (WorkerError, UntypedError) as error:
            call.end(error=error if isinstance(error, WorkerError) else WorkerError(Lost(str(error))))
        except BaseException as error:  # no other code would report it
            call.end(error=WorkerError(Lost(f"{type(error).__name__}: {error}")))

    def _lacking(self, error: _UnfitWorkerError) -> set[str]:
        """The addresses of workers that lack the same; each is reported once."""
        found = self._unfit.setdefault(error.why, set())
        if error.address not in found:
            found.add(error.address)
            names = [each.name for each in self._workers() if each.address == error.address]
            self._cluster.news.extend(f"worker '{name}': {error.why}" for name in names)
        return found

    async def _attempt(
        self, call: Call, name: str, parcel: Parcel, over: asyncio.Event, unfit: AbstractSet[str]
    ) -> bool:
        """Whether the call has ended; otherwise its worker was lost.

        Raises WorkerError, UntypedError; _UnfitWorkerError, _NoFitWorkerError if others are to make it.
        """
        line = await self._line(over, unfit)
        if line is None:
            return True
        if self._at not in (None, line):
            message = f"{self._place}: its process ended, and the data in its memory is lost"
            raise WorkerError(HostLost(None, "", message))
        self._under_way[line.address] = self._under_way.get(line.address, 0) + 1
        asking = asyncio.ensure_future(
            line.call(name, self._place, parcel, call.timeout_s, self._cluster.holders, self._room)
        )
        call.future.begun = True
        ending = asyncio.ensure_future(over.wait())
        try:
            limit = call.timeout_s + _QUEUE_S
            await asyncio.wait([asking, ending], timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                await line.drop(name)
                call.end(error=WorkerError(Timeout(call.timeout_s)))  # nothing, where it was cancelled
                return True
            try:
                reply = asking.result()
            except LineLostError:
                if self._at is not None:
                    raise WorkerError(HostLost(None, "", f"the worker at {line.address} was lost")) from None
                return False
            self._tell(call, parcel, reply, line)
            return True
        finally:
            self._under_way[line.address] -= 1
            asking.cancel()
            ending.cancel()

    async def _line(self, over: asyncio.Event, unfit: AbstractSet[str]) -> Line | None:
        """The connection to the least busy worker, as soon as there is one; None if the call ends before.

        Raises WorkerError if none comes, _NoFitWorkerError if all are unfit.
        """
        until = time.monotonic() + PATIENCE_S
        while not over.is_set():
            if there := self._workers():
                found = [each for each in there if each.address not in unfit] if unfit else there
                if not found:
                    raise _NoFitWorkerError
                first = min(
                    found, key=lambda each: (self._under_way.get(each.address, 0) + 1) / max(1, each.slots)
                )
                return self._cluster.line(first.address)
            if time.monotonic() > until:
                if not self._cluster.connected:
                    raise WorkerError(Lost(f"the scheduler at {self._cluster.address} did not reconnect"))
                place = f"the cluster at {self._cluster.address}"
                raise WorkerError(HostLost(None, "", f"no worker of {place} is left that can make the call"))
            await asyncio.sleep(_LOOK_S / 4)
        return None

    def _tell(self, call: Call, parcel: Parcel, reply: bytes, line: Line) -> None:
        """Tell the caller how the call ended. Raises UntypedError for data of other types."""
        self._at = line if self._room else None
        data, attached = unpack(reply)
        kind, value, seconds, files = read_value(data, attached)
        for number, content in files.items():
            Path(parcel.written[number]).write_bytes(content)
        for digest in attached:
            line.holds(digest)
            self._cluster.hold(digest, line.address)
        self._record(call.what, seconds)
        match kind:
            case "value":
                call.end(value)
            case "raised" if self._here is not None and isinstance(value, UnfitError | ImportError):
                raise _UnfitWorkerError(line.address, str(value))
            case "raised":
                call.end(error=value)
            case "end":
                call.end(error=WorkerError(value))
            case _:
                call.end(error=WorkerError(Lost(str(value))))


async def _follow(call: Call, made: Future[Any]) -> None:
    """End a call like another one that is made in its place."""
    call.future.add_done_callback(lambda each: each.cancelled() and made.cancel())
    try:
        call.end(await asyncio.wrap_future(made))
    except asyncio.CancelledError:
        call.drop()
    except Exception as error:
        call.end(error=error)
