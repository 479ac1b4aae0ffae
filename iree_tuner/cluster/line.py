"""A client's connection to a worker, over which any number of calls go at once, and calls as bytes.

Calls do not pass the scheduler: a task of dask costs its client ten times as much (docs/cluster.md). The
connection reads MessagePack only; nothing that a worker sends is unpickled by dask.

Large bytes, such as dispatches and executables, and files travel as attachments, named by their SHA-256, so
that each is sent to a host once. A reply is read as typed data only: dataclasses and errors of this project,
arrays, and Python's literals. Anything else from a worker is an error.
"""

from __future__ import annotations

import asyncio
import builtins
import copyreg
import hashlib
import io
import pickle
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass
from enum import Enum
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from distributed.comm.core import Comm, connect

from iree_tuner.compiler.worker import SentPath, WrittenPath
from iree_tuner.errors import TunerError

LARGE = 1 << 14
"""Bytes; smaller ones travel inside."""

_OWN = "iree_tuner."
_BUILTINS = frozenset({"set", "frozenset", "complex", "bytearray", "range", "slice"})
_OTHERS = frozenset(
    {
        ("iree_tuner.errors", "_rebuild"),
        ("collections", "OrderedDict"), ("collections", "deque"), ("datetime", "datetime"),
        ("pathlib", "PosixPath"), ("pathlib", "Path"), ("pathlib._local", "PosixPath"),
        ("numpy", "dtype"), ("numpy", "ndarray"),
        ("numpy._core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "scalar"),
        ("numpy._core.numeric", "_frombuffer"),
    }
)  # fmt: skip
_BYTES, _FILE, _WRITTEN = "bytes", "file", "written"


class UntypedError(TunerError):
    """A worker sent something other than typed data."""


@dataclass
class Parcel:
    """A call or a value, and its attachments."""

    data: bytes = b""  # pickled
    # functions that make large bytes and contents of files, by digest
    attached: dict[str, Callable[[], bytes]] = field(default_factory=dict[str, Callable[[], bytes]])
    written: list[str] = field(default_factory=list[str])  # paths that the call writes
    files: int = 0  # the number of attachments that are files


@lru_cache(maxsize=1)
def _plain_table(_entries: int) -> dict[type, Callable[[Any], Any]]:
    """Reducers without dask's for errors, which pickle frames, and so code."""
    return {
        kind: reduce for kind, reduce in copyreg.dispatch_table.items() if not issubclass(kind, BaseException)
    }


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, parcel: Parcel) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self.dispatch_table = _plain_table(len(copyreg.dispatch_table))
        self._parcel = parcel

    def persistent_id(self, obj: object) -> tuple[str, ...] | None:
        """The reference to an attachment: its kind and its name, and a file's own name."""
        if type(obj) is bytes and len(obj) >= LARGE:
            digest = hashlib.sha256(obj).hexdigest()
            self._parcel.attached[digest] = lambda: obj
            return _BYTES, digest
        if isinstance(obj, SentPath):
            path = Path(obj)
            status = path.stat()
            digest = _digest_of_file(str(obj), status.st_mtime_ns, status.st_size)
            self._parcel.attached[digest] = path.read_bytes
            self._parcel.files += 1
            return _FILE, digest, path.name
        if isinstance(obj, WrittenPath):
            self._parcel.written.append(str(obj))
            return _WRITTEN, str(len(self._parcel.written) - 1)
        return None


class _Unpickler(pickle.Unpickler):
    def __init__(
        self, data: bytes, attached: Mapping[str, bytes], folder: Path | None, written: Path | None
    ) -> None:
        super().__init__(io.BytesIO(data))
        self._attached = attached
        self._folder = folder
        self._written = written

    def persistent_load(self, pid: tuple[str, ...]) -> object:
        kind, name = pid[0], pid[1]
        if kind == _BYTES:
            return self._attached[name]
        if kind == _FILE and self._folder is not None:
            path = self._folder / name / Path(pid[2]).name
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                part = path.with_name(f"{path.name}.part")
                part.write_bytes(self._attached[name])
                part.replace(path)
            return str(path)
        if kind == _WRITTEN and self._written is not None:
            return str(self._written / name)
        raise UntypedError(f"a worker sent a reference of the kind '{kind}'")


class _TypedReader(_Unpickler):
    def find_class(self, module_name: str, global_name: str) -> object:
        """Read data only. Raises UntypedError for everything else."""
        if (module_name, global_name) in _OTHERS:
            return super().find_class(module_name, global_name)
        if module_name == "builtins":
            found = getattr(builtins, global_name, None)
            if global_name in _BUILTINS or (isinstance(found, type) and issubclass(found, Exception)):
                return cast(object, found)
        if module_name.startswith(_OWN) and "." not in global_name:
            found = getattr(import_module(module_name), global_name, None)
            if isinstance(found, type) and (is_dataclass(found) or issubclass(found, Exception | Enum)):
                return cast(object, found)
        raise UntypedError(f"a worker sent a {module_name}.{global_name}, which is not part of a run's data")


def write(value: object) -> Parcel:
    """A call or a value. Raises what pickling raises."""
    parcel, stream = Parcel(), io.BytesIO()
    _Pickler(stream, parcel).dump(value)
    parcel.data = stream.getvalue()
    return parcel


def read_call(data: bytes, attached: Mapping[str, bytes], folder: Path, written: Path) -> Any:  # noqa: ANN401
    """Read a client's call, of any type: workers trust clients.

    `folder` keeps files between calls; the call writes its own files to `written`.
    """
    return _Unpickler(data, attached, folder, written).load()


def read_value(data: bytes, attached: Mapping[str, bytes]) -> Any:  # noqa: ANN401
    """Read a worker's reply. Raises UntypedError for data of other types."""
    try:
        return _TypedReader(data, attached, None, None).load()
    except UntypedError:
        raise
    except Exception as error:
        raise UntypedError(f"a worker's reply cannot be read: {type(error).__name__}: {error}") from None


def pack(parcel: Parcel) -> bytes:
    """A parcel with its attachments, in one piece."""
    return pickle.dumps((parcel.data, {name: make() for name, make in parcel.attached.items()}))


def unpack(reply: bytes) -> tuple[bytes, dict[str, bytes]]:
    """Read the output of `pack`. Raises UntypedError for anything else."""
    found = read_value(reply, {})
    match found:
        case (bytes() as data, dict() as attached):
            return data, cast(dict[str, bytes], attached)
        case _:
            raise UntypedError("a worker's reply is malformed")


@lru_cache(maxsize=256)
def _digest_of_file(path: str, _changed: int, _size: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
    """

    def __init__(self, address: str, arguments: Mapping[str, Any], timeout_s: float) -> None:
        self.address = address
        self.missing_s = 0.0  # how long the scheduler has not had this worker
        self.lost = False  # whether the connection has ended
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
