"""Files that users name: read in one place, and written in one place, so that none is lost.

An output appears whole or not at all, and never instead of an input of the same command.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
import sys
import tomllib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import msgspec

from iree_tuner.errors import TunerError, UsageError

T = TypeVar("T")

STANDARD = Path("-")
"""Standard input, where a file is read."""

_MOST_PIPED_BYTES = 2 << 30
_CHUNK_BYTES = 1 << 20

_Identity = tuple[int, int]


class _Named:
    """The files of one command: inputs, and planned outputs."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.arguments = arguments
        self.inputs: set[_Identity] = set()
        self.outputs: set[Path] = set()


_named: _Named | None = None


@contextmanager
def of_one_command(arguments: Sequence[str] = ()) -> Generator[None]:
    """While this is entered, inputs are remembered, and outputs that would replace one are refused."""
    global _named
    before, _named = _named, _Named(arguments)
    try:
        yield
    finally:
        _named = before


def arguments_of_command() -> Sequence[str]:
    """The arguments of the command that runs."""
    return _named.arguments if _named else ()


def note_input(path: str | os.PathLike[str]) -> None:
    """Remember an input that something else reads: a database, an archive, an array."""
    if _named is not None and (identity := _identity(Path(path))):
        _named.inputs.add(identity)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The content of an input; `-` is standard input.

    Raises TunerError if it cannot be read, or is endless.
    """
    path = Path(path)
    location = name_of(path)
    try:
        if path == STANDARD:
            if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  # closed before the start
                raise TunerError("standard input is closed", location=location)
            return _until_end(sys.stdin.buffer, location)
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISREG(mode):
                note_input(path)
                return file.read()
            is_device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
            if is_device and not file.isatty() and os.path.realpath(path) != os.devnull:
                raise TunerError("this is a device, not a file", location=location)
            return _until_end(file, location)
    except FileNotFoundError:
        raise TunerError("no such file", location=location) from None
    except IsADirectoryError:
        raise TunerError("this is a folder, not a file", location=location) from None
    except OSError as error:
        raise TunerError(f"cannot read: {error.strerror}", location=location) from None
    except ValueError:  # a null byte in the name
        raise TunerError("no such file", location=repr(str(path))) from None


def read_text(path: str | os.PathLike[str]) -> str:
    """The content of a text file, in UTF-8. Raises TunerError as `read_bytes`, and for other content."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as error:
        message = f"not a text file: byte {error.start} is not UTF-8"
        raise TunerError(message, location=name_of(path)) from None


def read_json(path: str | os.PathLike[str]) -> Any:  # noqa: ANN401 (as json.loads)
    """A JSON file. Raises TunerError as `read_text`, and for other content."""
    return parse_json(read_text(path), name_of(path))


def parse_json(text: str, location: str) -> Any:  # noqa: ANN401 (as json.loads)
    """A value from JSON. Raises TunerError with `location:line:column`, the line left out where it is 1."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = f":{error.lineno}" if "\n" in text else ""
        raise TunerError(f"not JSON: {error.msg}", location=f"{location}{line}:{error.colno}") from None
    except RecursionError:
        raise TunerError("the JSON is nested too deep", location=location) from None


def data_of(data: object, kind: type[T]) -> T:
    """A dataclass from JSON's values. Unlike with `msgspec.convert`, unknown keys raise ValueError too."""
    found = msgspec.convert(data, kind)
    refuse_unknown(data, msgspec.to_builtins(found))
    return found


def refuse_unknown(data: object, known: object, place: str = "$") -> None:
    """Raises ValueError for a key of the data, at any depth, that `known` does not have."""
    if isinstance(data, Mapping) and isinstance(known, Mapping):
        for name, value in cast("Mapping[str, object]", data).items():
            if name not in known:
                raise ValueError(f"unknown key `{name}` - at `{place}`")
            refuse_unknown(value, cast("Mapping[str, object]", known)[name], f"{place}.{name}")


