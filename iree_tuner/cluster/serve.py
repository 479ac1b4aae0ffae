"""What runs in a dask worker: calls of one run, made in processes of their own.

`iree-tuner worker` starts such a worker; so does

    dask worker tcp://HOST:PORT --nthreads 40 --preload iree_tuner.cluster.serve \\
        -- --compile-slots 32 --device cuda://0
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

import click
from distributed import Worker, get_worker

from iree_tuner.cluster import QUEUED
from iree_tuner.cluster.wire import pack, read_call, unpack, write
from iree_tuner.compiler.versions import installed
from iree_tuner.compiler.worker import WorkerError, Workers

COMPILE = "compile"
"""A resource: compile slots."""

LOAD = "load"
"""A resource: processes in which a driver compiles ahead; they belong to devices' workers."""

AT = "@"
"""Between a device and its worker in the name of its resource."""

_LOADERS = 4
_COMPILES_PER_WORKER = 2000
_HOST = "iree_tuner_host"
_KEPT_BYTES = 8 << 30


class Host:
    """The processes of a dask worker.

    Args:
        slots: compile processes.
        devices: URIs of devices.
    """

    def __init__(self, slots: int, devices: Sequence[str]) -> None:
        self.slots = slots
        self.devices = tuple(devices)
        self._pools: dict[str, Workers] = {}
        self._lock = Lock()
        self._calls: dict[str, Future[Any]] = {}
        self._dropped: dict[str, None] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="iree_tuner_"))

    def resources(self, name: str) -> dict[str, float]:
        """What dask is told of it."""
        found: dict[str, float] = {f"{uri}{AT}{name}": 1 for uri in self.devices}
        if self.slots:
            found[COMPILE] = self.slots
        if self.devices:
            found[LOAD] = _LOADERS
        return found

    def make(self, name: str, place: str, data: bytes, beside: dict[str, bytes], timeout_s: float) -> bytes:
        """Make a call; its reply.

        Args:
            name: of the call, for `drop`.
            place: `compile`, `load`, or a device's URI.
            data: the function and its arguments, without what traveled beside.
            beside: what traveled beside.
            timeout_s: from its begin.
        """
        begun = time.time()
        with tempfile.TemporaryDirectory(dir=self._folder) as own:
            function, args, kwargs = read_call(data, beside, self._files(), Path(own))
            try:
                with self._lock:
                    if name in self._dropped:
                        raise CancelledError
                    future = self._pool(place).submit(function, *args, timeout_s=timeout_s, **kwargs)
                    self._calls[name] = future
                ended: tuple[str, object] = "value", future.result()
            except WorkerError as error:
                ended = "end", error.end
            except CancelledError:
                ended = "dropped", None
            except Exception as error:
                ended = "raised", error
            finally:
                with self._lock:
                    self._calls.pop(name, None)
            files = {int(each.name): each.read_bytes() for each in Path(own).iterdir()}
        try:
            return pack(write((*ended, time.time() - begun, files)))
        except Exception as error:  # what does not pickle
            said = f"{type(error).__name__}: {error}"
            return pack(write(("lost", f"what the call gave cannot be sent: {said}", 0.0, files)))

    def drop(self, name: str) -> None:
        """End a call: its process is killed."""
        with self._lock:
            future = self._calls.get(name)
            self._dropped[name] = None
            while len(self._dropped) > _COMPILES_PER_WORKER:
                self._dropped.pop(next(iter(self._dropped)))
        if future is not None:
            future.cancel()

    def close(self) -> None:
        """End all of it."""
        for pool in self._pools.values():
            pool.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _pool(self, place: str) -> Workers:
        if place not in self._pools:
            if place == COMPILE:
                pool = Workers(self.slots, _COMPILES_PER_WORKER, yielding=bool(self.devices))
            elif place == LOAD:
                pool = Workers(_LOADERS, memory_bytes=None, yielding=True)
            else:
                pool = Workers(1) if place.startswith("local-") else Workers(1, memory_bytes=None)
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


def threads_of(slots: int, devices: Sequence[str]) -> int:
    """How many calls a worker waits for at once, with one more for each device: it begins at once then."""
    return slots + QUEUED * len(devices) + _LOADERS


def serve(
    name: str, place: str, data: bytes, names: Sequence[str], beside: Sequence[bytes],
    inside: Sequence[bytes], timeout_s: float,
) -> bytes:  # fmt: skip
    """A task: make a call on this worker.

    Args:
        name: of the call.
        place: see `Host.make`.
        data: of its parcel.
        names: digests of `beside`.
        beside: what travels beside it.
        inside: replies of other calls that hold what it needs, too.
        timeout_s: from its begin.
    """
    known = dict(zip(names, beside, strict=True))
    for reply in inside:
        known |= unpack(reply)[1]
    return _host(get_worker()).make(name, place, data, known, timeout_s)


def drop_here(name: str, dask_worker: Worker) -> None:
    """End a call on a worker, if it is there. Run on all of them."""
    _host(dask_worker).drop(name)


def facts_here() -> bytes:
    """A worker's versions."""
    return pack(write(versions_here()))


def versions_here() -> dict[str, str]:
    """Of what must be the same on all hosts."""
    own = {name: version(name) for name in ("iree-tuner", "distributed")}
    return own | {name: each or "" for name, each in installed().items()}


def _host(worker: Worker) -> Host:
    return getattr(worker, _HOST)


@click.command()
@click.option("--compile-slots", type=int, default=0)
@click.option("--device", multiple=True)
def dask_setup(worker: Worker, compile_slots: int, device: Sequence[str]) -> None:
    """Prepare a worker: dask calls this of a module that it preloads."""
    host = Host(compile_slots, device)
    setattr(worker, _HOST, host)
    told = host.resources(str(worker.name))
    worker.state.total_resources.update(told)
    worker.state.available_resources.update(told)


def dask_teardown(worker: Worker) -> None:
    """Dask calls this at a worker's end."""
    host = getattr(worker, _HOST, None)
    if host is not None:
        host.close()
