"""Load and run executables on a device. Runs in the measuring worker."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.measure.data import fill
from iree_tuner.program.dispatch import Harness

_devices: dict[str, tuple[rt.Config, Any]] = {}


def device_for(uri: str) -> tuple[rt.Config, Any]:
    """This process's runtime for a device: its configuration and its HAL module."""
    if uri not in _devices:
        config = rt.Config(device=rt.get_device(uri))
        _devices[uri] = (config, rt.create_hal_module(config.vm_instance, config.device))
    return _devices[uri]


class LoadedDispatch:
    """A harness's executable, loaded, with a buffer of its own."""

    def __init__(self, vmfb: bytes, harness: Harness, device: str) -> None:
        config, hal = device_for(device)
        self._module = rt.VmModule.copy_buffer(config.vm_instance, vmfb)
        self._context = rt.VmContext(config.vm_instance, modules=[hal, self._module])
        function = self._module.lookup_function(harness.function)
        if function is None:
            raise ValueError(f"the executable does not export {harness.function}")
        self._function = function
        self._harness = harness
        self._buffer = config.device.allocator.allocate_buffer(
            memory_type=rt.MemoryType.DEVICE_LOCAL | rt.MemoryType.HOST_VISIBLE,
            allowed_usage=rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING,
            allocation_size=max(harness.buffer_bytes, 1),
        )

    def fill(self, seed: int) -> None:
        """Set inputs by seed, and poison the outputs."""
        self._view()[:] = fill(self._harness.bindings, max(self._harness.buffer_bytes, 1), seed)

    def read(self) -> npt.NDArray[np.uint8]:
        """A copy of the buffer."""
        return self._view().copy()

    def run(self, repeats: int) -> float:
        """Run the dispatch `repeats` times; seconds of the whole call."""
        arguments = rt.VmVariantList(2)
        arguments.push_int(repeats)
        arguments.push_ref(cast(rt.VmRef, self._buffer))  # any ref object will do; the stubs name one
        results = rt.VmVariantList(0)
        start = time.perf_counter()
        self._context.invoke(self._function, arguments, results)
        return time.perf_counter() - start

    def _view(self) -> npt.NDArray[np.uint8]:
        mapped = self._buffer.map()
        return mapped.asarray((max(self._harness.buffer_bytes, 1),), np.dtype(np.uint8))


def calibrate(loaded: LoadedDispatch, batch_s: float) -> int:
    """Repeats for a batch of about `batch_s`; the first run, which touches new pages, does not count."""
    loaded.run(1)
    repeats = 1
    while True:
        elapsed = loaded.run(repeats)
        if elapsed >= batch_s / 4 or repeats >= 1 << 16:
            return max(1, round(repeats * batch_s / max(elapsed, 1e-9)))
        repeats *= 4


def interleaved(loaded: Sequence[LoadedDispatch], repeats: Sequence[int], rounds: int) -> list[list[float]]:
    """Microseconds of one run, for each round and each executable; each round starts with another one."""
    samples: list[list[float]] = []
    for round_index in range(rounds):
        order = [(round_index + shift) % len(loaded) for shift in range(len(loaded))]
        row = [0.0] * len(loaded)
        for index in order:
            row[index] = loaded[index].run(repeats[index]) / repeats[index] * 1e6
        samples.append(row)
    return samples