def read_toml(path: str | os.PathLike[str]) -> dict[str, object]:
    """A TOML file. Raises TunerError as `read_text`, and for other content."""
    text = read_text(path)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TunerError(f"not TOML: {error}", location=name_of(path)) from None
    except RecursionError:
        raise TunerError("the TOML is nested too deep", location=name_of(path)) from None


def name_of(path: str | os.PathLike[str]) -> str:
    """The name of an input in messages."""
    return "<stdin>" if Path(path) == STANDARD else str(path)


def planned_output(path: Path, *suffixes: str) -> Path:
    """Check that an output can be written, before the work that makes it. Returns the path.

    Raises:
        UsageError: the name has none of the suffixes, or is that of an input or another output.
        TunerError: nothing can be written there.
    """
    if suffixes and path.suffix not in suffixes:
        raise UsageError(f"{path}: the name must end in {' or '.join(suffixes)}")
    _check(path)
    whole = Path(os.path.realpath(path))
    if _named is not None:
        if whole in _named.outputs:
            raise UsageError(f"{path}: two outputs have this name")
        _named.outputs.add(whole)
    try:
        if _is_special(whole):
            return path
        beside = _beside(whole)
        os.close(_created(beside))
        beside.unlink()
    except OSError as error:
        raise TunerError(f"cannot write: {error.strerror}", location=str(path)) from None
    return path


def planned_folder(path: Path) -> Path:
    """A folder for outputs, created if missing. Raises TunerError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise TunerError("this is a file, not a folder", location=str(path)) from None
    except OSError as error:
        raise TunerError(f"cannot create the folder: {error.strerror}", location=str(path)) from None
    return path


@contextmanager
def writing(path: Path) -> Generator[BinaryIO]:
    """A file that replaces the one at the path if the block ends without an error.

    Raises:
        UsageError: it is an input of the same command.
        TunerError: it cannot be written.
    """
    _check(path)
    whole = Path(os.path.realpath(path))  # where it is a link, what it leads to is replaced
    try:
        if _is_special(whole):
            with whole.open("wb") as file:
                yield file
            return
        beside = _beside(whole)
        with os.fdopen(_created(beside), "wb") as file:
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                if whole.exists():
                    beside.chmod(stat.S_IMODE(whole.stat().st_mode))
                beside.replace(whole)
            except BaseException:
                with suppress(OSError):
                    beside.unlink()
                raise
    except OSError as error:
        raise TunerError(f"cannot write: {error.strerror}", location=str(path)) from None


def write(path: Path, content: bytes | str) -> None:
    """Write a whole output; text in UTF-8. Raises UsageError and TunerError as `writing`."""
    with writing(path) as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def _check(path: Path) -> None:
    if path.is_dir():
        raise TunerError("this is a folder, not a file", location=str(path))
    if not path.absolute().parent.is_dir():
        raise TunerError("no such folder", location=str(path.parent))
    if _named is not None and _identity(path) in _named.inputs:
        raise UsageError(f"{path}: the output would overwrite an input", hint="name another output")


def _identity(path: Path) -> _Identity | None:
    """The identity of a regular file, equal for all of its names; None for other files."""
    with suppress(OSError, ValueError):
        found = path.stat()
        if stat.S_ISREG(found.st_mode):
            return found.st_dev, found.st_ino
    return None


def _is_special(path: Path) -> bool:
    """Whether it is a device or a pipe, which is written to and not replaced."""
    return path.exists() and not path.is_file()


def _beside(path: Path) -> Path:
    return path.with_name(f".iree_tuner_{secrets.token_hex(8)}")


def _created(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)


def _until_end(file: BinaryIO, location: str) -> bytes:
    found = bytearray()
    while part := file.read(_CHUNK_BYTES):
        found += part
        if len(found) > _MOST_PIPED_BYTES:
            raise TunerError("the pipe has more than 2 GiB", location=location, hint="use a file")
    return bytes(found)
