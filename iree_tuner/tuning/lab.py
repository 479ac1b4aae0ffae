"""The workers and tools of one run."""

from __future__ import annotations

import copy
import itertools
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol, Self, cast

from iree_tuner.check.check import THOROUGH_SEEDS
from iree_tuner.check.reference.interpreter import write_ahead
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Calls, Workers
from iree_tuner.device.bench import Bench
from iree_tuner.device.data import span, written
from iree_tuner.device.device_facts import usable_cores
from iree_tuner.errors import UsageError
from iree_tuner.installed import brought, usable
from iree_tuner.measure.candidate import Builder, loader_for
from iree_tuner.measure.measurer import Measurer
from iree_tuner.space.build import Restriction
from iree_tuner.targets import Target, on_host
from iree_tuner.tuning.options import ClusterOptions
from iree_tuner.tuning.timeline import Timeline, TimeUse

EVERYTHING = Restriction()

_LABS = "iree_tuner.labs"

_COMPILES_PER_WORKER = 2000
_QUEUED = 2


class Fleet(Protocol):
    """Other machines, whose workers compile and measure."""

    news: deque[str]
    """Of devices and workers that came or went, for people."""
    queued: int
    """Calls that wait at a device."""

    def processor(self, worker: str) -> str:
        """The processor of a worker's host."""
        ...

    def compile_calls(self, owners: AbstractSet[str], processor: str, here: Calls) -> Calls:
        """Calls of candidates' compilations, on hosts with a processor, but not on those of `owners`."""
        ...

    def device_calls(self, uri: str, worker: str) -> Calls:
        """Calls on a device, one after the other."""
        ...

    def load_calls(self, devices: Sequence[tuple[str, str]]) -> Calls:
        """Calls in which the driver of the first device compiles."""
        ...


