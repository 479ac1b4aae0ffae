"""Load and run executables on a device. Runs in the measuring worker."""

from __future__ import annotations

import time
from typing import cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.device.memory import Memory
from iree_tuner.program.bindings import Harness
from iree_tuner.targets.runtime import device_for


class LoadedDispatch:
    """A harness's executable, loaded.

    Without `memory`, it runs on one copy of its own, which is made when it is needed.

    Raises:
        RuntimeError, ValueError: it does not load, or does not export the harness's function.
            (`RUNTIME_ERRORS` are the errors of `run`.)
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
        if self._memory is None:
            self._memory = Memory.for_checks(self.harness, self.device)
        return self._memory

    def use(self, memory: Memory) -> None:
        """Run on this memory from now on."""
        self._memory = memory

    def fill(self, seed: int) -> None:
        """Set inputs by seed, and poison the outputs."""
        self.memory.fill(seed)

    def read(self) -> npt.NDArray[np.uint8]:
        """See `Memory.read`."""
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
