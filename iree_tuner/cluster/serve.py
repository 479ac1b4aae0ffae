"""The part that runs in a dask worker: it makes the calls of runs, in processes of their own.

`iree-tuner worker` starts such a worker; so does

    dask worker tcp://HOST:PORT --preload iree_tuner.cluster.serve -- --compile-slots 32 --device cuda://0
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import click
from distributed import Status, Worker
from distributed.comm.core import Comm

from iree_tuner.cluster.line import OPERATION, pack, read_call, write
from iree_tuner.compiler.versions import installed
from iree_tuner.compiler.worker import WorkerError, Workers
from iree_tuner.targets import on_host
from iree_tuner.targets.machine import architecture, processor_name

COMPILE = "compile"  # a resource: compile slots
LOAD = "load"  # the place where a driver compiles ahead, next to devices
AT = "@"  # between a device and its worker in the name of its resource
PROCESSOR, ARCHITECTURE = "processor", "architecture"  # keys of a worker's description, next to the versions

_FETCH = "iree_tuner_bytes"
_LOADERS = 4
_COMPILES_PER_WORKER = 2000
_HOST = "iree_tuner_host"
_KEPT_BYTES = 8 << 30
_HELD_BYTES = 1 << 30


class Objects:
    """Bytes by their digest: the most recently used ones, up to a limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._held: OrderedDict[str, bytes] = OrderedDict()

    def put(self, digest: str, data: bytes) -> None:
        """Keep these bytes; the least recently used ones are dropped."""
        if digest in self._held:
            return
        self._held[digest] = data
        self._size += len(data)
        while self._size > self._limit and len(self._held) > 1:
            self._size -= len(self._held.popitem(last=False)[1])

    def get(self, digest: str) -> bytes | None:
        if (found := self._held.get(digest)) is not None:
            self._held.move_to_end(digest)
        return found


class Turns:
    """The order of calls at a device: calls of one room go together, and others wait for all of them."""

    def __init__(self) -> None:
        self._groups: deque[tuple[str, list[None], asyncio.Event]] = deque()

    @asynccontextmanager
    async def turn(self, room: str) -> AsyncGenerator[None]:
        """Wait for the turn, and have it."""
        if not self._groups or self._groups[-1][0] != room:
            self._groups.append((room, [], asyncio.Event()))
        group = self._groups[-1]
        group[1].append(None)
        try:
            if self._groups[0] is not group:
                await group[2].wait()
            yield
        finally:
            group[1].pop()
            if not group[1]:
                self._groups.remove(group)
                if self._groups:
                    self._groups[0][2].set()


