"""A program's dispatches, run one by one so that reads and writes beyond their inputs are found.

On this machine's processor an input ends where a protected page begins: reading on is a fault. On CUDA each
input is an allocation of exactly its size, and NVIDIA's compute-sanitizer watches the process.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.check.parts import LoadedParts, Pieces, runs
from iree_tuner.device.memory import uploaded
from iree_tuner.device.numerics import FILLINGS, Held
from iree_tuner.device.program_loaded import SEEDS
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.program.parts import ProgramPart
from iree_tuner.targets import on_host

Array = npt.NDArray[np.generic]

_ALIGNMENT = 64  # of a buffer's first byte, which code counts on
_PROTECTED = 0  # PROT_NONE
_SHARED = rt.MemoryType.DEVICE_LOCAL | rt.MemoryType.HOST_VISIBLE
_USAGE = rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING


@dataclass(frozen=True)
class Watched:
    """The program in parts that is run on a device.

    The number of the running dispatch is written to the file `marker`.
    """

    pieces: Pieces
    device: str
    run: ProgramRun
    marker: str


def guarded_here(watched: Watched, skipped: Collection[int]) -> int:
    """Run and count all dispatches except `skipped`, with guarded inputs. A defect kills the process."""
    loaded = _Guarded(watched.pieces, watched.device, watched.run)
    count = 0
    values = {number: Held(each) for number, each in loaded.inputs(SEEDS[1]).items()}
    for place, part in enumerate(loaded.parts.parts):
        if not runs(part, values):
            continue
        Path(watched.marker).write_bytes(place.to_bytes(4, "little"))
        read = [values[number] for number in part.reads]
        loaded.guarded = place not in skipped and bool(part.dispatch)
        made = loaded.values(part, read, FILLINGS[1])
        loaded.guarded = False
        values |= dict(zip(part.writes, map(Held, made), strict=True))
        count += bool(part.dispatch)
    return count


class _Guarded(LoadedParts):
    """Parts whose inputs end in front of a protected page, while `guarded`."""

    guarded = False

    def __init__(self, pieces: Pieces, device: str, run: ProgramRun) -> None:
        super().__init__(pieces, device, run)
        self._kept: list[object] = []

    def values(self, part: ProgramPart, read: Sequence[Held], byte: int) -> list[Array | float | int]:
        try:
            return super().values(part, read, byte)
        finally:
            self._kept.clear()

    def buffer(self, raw: npt.NDArray[np.uint8], byte: int) -> rt.HalBuffer:
        if not self.guarded or not raw.size:
            return super().buffer(raw, byte)
        if not on_host(self.device_uri):
            return uploaded(self.device, raw)
        found = self.device.allocator.import_host_allocation(_before_a_guard(raw), _SHARED, _USAGE)
        self._kept.append(found)  # a view does not keep the memory that it was imported from
        return found


def _before_a_guard(raw: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """A copy that ends less than `_ALIGNMENT` bytes in front of a page that must not be accessed."""
    page = mmap.PAGESIZE
    room = -(-raw.size // page) * page
    memory = mmap.mmap(-1, room + page)
    start = (room - raw.size) // _ALIGNMENT * _ALIGNMENT
    found = np.frombuffer(memory, np.uint8, raw.size, start)
    found[:] = raw
    guard = np.frombuffer(memory, np.uint8, page, room).ctypes.data
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(page), _PROTECTED):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def main() -> None:
    """Run what a file says, except for some dispatches. For a sanitizer, which starts this process."""
    watched = pickle.loads(Path(sys.argv[1]).read_bytes())  # written by who starts this
    assert isinstance(watched, Watched)
    guarded_here(watched, tuple(map(int, sys.argv[2:])))
