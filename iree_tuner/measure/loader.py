"""Have a device's driver compile executables before they are measured.

CUDA's driver compiles PTX when an executable is loaded, on the host, which takes seconds for large
code. It keeps the result in its cache on disk (`CUDA_CACHE_PATH`), which processes share, so that loading
again costs less than a millisecond. Other processes than the measuring one therefore load first.
"""

from __future__ import annotations

from concurrent.futures import Future

import iree.runtime as rt

from iree_tuner.compiler.worker import Calls, Timeout, Workers
from iree_tuner.targets import kind_of_device
from iree_tuner.targets.runtime import RUNTIME_ERRORS, device_for


class Loader:
    """Loads executables in workers of its own.

    Args:
        device: URI of the device; each worker has a context on it.
        workers: where; without a limit of memory, as drivers map more than they use.
    """

    def __init__(self, device: str, workers: Calls) -> None:
        self._device = device
        self._workers = workers

    def submit(self, vmfb: bytes, timeout_s: float) -> Future[None]:
        """Begin to load an executable; `result` says how it ended."""
        return self._workers.submit(load_here, vmfb, self._device, timeout_s=timeout_s)

    def result(self, future: Future[None]) -> bool:
        """Whether it ended in time. The measuring worker finds executables that do not load, and says why."""
        return not isinstance(self._workers.end(future), Timeout)

    def close(self) -> None:
        """Stop the workers."""
        self._workers.close()


def loader_for(device: str, jobs: int, calls: Calls | None = None) -> Loader | None:
    """A loader with a worker for every four of `jobs`, or with others' calls.

    None where nothing is compiled when it is loaded.
    """
    if not kind_of_device(device).compiles_on_load:
        return None
    return Loader(device, calls or Workers(max(2, jobs // 4), memory_bytes=None, yielding=True))


def load_here(vmfb: bytes, device: str) -> None:
    """Load an executable, and forget it."""
    try:
        config, hal = device_for(device)
        module = rt.VmModule.copy_buffer(config.vm_instance, vmfb)
        rt.VmContext(config.vm_instance, modules=[hal, module])
    except RUNTIME_ERRORS:
        return  # `Loader.result` says who tells of it
