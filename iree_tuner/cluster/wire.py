"""Calls and replies as bytes, for other hosts.

Large bytes, such as dispatches and executables, and files travel as attachments, named by their SHA-256, so
that each is sent to a host once. A reply is read as typed data only: dataclasses and errors of this project,
arrays, and Python's literals. Anything else from a worker is an error.
"""

from __future__ import annotations

import builtins
import copyreg
import hashlib
import io
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from enum import Enum
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

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
    """A call or a value, and its attachments.

    Attributes:
        data: pickled.
        attached: functions that make large bytes and contents of files, by digest.
        written: paths that the call writes.
        files: the number of attachments that are files.
    """

    data: bytes = b""
    attached: dict[str, Callable[[], bytes]] = field(default_factory=dict[str, Callable[[], bytes]])
    written: list[str] = field(default_factory=list[str])
    files: int = 0


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
            digest = digest_of(obj)
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


def digest_of(data: bytes) -> str:
    """The name of an attachment."""
    return hashlib.sha256(data).hexdigest()


@lru_cache(maxsize=256)
def _digest_of_file(path: str, _changed: int, _size: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
