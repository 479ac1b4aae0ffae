"""Arrays in files: .npy, and those of .npz and .safetensors archives.

Headers are read here: NumPy refuses .npy files of types of ml_dtypes, whose headers name them `<f1` or `|V1`,
and the safetensors package makes no NumPy arrays of 8-bit floats. The program's type decides how to read.
"""

from __future__ import annotations

import ast
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt

from iree_tuner.device.program_run import ARCHIVES, ArchiveMember
from iree_tuner.errors import TunerError
from iree_tuner.ops.element_type import ElementType

Array = npt.NDArray[np.generic]

_NPY = b"\x93NUMPY"
_KINDS = {"f": "f{}", "i": "i{}", "u": "ui{}", "b": "i1", "c": "complex<f{}>"}
_SAFE = {
    "BOOL": "i1", "F4": "f4E2M1FN", "F8_E4M3": "f8E4M3FN", "F8_E8M0": "f8E8M0FNU", "C64": "complex<f32>",
    "F8_E5M2": "f8E5M2", "F8_E4M3FNUZ": "f8E4M3FNUZ", "F8_E5M2FNUZ": "f8E5M2FNUZ",
    **{f"{kind}{bits}": f"{name}{bits}" for kind, name in (("F", "f"), ("BF", "bf"), ("I", "i"), ("U", "ui"))
       for bits in (8, 16, 32, 64)},
}  # fmt: skip
_UNREADABLE = (OSError, ValueError, EOFError, KeyError, TypeError, SyntaxError, struct.error, zlib.error,
               zipfile.BadZipFile, NotImplementedError, RuntimeError)  # fmt: skip
_LONGEST_HEADER = 100 << 20  # bytes, as safetensors has it


@dataclass(frozen=True)
class Header:
    """The header of an array in a file."""

    shape: tuple[int, ...]  # of the array
    bits: int  # of an element
    element_type: str | None  # MLIR's name of the type; None if the file does not have it
    offset: int  # of its first byte
    by_columns: bool = False  # whether elements are in Fortran's order
    swapped: bool = False  # whether numbers have the byte order of other machines

    def __str__(self) -> str:
        """As `iree-run-module` writes types."""
        return "x".join((*map(str, self.shape), self.element_type or f"{self.bits // 8} bytes"))

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.bits // 8

    def has(self, element_type: str) -> bool:
        """Whether its elements are of a type. Integers of less than a byte take a byte."""
        kind = ElementType.named(element_type)
        dtype = kind.dtype
        if dtype is None or self.element_type is None:
            return dtype is not None and self.bits == 8 * dtype.itemsize
        if not kind.is_integer:
            return self.element_type == element_type
        bits = 8 * dtype.itemsize
        signs = [sign for sign in ("u", "s") if kind.bits == bits and element_type.startswith(sign)]
        own = [f"ui{bits}"] if "u" in signs else [f"i{bits}"] if "s" in signs else [f"i{bits}", f"ui{bits}"]
        return self.element_type in own or (kind.bits == 1 and self.element_type == "i1")


def header_of(source: str | ArchiveMember) -> Header:
    """The header of an array in a file. Raises TunerError if it is missing, damaged or too short."""
    path = source if isinstance(source, str) else source.path
    with _reading(path) as file:
        if isinstance(source, str):
            return _of_npy(file, Path(path).stat().st_size)
        if path.endswith(ARCHIVES[0]):
            with zipfile.ZipFile(file) as archive:
                name = f"{source.key}.npy"
                with archive.open(name) as member:
                    return _of_npy(cast(BinaryIO, member), archive.getinfo(name).file_size)
        return _of_safetensors(file, Path(path).stat().st_size)[source.key]


def keys_of(path: str) -> list[str]:
    """The names of an archive's arrays, in its order. Raises TunerError if it cannot be read."""
    with _reading(path) as file:
        if path.endswith(ARCHIVES[0]):
            with zipfile.ZipFile(file) as archive:
                return [name.removesuffix(".npy") for name in archive.namelist()]
        return list(_of_safetensors(file, Path(path).stat().st_size))


def headers_of(path: str) -> dict[str, Header]:
    """All arrays of a .safetensors file. Raises TunerError if it cannot be read."""
    with _reading(path) as file:
        return _of_safetensors(file, Path(path).stat().st_size)


