"""The workers and tools of one run."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

from iree_tuner.build.pool import Builder
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import UsageError
from iree_tuner.measure.measurer import Measurer
from iree_tuner.targets import Target

_COMPILES_PER_WORKER = 2000


class Lab:
    """Compile workers, one measuring worker, and the context of the IR that is built in this process.

    On a CPU both kinds of worker want the same cores, so that the loop never lets them work at once.
    """

    def __init__(self, target: Target, jobs: int | None = None) -> None:
        if target.device is None:
            raise UsageError(f"target {target} has no device to measure on", hint="give a device")
        self.target = target
        self.context = new_context()
        self.compilers = Workers(jobs or usable_cores(), tasks_per_worker=_COMPILES_PER_WORKER)
        self.builder = Builder(target, self.compilers)
        self.measurer = Measurer(target.device)

    def close(self) -> None:
        """Stop all workers."""
        self.compilers.close()
        self.measurer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
