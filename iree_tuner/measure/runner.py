"""Load and run executables on a device. Runs in the measuring worker."""

from __future__ import annotations

import time
from functools import cache
from typing import Any, cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.measure.data import fill
from iree_tuner.program.bindings import Harness

_HOST = rt.MemoryType.DEVICE_LOCAL | rt.MemoryType.HOST_VISIBLE
_MAPPED = rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING

RUNTIME_ERRORS = (RuntimeError, ValueError, IndexError)
"""What the runtime's statuses become in Python: INVALID_ARGUMENT, OUT_OF_RANGE, and all others."""


@cache
def device_for(uri: str) -> tuple[rt.Config, Any]:
    """This process's runtime for a device: its configuration and its HAL module."""
    config = rt.Config(device=rt.get_device(uri))
    return config, rt.create_hal_module(config.vm_instance, config.device)


def probe(uri: str) -> None:
    """Use the device for a trifle. Raises one of `RUNTIME_ERRORS` where an earlier run made it unusable."""
    device = device_for(uri)[0].device
    device.allocator.allocate_buffer_copy(
        memory_type=rt.MemoryType.DEVICE_LOCAL,
        allowed_usage=rt.BufferUsage.DEFAULT,
        device=device,
        buffer=np.zeros(64, np.uint8),
    )


class Memory:
    """A buffer on the device with copies of a harness's bindings.

    Attributes:
        harness: whose bindings.
        buffer: `copies` times the harness's stride.
        copies: how many there are.
        next: the copy that the next run begins with.
    """

    def __init__(self, harness: Harness, buffer: rt.HalBuffer, copies: int = 1) -> None:
        self.harness = harness
        self.buffer = buffer
        self.copies = copies
        self.next = 0

    @classmethod
    def for_checks(cls, harness: Harness, device: str) -> Memory:
        """One copy that the host can fill and read."""
        config, _ = device_for(device)
        buffer = config.device.allocator.allocate_buffer(
            memory_type=_HOST, allowed_usage=_MAPPED, allocation_size=harness.stride
        )
        return cls(harness, buffer)

    @classmethod
    def for_timing(cls, harness: Harness, device: str, copies: int) -> Memory:
        """Copies in the device's own memory, each filled with what seed 0 gives."""
        config, _ = device_for(device)
        block = fill(harness.bindings, harness.stride, 0)
        buffer = config.device.allocator.allocate_buffer_copy(
            memory_type=rt.MemoryType.DEVICE_LOCAL,
            allowed_usage=rt.BufferUsage.DEFAULT,
            device=config.device,
            buffer=np.tile(block, copies),
        )
        return cls(harness, cast(rt.HalBuffer, buffer), copies)  # no element type is given: not a view

    def fill(self, seed: int) -> None:
        """Set inputs by seed, and poison the rest, the guard behind the last binding too."""
        self._view()[:] = fill(self.harness.bindings, self.harness.stride, seed)

    def read(self) -> npt.NDArray[np.uint8]:
        """A copy of what the bindings hold, with the guard."""
        return self._view().copy()

    def advance(self, runs: int) -> int:
        """The copy to begin with; the next call begins where this one ends."""
        first = self.next
        self.next = (first + runs) % self.copies
        return first

    def _view(self) -> npt.NDArray[np.uint8]:
        return self.buffer.map().asarray((self.harness.stride,), np.dtype(np.uint8))


class LoadedDispatch:
    """A harness's executable, loaded.

    Args:
        vmfb: the executable.
        harness: what it was built from.
        device: device URI.
        memory: what it runs on; one copy of its own, made when it is needed, where none is given.

    Raises:
        RuntimeError, ValueError: it does not load, or does not export the harness's function.
            (`RUNTIME_ERRORS` are those of `run`.)
    """

    def __init__(self, vmfb: bytes, harness: Harness, device: str, memory: Memory | None = None) -> None:
        config, hal = device_for(device)
        self._module = rt.VmModule.copy_buffer(config.vm_instance, vmfb)
        self._context = rt.VmContext(config.vm_instance, modules=[hal, self._module])
        function = self._module.lookup_function(harness.function)
        if function is None:
            raise ValueError(f"the executable does not export {harness.function}")
        self._function = function
        self._memory = memory
        self.harness = harness
        self.device = device

    @property
    def memory(self) -> Memory:
        """What it runs on."""
        if self._memory is None:
            self._memory = Memory.for_checks(self.harness, self.device)
        return self._memory

    def use(self, memory: Memory) -> None:
        """Run on other memory from now on."""
        self._memory = memory

    def fill(self, seed: int) -> None:
        """Set inputs by seed, and poison the outputs."""
        self.memory.fill(seed)

    def read(self) -> npt.NDArray[np.uint8]:
        """A copy of the buffer."""
        return self.memory.read()

    def run(self, repeats: int, copies: int | None = None) -> float:
        """Run the dispatch `repeats` times, on the copies of its data in turn; seconds of the whole call."""
        memory = self.memory
        arguments = rt.VmVariantList(4)
        arguments.push_int(repeats)
        arguments.push_int(min(copies or memory.copies, memory.copies))
        arguments.push_int(memory.advance(repeats))
        arguments.push_ref(cast(rt.VmRef, memory.buffer))  # any ref object will do; the stubs name one
        results = rt.VmVariantList(0)
        start = time.perf_counter()
        self._context.invoke(self._function, arguments, results)
        return time.perf_counter() - start
