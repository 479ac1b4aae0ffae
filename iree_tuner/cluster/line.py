"""A client's connection to a worker, over which any number of calls go at once.

Calls do not pass the scheduler: a task of dask costs its client ten times as much (docs/cluster.md). The
connection reads MessagePack only; nothing that a worker sends is unpickled by dask.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from distributed.comm.core import Comm, connect

from iree_tuner.cluster.wire import Parcel

OPERATION = "iree_tuner_session"
"""The name of a worker's handler, which serves such a connection."""

_PART = 64 << 20  # bytes of a message; larger contents are sent in parts


class LineLostError(Exception):
    """The connection has ended, and the calls on it."""


class Line:
    """A connection. Lives on an event loop.

    Args:
        address: of the worker.
        arguments: of the connection, such as TLS's.
        timeout_s: for the worker to answer.

    Attributes:
        missing_s: how long the scheduler has not had this worker.
        lost: whether the connection has ended.
    """

    def __init__(self, address: str, arguments: Mapping[str, Any], timeout_s: float) -> None:
        self.address = address
        self.missing_s = 0.0
        self.lost = False
        self._arguments = arguments
        self._timeout_s = timeout_s
        self._comm: Comm | None = None
        self._replies: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._writing = asyncio.Lock()
        self._opening: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._there: set[str] = set()

    async def open(self) -> None:
        """Connect once, at the first request, for all callers. Raises LineLostError."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._connect())
            self._opening.add_done_callback(_heard)
        await asyncio.shield(self._opening)

    async def _connect(self) -> None:
        try:
            comm = await connect(self.address, timeout=self._timeout_s, deserialize=False, **self._arguments)
            await comm.write({"op": OPERATION, "reply": False})
        except (OSError, ValueError) as error:
            self.lost = True
            raise LineLostError(str(error)) from None
        self._comm = comm
        self._listening = asyncio.create_task(self._listen(comm))

    async def call(
        self, name: str, place: str, parcel: Parcel, timeout_s: float, elsewhere: Mapping[str, str],
        room: str = "",
    ) -> bytes:  # fmt: skip
        """Make a call; its reply.

        Args:
            name: unique.
            place, room: see `serve.Host`.
            parcel: the function and its arguments.
            timeout_s: from its beginning.
            elsewhere: addresses of workers that hold attachments of calls, by digest.

        Raises:
            LineLostError: the connection ended.
        """
        message = {
            "call": name, "place": place, "room": room, "data": parcel.data,
            "attached": list(parcel.attached), "files": parcel.files, "written": len(parcel.written),
            "timeout_s": timeout_s,
        }  # fmt: skip
        unknown = [each for each in parcel.attached if each not in self._there]
        holders = {
            each: elsewhere[each] for each in unknown if elsewhere.get(each, self.address) != self.address
        }
        self._there.update(parcel.attached)
        inside = await self._contents(name, parcel, [each for each in unknown if each not in holders])
        reply = await self._ask(name, {**message, "inside": inside, "holders": holders})
        if reply.get("missing"):  # forgotten there, or their holder is gone
            inside = await self._contents(name, parcel, list(parcel.attached))
            reply = await self._ask(name, {**message, "inside": inside, "holders": {}})
        return cast(bytes, reply.get("reply", b""))

    async def tell(self, what: str) -> bytes:
        """The worker's answer to `facts`, its description, or to `doing`, its calls. Raises LineLostError."""
        asking = self._ask(f"{what}?", {"ask": what})
        try:
            return cast(bytes, (await asyncio.wait_for(asking, self._timeout_s)).get("reply", b""))
        except TimeoutError:
            raise LineLostError(f"the worker at {self.address} does not answer") from None

    async def drop(self, name: str) -> None:
        """End a call there: its process is killed."""
        if (waiting := self._replies.pop(name, None)) is not None:
            waiting.cancel()
            with suppress(LineLostError):
                await self._write({"drop": name})

    async def leave(self, room: str) -> None:
        """End a room's process there."""
        if self._comm is not None and not self.lost:
            with suppress(LineLostError):
                await self._write({"leave": room})

    def holds(self, digest: str) -> None:
        """Note that the worker has these bytes."""
        self._there.add(digest)

    def close(self) -> None:
        """End the connection; the worker ends its calls."""
        self.lost = True
        if self._listening is not None:
            self._listening.cancel()
        if self._comm is not None:
            self._comm.abort()
        for waiting in self._replies.values():
            if not waiting.done():
                waiting.set_exception(LineLostError(self.address))
        self._replies.clear()

    async def _contents(self, name: str, parcel: Parcel, digests: list[str]) -> dict[str, bytes]:
        """The contents of a message; those that are too large for it are sent ahead."""
        inside: dict[str, bytes] = {}
        room = _PART
        for digest in digests:
            content = parcel.attached[digest]()
            if len(content) <= room:
                room -= len(content)
                inside[digest] = content
                continue
            for begin in range(0, len(content), _PART):
                await self._write({"of": name, "part": digest, "data": content[begin : begin + _PART]})
        return inside

    async def _ask(self, name: str, message: dict[str, Any]) -> dict[str, Any]:
        waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._replies[name] = waiting
        try:
            await self._write(message)
            return await waiting
        finally:
            self._replies.pop(name, None)
            if waiting.done():
                _heard(waiting)  # writing has failed, too

    async def _write(self, message: dict[str, Any]) -> None:
        await self.open()
        assert self._comm is not None, "it is open"
        async with self._writing:
            try:
                await self._comm.write(message)
            except OSError as error:
                raise LineLostError(str(error)) from None

    async def _listen(self, comm: Comm) -> None:
        try:
            while True:
                message = cast("dict[str, Any]", await comm.read())
                waiting = self._replies.get(str(message.get("to")))
                if waiting is not None and not waiting.done():
                    waiting.set_result(message)
        except Exception:  # it ended, or received something other than a message
            self.close()


def _heard(ended: asyncio.Future[Any]) -> None:
    """Retrieve an exception that no caller waits for: otherwise asyncio prints it."""
    if not ended.cancelled():
        ended.exception()
