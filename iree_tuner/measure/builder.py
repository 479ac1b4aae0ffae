"""Build many candidates at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

import iree.runtime as rt

from iree_tuner.compiler.worker import Calls, Ok, Timeout, Workers
from iree_tuner.device.program_parameters import withheld_parameters
from iree_tuner.measure.candidate import Built, build_here, start_here
from iree_tuner.program.bindings import Harness
from iree_tuner.space.configuration import Configuration
from iree_tuner.targets import Target, kind_of_device
from iree_tuner.targets.runtime import RUNTIME_ERRORS, device_for

T = TypeVar("T")
_AHEAD_S, _MOST_SENT = 600.0, 128 << 20  # of a program; bytes, which may be weights

DEFAULT_TIMEOUT_S = 60.0

Build = Callable[[bytes, tuple[str, ...], Configuration | None, int, int, bool], Built]
"""The function that runs in a worker; see `build_here`."""


class Builder:
    """Compiles harnesses in disposable workers; a crash or a time-out is an outcome, not an exception.

    Args:
        target: whose flags to compile with.
        workers: where.
        timeout_s: limit of one compilation.
        build: a module-level function that compiles; tests replace it.
    """

    def __init__(
        self, target: Target, workers: Calls, timeout_s: float = DEFAULT_TIMEOUT_S, build: Build = build_here
    ) -> None:
        self._target = target
        self._workers = workers
        self.timeout_s = timeout_s
        self._build = build
        self._defaults: dict[bytes, Future[Built]] = {}

    def start(self, count: int) -> list[Future[None]]:
        """Have that many workers begin to load the compiler; one that cannot fails again when it is used."""
        return [self._workers.submit(start_here, self._target.flags) for _ in range(count)]

    def build(self, harness: Harness, configuration: Configuration | None) -> Built:
        """One executable; None is the compiler's own choice."""
        return self.result(self.submit(harness, configuration))

    def build_all(self, harness: Harness, configurations: Sequence[Configuration]) -> Iterator[Built]:
        """One result for each configuration, in order, as they are ready."""
        futures = [self.submit(harness, configuration) for configuration in configurations]
        try:
            for future in futures:
                yield self.result(future)
        finally:
            for future in futures:
                if not future.running():  # a running one would take its worker with it
                    future.cancel()

    def submit(
        self, harness: Harness, configuration: Configuration | None, placement: int = 0,
        timeout_s: float = math.inf, most_ops: int = 0, verify: bool = True,
    ) -> Future[Built]:  # fmt: skip
        """Begin a compilation; `result` says how it ended. `timeout_s` can only shorten the builder's own.

        The default of a harness is built once: the profile, the baselines and kernels' contests share it.
        """
        is_default = configuration is None and not placement and not most_ops and verify
        known = self._defaults.get(harness.module) if is_default else None
        if known is not None and not _failed(known):
            return known
        future = self._workers.submit(
            self._build,
            harness.module,
            self._target.flags,
            configuration,
            placement,
            most_ops,
            verify,
            timeout_s=min(timeout_s, self.timeout_s),
        )
        if is_default:
            self._defaults[harness.module] = future
        return future

    def result(self, future: Future[Built]) -> Built:
        """Wait for a compilation."""
        match self._workers.end(future):
            case Ok(built):
                return built
            case Timeout(limit_s) as end:
                return Built("compile_timeout", message=str(end), seconds=limit_s)
            case end:
                return Built("compile_crash", message=str(end))


def _failed(future: Future[T]) -> bool:
    """Whether it ended without a result, so that another attempt may succeed."""
    return future.cancelled() or (future.done() and future.exception() is not None)


class Loader:
    """Loads executables ahead, in workers of its own, so that a device's driver compiles them before
    measuring.

    CUDA's driver compiles PTX when an executable is loaded, on the host, which takes seconds for large code.
    It keeps the result in its cache on disk (`CUDA_CACHE_PATH`), which processes share: the measuring worker
    then loads it in less than a millisecond. The workers have no limit of memory: drivers map more than they
    use.
    """

    def __init__(self, device: str, workers: Calls) -> None:
        self._device = device
        self._workers = workers

    def submit(self, vmfb: bytes, timeout_s: float) -> Future[None]:
        """Begin to load an executable; `result` says how it ended."""
        return self._workers.submit(load_here, vmfb, self._device, timeout_s=timeout_s)

    def load_ahead(self, compiling: Future[T], vmfb: Callable[[T], bytes]) -> Future[None]:
        """Load a program's code as soon as it is compiled. The future is done when that has ended.

        Args:
            compiling: the program.
            vmfb: its VM module.
        """
        loading: Future[None] = Future()

        def load(compiled: Future[T]) -> None:
            made = b"" if _failed(compiled) else vmfb(compiled.result())
            with suppress(RuntimeError):  # all is being closed
                if 0 < len(made) <= _MOST_SENT:
                    own = self.submit(made, _AHEAD_S)
                    own.add_done_callback(lambda _: loading.set_result(None))
                    return
            loading.set_result(None)

        compiling.add_done_callback(load)
        return loading

    def result(self, future: Future[None]) -> bool:
        """Whether it ended in time. The measuring worker finds executables that do not load, and says why."""
        return not isinstance(self._workers.end(future), Timeout)

    def close(self) -> None:
        self._workers.close()


def loader_for(device: str, jobs: int, calls: Calls | None = None) -> Loader | None:
    """A loader with a worker for every four of `jobs`, or with others' calls.

    None where nothing is compiled when it is loaded.
    """
    if not kind_of_device(device).compiles_on_load:
        return None
    return Loader(device, calls or Workers(max(2, jobs // 4), memory_bytes=None, yielding=True))


def load_here(vmfb: bytes, device: str) -> None:
    """Load and forget an executable, or a program's code."""
    config, hal = device_for(device)
    with suppress(*RUNTIME_ERRORS):  # the measuring worker reports it, see `Loader.result`
        module = rt.VmModule.copy_buffer(config.vm_instance, vmfb)
        rt.VmContext(config.vm_instance, modules=[withheld_parameters(), hal, module])