def read_array(source: str | ArchiveMember, dtype: np.dtype[np.generic]) -> Array:
    """An array, read as a type of the size in its header; mapped if it is not compressed.

    Raises TunerError like `header_of`.
    """
    header = header_of(source)
    stored = dtype.newbyteorder() if header.swapped else dtype
    path = source if isinstance(source, str) else source.path
    if not header.size:
        return np.empty(header.shape, dtype)
    with _reading(path) as file:
        if isinstance(source, str) or not path.endswith(ARCHIVES[0]):
            count = math.prod(header.shape)
            flat: Array = np.memmap(path, stored, "r", header.offset, count)
        else:
            with zipfile.ZipFile(file) as archive:
                flat = np.frombuffer(archive.read(f"{source.key}.npy"), stored, offset=header.offset)
    shaped = flat.reshape(header.shape[::-1]).T if header.by_columns else flat.reshape(header.shape)
    return shaped.astype(dtype, copy=False)


@contextmanager
def _reading(path: str) -> Generator[BinaryIO]:
    """An open file; errors with it become a TunerError of one line."""
    kind = next((each for each in ARCHIVES if path.endswith(each)), ".npy")
    try:
        with Path(path).open("rb") as file:
            yield file
    except FileNotFoundError:
        raise TunerError("no such file", location=path) from None
    except _UNREADABLE as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error).partition("\n")[0]
        raise TunerError(f"not a {kind} file that can be read: {reason}", location=path) from None


def _of_npy(file: BinaryIO, size: int) -> Header:
    """The header of a .npy file of `size` bytes. Raises `_UNREADABLE` errors."""
    start = file.read(8)
    if start[:6] != _NPY or len(start) < 8:
        raise ValueError("it does not begin as one" if start else "it is empty")
    length = "<H" if start[6] == 1 else "<I"
    (count,) = struct.unpack(length, file.read(struct.calcsize(length)))
    offset = 8 + struct.calcsize(length) + count
    if offset > size:
        raise ValueError(f"its header is cut off: it has {size} bytes")
    written = ast.literal_eval(file.read(count).decode("latin1" if start[6] < 3 else "utf8"))
    descr, shape = written["descr"], tuple(map(int, written["shape"]))
    if not isinstance(descr, str) or not descr[2:].isdigit() or descr[1] in "OUSmM":
        raise ValueError(f"its elements are of NumPy's type {descr!r}, not numbers")
    bits = 8 * int(descr[2:])
    part = bits // 2 if descr[1] == "c" else bits
    name = _KINDS.get(descr[1], "").format(part) if descr[1] != "f" or bits > 8 else ""
    found = Header(shape, bits, name or None, offset, bool(written["fortran_order"]), descr[0] == ">")
    if min(shape, default=0) < 0 or offset + found.size > size:
        raise ValueError(f"{found} needs {found.size} bytes, and it has {max(0, size - offset)}")
    return found


def _of_safetensors(file: BinaryIO, size: int) -> dict[str, Header]:
    """The headers of all arrays, in the order of their bytes. Raises `_UNREADABLE` errors."""
    if size < 8:
        raise ValueError(f"it has {size} bytes")
    (count,) = struct.unpack("<Q", file.read(8))
    if count > min(size - 8, _LONGEST_HEADER):
        raise ValueError(f"its header should have {count} bytes, and it has {size}")
    found: dict[str, Header] = {}
    for key, each in json.loads(file.read(count)).items():
        if key == "__metadata__":
            continue
        kind, shape = _SAFE.get(each["dtype"]), tuple(map(int, each["shape"]))
        start, end = map(int, each["data_offsets"])
        bits = 8 * (end - start) // max(1, math.prod(shape)) if kind is None else ElementType.named(kind).bits
        found[key] = Header(shape, 8 if kind == "i1" else bits, kind or each["dtype"], 8 + count + start)
        if not 0 <= start <= end <= size - 8 - count or found[key].size != end - start:
            raise ValueError(f"'{key}' is {found[key]} at bytes {start} to {end} of {size - 8 - count}")
    return dict(sorted(found.items(), key=lambda item: item[1].offset))
