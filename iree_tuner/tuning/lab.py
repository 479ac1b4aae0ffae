"""The workers and tools of one run."""

from __future__ import annotations

import copy
import itertools
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from pathlib import Path
from typing import Self

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import UsageError
from iree_tuner.execute.bench import Bench
from iree_tuner.execute.check import THOROUGH_SEEDS
from iree_tuner.execute.data import span, written
from iree_tuner.execute.device_facts import usable_cores
from iree_tuner.execute.loader import loader_for
from iree_tuner.execute.measurer import Measurer
from iree_tuner.execute.pool import Builder
from iree_tuner.execute.reference.ahead import write_ahead
from iree_tuner.space.restriction import Restriction
from iree_tuner.targets import Target

EVERYTHING = Restriction()

_COMPILES_PER_WORKER = 2000


class Lab:
    """Compile workers, one measuring worker for each device, and the context of the IR that is built here.

    Args:
        target: what is tuned for, on its device.
        jobs: compile workers; one a core by default.
        devices: further devices of the same kind, on which candidates are measured side by side.
        cold: see `execute.bench.Bench`.
        restriction: what of each space is searched.

    Raises:
        UsageError: there is no device, or another number of workers is needed.

    Attributes:
        loader: has the driver compile ahead of measuring, where it does so at all.
        alternate: whether the devices compute on the host's cores, so that nothing may compile meanwhile.
    """

    def __init__(
        self, target: Target, jobs: int | None = None, *, devices: Sequence[str] = (), cold: bool = True,
        restriction: Restriction = EVERYTHING,
    ) -> None:  # fmt: skip
        if target.device is None:
            raise UsageError(f"target {target} has no device to measure on", hint="give a device")
        self.target = target
        self.cold = cold
        self.restriction = restriction
        self.jobs = jobs or usable_cores()
        self.alternate = target.device.startswith("local-")
        if self.alternate and devices:
            raise UsageError("local devices share the same cores", hint="give one of them")
        self.context = new_context()
        self.compilers = Workers(
            self.jobs, tasks_per_worker=_COMPILES_PER_WORKER, yielding=not self.alternate
        )
        self.builder = Builder(target, self.compilers)
        self.loader = loader_for(target.device, self.jobs)
        self._scratch = tempfile.TemporaryDirectory(prefix="iree_tuner_", ignore_cleanup_errors=True)
        self._number = itertools.count()
        self._room = shutil.disk_usage(self._scratch.name).free // 4
        self._starting: list[Future[None]] = []
        self._opening: list[Future[None]] = []
        self.measurers = [Measurer(uri) for uri in (target.device, *devices)]

    def on(self, target: Target) -> Lab:
        """The same workers for another target of the same device: the same chip with other options."""
        other = copy.copy(self)
        other.target = target
        other.builder = Builder(target, self.compilers)
        return other

    def start(self) -> None:
        """Have all workers begin to start, which takes a second or two: the program is read meanwhile."""
        self._opening = [each.start() for each in self.measurers]
        self._starting = [*self.builder.start(self.jobs), *self._opening]

    def check_devices(self) -> None:
        """Wait until the devices are open. Raises TunerError for one that does not open."""
        for opening in self._opening:
            opening.result()

    def settle(self) -> None:
        """Wait until nothing starts any more, and nothing compiles on the cores that are timed."""
        wait(self._starting)
        if self.alternate:
            self.compilers.settle()

    def referenced(self, bench: Bench) -> Bench:
        """The same, with what is right for it found out meanwhile, if nothing waits and there is room."""
        bindings = bench.harness.bindings
        size = len(THOROUGH_SEEDS) * sum(span(binding, each)[1] for binding, each, _ in written(bindings))
        if self.alternate or size > self._room:
            return bench
        self._room -= size
        prefix = Path(self._scratch.name) / f"{next(self._number)}"
        self.compilers.submit(write_ahead, bench.harness, str(prefix), THOROUGH_SEEDS)
        return replace(bench, references=str(prefix))

    @property
    def measurer(self) -> Measurer:
        """That of the first device, which judges."""
        return self.measurers[0]

    def close(self) -> None:
        """Stop all workers."""
        self.compilers.close()
        if self.loader is not None:
            self.loader.close()
        for measurer in self.measurers:
            measurer.close()
        self._scratch.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
