"""Several copies of a loaded operation that run at the same time, each in a thread of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from iree_tuner.suite.backends.backend import Running


class SideBySide:
    """A job that each of several can run so many times; for `measure.protocol.Batches`."""

    def __init__(self, running: Sequence[Running]) -> None:
        self._running = running
        self._threads = ThreadPoolExecutor(len(running)) if len(running) > 1 else None

    def run(self, repeats: int) -> float:
        """Run each so many times; seconds until all are done."""
        if self._threads is None:
            return self._running[0].run(repeats)
        start = time.perf_counter()
        for each in [self._threads.submit(running.run, repeats) for running in self._running]:
            each.result()
        return time.perf_counter() - start

    def close(self) -> None:
        """End the threads."""
        if self._threads is not None:
            self._threads.shutdown()