class Host:
    """The processes of a dask worker. Lives on its event loop.

    A call at a device is made in the device's own process, which all runs share, or in a room: a process of
    one client's, which keeps the state of earlier calls, and ends with the client's connection.

    Args:
        worker: of dask.
        slots: compile processes.
        devices: URIs of devices.
    """

    def __init__(self, worker: Worker, slots: int, devices: Sequence[str]) -> None:
        self.slots = slots
        self.devices = tuple(devices)
        self._worker = worker
        self._pools: dict[str, Workers] = {}
        self._rooms: dict[str, Workers] = {}
        self._turns: dict[str, Turns] = {}
        self._store = Objects(_HELD_BYTES)
        self._doing: dict[str, tuple[str, float]] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="iree_tuner_"))
        self._sessions: set[Comm] = set()
        self._closed = False

    def resources(self, name: str) -> dict[str, float]:
        """Its resources for dask."""
        found: dict[str, float] = {f"{uri}{AT}{name}": 1 for uri in self.devices}
        return found | ({COMPILE: self.slots} if self.slots else {})

    async def session(self, comm: Comm) -> Status:
        """Serve a client until its connection ends; its calls and rooms end with it."""
        running: dict[str, asyncio.Task[None]] = {}
        rooms: set[str] = set()
        writing = asyncio.Lock()
        parts: dict[tuple[str, str], list[bytes]] = {}

        async def reply(to: str, message: dict[str, Any]) -> None:
            async with writing:
                with suppress(OSError):  # no caller waits any more
                    await comm.write({"to": to, **message})

        async def call(name: str, message: dict[str, Any]) -> None:
            try:
                answer = await self._answer(name, message)
                if self._closed:  # calls that failed because of that are made elsewhere
                    comm.abort()
                await reply(name, answer)
            finally:
                running.pop(name, None)

        self._sessions.add(comm)
        try:
            while True:
                message = cast("dict[str, Any]", await comm.read())
                if (digest := message.get("part")) is not None:
                    parts.setdefault((message["of"], digest), []).append(message["data"])
                elif (name := message.get("drop")) is not None:
                    if (task := running.get(name)) is not None:
                        task.cancel()
                elif (room := message.get("leave")) is not None:
                    rooms.discard(room)
                    self._leave(room)
                elif (what := message.get("ask")) is not None:
                    facts = {PROCESSOR: processor_name(), ARCHITECTURE: architecture()}
                    state = self.doing() if what == "doing" else versions_here() | facts
                    await reply(f"{what}?", {"reply": pack(write(state))})
                else:
                    name = message["call"]
                    if message["room"]:
                        rooms.add(message["room"])
                    for digest in message["attached"]:
                        if content := parts.pop((name, digest), None):
                            message["inside"][digest] = b"".join(content)
                    running[name] = asyncio.create_task(call(name, message))
        except OSError:  # the client has gone
            return Status.dont_reply
        finally:
            self._sessions.discard(comm)
            for task in list(running.values()):
                task.cancel()
            for room in rooms:
                self._leave(room)

    def fetch(self, digests: Sequence[str]) -> dict[str, bytes]:
        """The bytes that are here, for another worker."""
        return {each: data for each in digests if (data := self._store.get(each)) is not None}

    def doing(self) -> list[tuple[str, str, float]]:
        """Calls that have not ended: place, name, and seconds since they came."""
        return [(place, name, time.time() - since) for name, (place, since) in self._doing.items()]

    def close(self) -> None:
        """End all processes; clients have their calls made elsewhere."""
        self._closed = True
        for comm in self._sessions:
            comm.abort()
        for pool in [*self._pools.values(), *self._rooms.values()]:
            pool.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _answer(self, name: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a call: its reply, or a list of missing attachments."""
        inside: dict[str, bytes] = message["inside"]
        for digest, data in inside.items():
            self._store.put(digest, data)
        if message["holders"]:
            await self._fetch(message["holders"])
        # Attachments of this call are there, even if the store is small.
        known = {each: inside.get(each) or self._store.get(each) for each in message["attached"]}
        if missing := [each for each, data in known.items() if data is None]:
            return {"missing": missing}
        place, room = message["place"], message["room"]
        self._doing[name] = place, time.time()
        try:
            free = place in (COMPILE, LOAD)  # a device does one thing at a time, for all callers
            async with nullcontext() if free else self._turns.setdefault(place, Turns()).turn(room):
                return {"reply": await self._make(message, known, self._pool(place, room))}
        finally:
            self._doing.pop(name, None)

    async def _fetch(self, holders: Mapping[str, str]) -> None:
        """Get attachments from other workers that hold them."""
        for address in set(holders.values()):
            wanted = [each for each, where in holders.items() if where == address]
            with suppress(Exception):  # the client sends it then
                peer = cast(Any, self._worker.rpc(address))
                for digest, data in (await peer.iree_tuner_bytes(digests=wanted)).items():
                    self._store.put(digest, data)

    async def _make(self, message: Mapping[str, Any], known: Mapping[str, Any], pool: Workers) -> bytes:
        begun = time.time()
        own = Path(tempfile.mkdtemp(dir=self._folder)) if message["written"] else self._folder
        files = self._files() if message["files"] else self._folder
        try:
            function, args, kwargs = read_call(message["data"], known, files, own)
            future = pool.submit(function, *args, timeout_s=message["timeout_s"], **kwargs)
            ended: tuple[str, object] = "value", await asyncio.wrap_future(future)
        except WorkerError as error:
            ended = "end", error.end
        except Exception as error:
            ended = "raised", error
        finally:
            written: dict[int, bytes] = {}
            if message["written"]:
                written = {int(each.name): each.read_bytes() for each in own.iterdir()}
                shutil.rmtree(own, ignore_errors=True)
        try:
            parcel = write((*ended, time.time() - begun, written))
        except Exception as error:  # it does not pickle
            problem = f"the call's result cannot be sent: {type(error).__name__}: {error}"
            parcel = write(("lost", problem, 0.0, written))
        for digest, content in parcel.attached.items():
            self._store.put(digest, content())
        return pack(parcel)

    def _leave(self, room: str) -> None:
        if (pool := self._rooms.pop(room, None)) is not None:
            asyncio.get_running_loop().run_in_executor(None, pool.close)

    def _pool(self, place: str, room: str) -> Workers:
        if room:
            if room not in self._rooms:
                self._rooms[room] = Workers(1, memory_bytes=None)
            return self._rooms[room]
        if place not in self._pools:
            if place == COMPILE:
                pool = Workers(self.slots, _COMPILES_PER_WORKER, yielding=bool(self.devices))
            elif place == LOAD:
                pool = Workers(_LOADERS, memory_bytes=None, yielding=True)
            else:
                pool = Workers(1) if on_host(place) else Workers(1, memory_bytes=None)
            self._pools[place] = pool
        return self._pools[place]

    def _files(self) -> Path:
        """The folder of files; if there are too many, the oldest are deleted."""
        folder = self._folder / "files"
        folder.mkdir(exist_ok=True)
        every = sorted(folder.glob("*/*"), key=lambda path: path.stat().st_mtime)
        left = sum(path.stat().st_size for path in every)
        for path in every[:-1]:
            if left < _KEPT_BYTES:
                break
            left -= path.stat().st_size
            shutil.rmtree(path.parent, ignore_errors=True)
        return folder


def versions_here() -> dict[str, str]:
    """The versions that must be equal on all hosts."""
    own = {name: version(name) for name in ("iree-tuner", "distributed")}
    return own | {name: each or "" for name, each in installed().items()}


@click.command()
@click.option("--compile-slots", type=int, default=0)
@click.option("--device", multiple=True)
def dask_setup(worker: Worker, compile_slots: int, device: Sequence[str]) -> None:
    """Prepare a worker; dask calls this in a module that it preloads."""
    serve_on(worker, Host(worker, compile_slots, device))


def serve_on(worker: Worker, host: Host) -> None:
    """Have a worker that is starting take calls."""
    setattr(worker, _HOST, host)
    worker.handlers[OPERATION] = host.session
    worker.handlers[_FETCH] = host.fetch
    resources = host.resources(str(worker.name))
    worker.state.total_resources.update(resources)
    worker.state.available_resources.update(resources)


def dask_teardown(worker: Worker) -> None:
    """Dask calls this at a worker's end."""
    host = getattr(worker, _HOST, None)
    if host is not None:
        host.close()
