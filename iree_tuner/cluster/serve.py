"""What runs in a dask worker: calls of runs, made in processes of their own.

`iree-tuner worker` starts such a worker; so does

    dask worker tcp://HOST:PORT --preload iree_tuner.cluster.serve -- --compile-slots 32 --device cuda://0
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import click
from distributed import Status, Worker
from distributed.comm.core import Comm

from iree_tuner.cluster.line import OPERATION
from iree_tuner.cluster.wire import pack, read_call, write
from iree_tuner.compiler.versions import installed
from iree_tuner.compiler.worker import WorkerError, Workers
from iree_tuner.targets import on_host

COMPILE = "compile"
"""A resource: compile slots."""

LOAD = "load"
"""Where a driver compiles ahead: beside devices."""

AT = "@"
"""Between a device and its worker in the name of its resource."""

_FETCH = "iree_tuner_bytes"
_LOADERS = 4
_COMPILES_PER_WORKER = 2000
_HOST = "iree_tuner_host"
_KEPT_BYTES = 8 << 30
_HELD_BYTES = 1 << 30


class Store:
    """Bytes by their digest: those used last, up to a limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._held: OrderedDict[str, bytes] = OrderedDict()

    def put(self, digest: str, data: bytes) -> None:
        """Keep these bytes; what was not used for longest is forgotten."""
        if digest in self._held:
            return
        self._held[digest] = data
        self._size += len(data)
        while self._size > self._limit and len(self._held) > 1:
            self._size -= len(self._held.popitem(last=False)[1])

    def get(self, digest: str) -> bytes | None:
        """The bytes, if they are here."""
        if (found := self._held.get(digest)) is not None:
            self._held.move_to_end(digest)
        return found


class Host:
    """The processes of a dask worker. Lives on its event loop.

    Args:
        worker: it.
        slots: compile processes.
        devices: URIs of devices.
    """

    def __init__(self, worker: Worker, slots: int, devices: Sequence[str]) -> None:
        self.slots = slots
        self.devices = tuple(devices)
        self._worker = worker
        self._pools: dict[str, Workers] = {}
        self._store = Store(_HELD_BYTES)
        self._doing: dict[str, tuple[str, float]] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="iree_tuner_"))
        self._sessions: set[Comm] = set()
        self._closed = False

    def resources(self, name: str) -> dict[str, float]:
        """What dask is told of it."""
        found: dict[str, float] = {f"{uri}{AT}{name}": 1 for uri in self.devices}
        return found | ({COMPILE: self.slots} if self.slots else {})

    async def session(self, comm: Comm) -> Status:
        """Serve a client until its connection ends; its calls end then, too."""
        running: dict[str, asyncio.Task[None]] = {}
        writing = asyncio.Lock()
        parts: dict[tuple[str, str], list[bytes]] = {}

        async def reply(to: str, message: dict[str, Any]) -> None:
            async with writing:
                with suppress(OSError):  # nobody waits any more
                    await comm.write({"to": to, **message})

        async def call(name: str, message: dict[str, Any]) -> None:
            try:
                told = await self._answer(name, message)
                if self._closed:  # what failed because this ends is made elsewhere
                    comm.abort()
                await reply(name, told)
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
                elif (what := message.get("ask")) is not None:
                    told = self.doing() if what == "doing" else versions_here()
                    await reply(f"{what}?", {"reply": pack(write(told))})
                else:
                    name = message["call"]
                    for digest in message["beside"]:
                        if content := parts.pop((name, digest), None):
                            message["inside"][digest] = b"".join(content)
                    running[name] = asyncio.create_task(call(name, message))
        except OSError:  # the client has gone
            return Status.dont_reply
        finally:
            self._sessions.discard(comm)
            for task in list(running.values()):
                task.cancel()

    def fetch(self, digests: Sequence[str]) -> dict[str, bytes]:
        """For another worker: what is here of these."""
        return {each: data for each in digests if (data := self._store.get(each)) is not None}

    def doing(self) -> list[tuple[str, str, float]]:
        """Calls that have not ended: place, name, and seconds since they came."""
        return [(place, name, time.time() - since) for name, (place, since) in self._doing.items()]

    def close(self) -> None:
        """End all of it; clients have their calls made elsewhere."""
        self._closed = True
        for comm in self._sessions:
            comm.abort()
        for pool in self._pools.values():
            pool.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _answer(self, name: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """What is to be sent for a call: its reply, or what is missing."""
        inside: dict[str, bytes] = message["inside"]
        for digest, data in inside.items():
            self._store.put(digest, data)
        if message["holders"]:
            await self._fetch(message["holders"])
        # What was sent along is there, however little the store holds.
        known = {each: inside.get(each) or self._store.get(each) for each in message["beside"]}
        if missing := [each for each, data in known.items() if data is None]:
            return {"missing": missing}
        self._doing[name] = message["place"], time.time()
        try:
            return {"reply": await self._make(message, cast("dict[str, bytes]", known))}
        finally:
            self._doing.pop(name, None)

    async def _fetch(self, holders: Mapping[str, str]) -> None:
        """Have what other workers hold, as far as they still do."""
        for address in set(holders.values()):
            wanted = [each for each, where in holders.items() if where == address]
            with suppress(Exception):  # the client sends it then
                peer = cast(Any, self._worker.rpc(address))
                for digest, data in (await peer.iree_tuner_bytes(digests=wanted)).items():
                    self._store.put(digest, data)

    async def _make(self, message: Mapping[str, Any], known: dict[str, bytes]) -> bytes:
        begun = time.time()
        own = Path(tempfile.mkdtemp(dir=self._folder)) if message["written"] else self._folder
        files = self._files() if message["files"] else self._folder
        try:
            function, args, kwargs = read_call(message["data"], known, files, own)
            del known
            future = self._pool(message["place"]).submit(
                function, *args, timeout_s=message["timeout_s"], **kwargs
            )
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
        except Exception as error:  # what does not pickle
            said = f"{type(error).__name__}: {error}"
            parcel = write(("lost", f"the call's result cannot be sent: {said}", 0.0, written))
        for digest, content in parcel.beside.items():
            self._store.put(digest, content())
        return pack(parcel)

    def _pool(self, place: str) -> Workers:
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
        """Where files are kept; those of long ago are deleted where there are too many."""
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
    """Of what must be the same on all hosts."""
    own = {name: version(name) for name in ("iree-tuner", "distributed")}
    return own | {name: each or "" for name, each in installed().items()}


@click.command()
@click.option("--compile-slots", type=int, default=0)
@click.option("--device", multiple=True)
def dask_setup(worker: Worker, compile_slots: int, device: Sequence[str]) -> None:
    """Prepare a worker: dask calls this of a module that it preloads."""
    serve_on(worker, Host(worker, compile_slots, device))


def serve_on(worker: Worker, host: Host) -> None:
    """Have a worker that is starting take calls."""
    setattr(worker, _HOST, host)
    worker.handlers[OPERATION] = host.session
    worker.handlers[_FETCH] = host.fetch
    told = host.resources(str(worker.name))
    worker.state.total_resources.update(told)
    worker.state.available_resources.update(told)


def dask_teardown(worker: Worker) -> None:
    """Dask calls this at a worker's end."""
    host = getattr(worker, _HOST, None)
    if host is not None:
        host.close()