class Lab:
    """Compile workers, one measuring worker for each device, and the context of the IR that is built here.

    Args:
        target: of the run, on its device.
        jobs: compile workers; one a core by default.
        devices: further devices of the same kind, on which candidates are measured side by side.
        fleet: compile and measure candidates on its workers. Code that is compiled once, and code that no
            worker has the tools for, is compiled here.
        owned: the fleet's devices to measure on, each with its worker; the first is the target's.
        quiet: further devices, on which others measure at the same time.
        cold: see `device.bench.Bench`.
        restriction: the part of each space to search.

    Raises:
        UsageError: there is no device, or another number of workers is needed.
    """

    def __init__(
        self, target: Target, jobs: int | None = None, *, devices: Sequence[str] = (), cold: bool = True,
        restriction: Restriction = EVERYTHING, fleet: Fleet | None = None,
        owned: Sequence[tuple[str, str]] = (), quiet: Sequence[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        if target.device is None:
            raise UsageError(f"target {target} has no device to measure on", hint="give a device")
        self.target = target
        self.cold = cold
        self.restriction = restriction
        self._jobs = jobs or usable_cores()
        self._fleet = fleet
        self.on_host = on_host(target.device)  # whether they are processors
        # whether the devices compute on the cores that compile: nothing may compile during measurements
        self.alternate = self.on_host and fleet is None
        if self.alternate and devices:
            raise UsageError("local devices share the same cores", hint="give one of them")
        # calls at a time in a device's worker: the next one begins at once, even if this process is busy
        self.queued = 1 if self.alternate else fleet.queued if fleet else _QUEUED
        self.context = new_context()
        self.compilers = Workers(
            self._jobs, tasks_per_worker=_COMPILES_PER_WORKER, yielding=not self.alternate
        )
        # of the fleet's workers, those whose hosts compute for measurements: nothing compiles there
        self.owners = {worker for uri, worker in (*owned, *quiet) if on_host(uri)}
        # of devices and workers that came or went, for people
        self.news: deque[str] = fleet.news if fleet else deque()
        processor = fleet.processor(owned[0][1]) if fleet and self.on_host and target.native else ""
        # the workers that compile candidates: `compilers` without a fleet
        self.slots: Calls = self.compilers
        if fleet:
            self.slots = fleet.compile_calls(self.owners, processor, self.compilers)
        self.builder = Builder(target, self.slots)
        # has the driver compile ahead of measuring, if drivers compile
        self.loader = loader_for(target.device, self._jobs, fleet.load_calls(owned) if fleet else None)
        self._scratch = tempfile.TemporaryDirectory(prefix="iree_tuner_", ignore_cleanup_errors=True)
        self._number = itertools.count()
        self._room = shutil.disk_usage(self._scratch.name).free // 4
        self._starting: list[Future[None]] = []
        self._opening: list[Future[None]] = []
        # of the devices, and of those that join the fleet later (`take`)
        self.measurers = [] if fleet else [Measurer(uri) for uri in (target.device, *devices)]
        for device in owned:
            self.take(*device)

    @property
    def jobs(self) -> int:
        """How many candidates compile at a time; of a fleet, now."""
        return max(1, self.slots.slots)

    def time_use(self, timeline: Timeline) -> TimeUse:
        """Where the time of a run has gone so far, with the work of all workers."""
        pools: list[tuple[str, Calls]] = [("compiler", self.compilers)]
        if self._fleet:
            pools.append(("compile slot", self.slots))
        pools += [(each.name, each.workers) for each in self.measurers]
        return timeline.use([(name, pool.spans) for name, pool in pools])

    def on(self, target: Target) -> Lab:
        """The same workers for another target of the same device: the same chip with other options."""
        other = copy.copy(self)
        other.target = target
        other.builder = Builder(target, self.slots)
        return other

    def take(self, uri: str, worker: str) -> None:
        """Measure on a device of the fleet, too."""
        assert self._fleet is not None, "it has the device"
        calls = self._fleet.device_calls(uri, worker)
        self.measurers.append(Measurer(uri, calls, name=f"{uri} of {worker}"))

    def tell(self, told: Callable[[str], None]) -> None:
        """Report the news since the last time."""
        while self.news:
            told(self.news.popleft())

    def start(self) -> None:
        """Have all workers begin to start, which takes a second or two."""
        self._opening = [each.start() for each in self.measurers]
        starting = Builder(self.target, self.compilers) if self._fleet else self.builder
        self._starting = [*starting.start(self._jobs), *self._opening]

    def check_devices(self) -> None:
        """Wait until the devices are open. Raises TunerError for one that does not open."""
        for opening in self._opening:
            opening.result()

    def settle(self) -> None:
        """Wait until no worker starts any more, and nothing compiles on the cores that are timed."""
        wait(self._starting)
        if self.alternate:
            self.compilers.settle()

    def referenced(self, bench: Bench) -> Bench:
        """The bench with reference results, which are computed in the background if there is room."""
        bindings = bench.harness.bindings
        size = len(THOROUGH_SEEDS) * sum(span(binding, each)[1] for binding, each, _ in written(bindings))
        if bench.case or self.on_host or self._fleet or size > self._room:  # a file of this machine
            return bench
        self._room -= size
        prefix = Path(self._scratch.name) / f"{next(self._number)}"
        self.compilers.submit(write_ahead, bench.harness, str(prefix), THOROUGH_SEEDS)
        return replace(bench, references=str(prefix))

    @property
    def measurer(self) -> Measurer:
        """That of the device that judges: the first, or the next one while its worker is gone."""
        return next((each for each in self.measurers if each.there), self.measurers[0])

    def close(self) -> None:
        self.compilers.close()
        self.slots.close()
        if self.loader is not None:
            self.loader.close()
        for measurer in self.measurers:
            measurer.close()
        self._scratch.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LabMaker(Protocol):
    """Makes labs on other machines: what an entry point of `iree_tuner.labs` makes."""

    def takes(self, scheduler: object) -> bool:
        """Whether it knows this kind of address, or of client."""
        ...

    def caution(self, scheduler: str) -> str:
        """A warning about an address, before anything is sent there; empty for none."""
        ...

    def lab(
        self, scheduler: object, options: ClusterOptions, *, cold: bool, restriction: Restriction
    ) -> AbstractContextManager[Lab]:
        """A lab on the devices that a run was asked for. Raises TunerError if it has none."""
        ...


def caution_about(scheduler: str) -> str:
    """A warning about a scheduler's address; empty for none."""
    return next((each.caution(scheduler) for each in _makers(scheduler)), "")


@contextmanager
def lab_for(
    options: ClusterOptions, *, cold: bool = True, restriction: Restriction = EVERYTHING,
    client: object | None = None,
) -> Generator[Lab]:  # fmt: skip
    """The lab that a run was asked for, of this machine or of a cluster.

    Raises:
        TunerError: the device or the cluster is not there.
        UsageError: there are no such devices, or no package reaches such a cluster.
    """
    scheduler = client or options.scheduler
    if scheduler is None:
        target, others = options.targets
        with Lab(target, options.jobs, devices=others, cold=cold, restriction=restriction) as lab:
            yield lab
        return
    for maker in _makers(scheduler):
        with maker.lab(scheduler, options, cold=cold, restriction=restriction) as lab:
            yield lab
        return
    raise UsageError("no installed package has a run measure there", location=str(scheduler))


def _makers(scheduler: object) -> Iterator[LabMaker]:
    for entry in brought(_LABS, "labs").values():
        maker = cast(LabMaker, usable(entry, "labs"))
        if maker.takes(scheduler):
            yield maker
