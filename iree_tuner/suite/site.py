"""The devices of a run: on this machine, or with workers of a cluster (docs/cluster.md)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, TypeVar, cast

from iree_tuner.cluster import need_dask
from iree_tuner.compiler.worker import Calls, Ok, Workers
from iree_tuner.device.device_facts import DeviceFacts, facts_of
from iree_tuner.errors import TunerError
from iree_tuner.profiling.roofline import Roofline
from iree_tuner.suite.backends.backend import Backend
from iree_tuner.targets import Target, target_for_device
from iree_tuner.targets.runtime import RUNTIME_ERRORS, probe
from iree_tuner.tuning.lab import Lab

if TYPE_CHECKING:
    from distributed import Client

    from iree_tuner.cluster.cluster import Cluster


R = TypeVar("R")

_PROBE_S = 120.0


@dataclass(frozen=True)
class DeviceAddress:
    """A device, and the worker that owns it; empty on this machine."""

    uri: str
    worker: str = ""

    @property
    def option(self) -> str:
        """Its name for `--device`."""
        return f"{self.uri}@{self.worker}" if self.worker else self.uri

    def __str__(self) -> str:
        return f"{self.uri} of {self.worker}" if self.worker else self.uri


@dataclass(frozen=True)
class Library:
    """A back end's library at a place: its version, or why it cannot be used."""

    missing: str
    version: str


class Hosts:
    """The devices of this machine, or those of a cluster's workers.

    Facts about a device's host are asked there: the same functions are called here, or by the worker.

    Args:
        cluster: None for this machine.
    """

    def __init__(self, cluster: Cluster | None = None) -> None:
        self._cluster = cluster
        self.facts = cache(self._facts)

    @property
    def scheduler(self) -> str | None:
        """The cluster's address."""
        return self._cluster.address if self._cluster else None

    def places(self, uris: Sequence[str]) -> list[DeviceAddress]:
        """The devices with these URIs. Raises UsageError for unknown ones."""
        if self._cluster is None:
            return [DeviceAddress(uri) for uri in uris]
        return [DeviceAddress(*each) for each in self._cluster.find(uris)]

    def process(self, place: DeviceAddress) -> Calls:
        """A process at a device's host for the caller alone; it keeps what calls leave in it."""
        if self._cluster is None:
            return Workers(1, memory_bytes=None)
        return self._cluster.device_calls(place.uri, place.worker, alone=True)

    def ask(self, place: DeviceAddress, function: Callable[..., R], *args: object) -> R:
        """The return value of a function at a device's host. Raises what it raises, and WorkerError."""
        if self._cluster is None:
            return function(*args)
        with self._cluster.device_calls(place.uri, place.worker) as calls:
            return calls.call(function, *args)

    def target(self, place: DeviceAddress, chip: str) -> Target:
        """Of the compilation. Raises as `target_for_device`."""
        return self.ask(place, target_for_device, place.uri, chip)

    def _facts(self, place: DeviceAddress) -> DeviceFacts:
        return self.ask(place, facts_of, place.uri)

    def device(self, place: DeviceAddress, target: Target, backends: Sequence[Backend]) -> Device:
        """A device that answers."""
        facts, libraries = self.facts(place), {each.name: self.library(place, each) for each in backends}
        return Device(place, target, facts.name, facts.last_level_bytes, libraries)

    def library(self, place: DeviceAddress, backend: Backend) -> Library:
        """Whether a back end can be used there."""
        try:
            found = self.ask(place, library_here, backend, place.uri)
        except ImportError as error:  # of the back end itself, where it is another package's
            found = Library(f"the back end is not installed: {error}", "")
        if found.missing and place.worker:
            return Library(f"{found.missing} (on {place.worker})", found.version)
        return found

    def why_lost(self, place: DeviceAddress) -> str:
        """Why a device does not answer; empty when it does. Asked in a process of its own."""
        with self.process(place) as calls:
            end = calls.end(calls.submit(probe_here, place.uri, timeout_s=_PROBE_S))
            return end.value if isinstance(end, Ok) else str(end)

    def lab(
        self,
        target: Target,
        place: DeviceAddress,
        every: Sequence[DeviceAddress],
        jobs: int | None,
        *,
        cold: bool,
    ) -> Lab:
        """The host that compiles for a device and measures on it.

        Args:
            target: of the device.
            place: of the device.
            every: all devices of the run: their hosts compile nothing while these compute there.
            jobs, cold: see `Lab`.
        """
        if self._cluster is None:
            return Lab(target, jobs, cold=cold)
        owned, quiet = [(place.uri, place.worker)], [(each.uri, each.worker) for each in every]
        return Lab(target, jobs, cold=cold, fleet=self._cluster, owned=owned, quiet=quiet)


@contextmanager
def site_at(scheduler: str | object | None) -> Generator[Hosts]:
    """The devices of a cluster, by its address or a client of dask.distributed; else those of this machine.

    Raises TunerError if the cluster does not answer, or dask.distributed is not installed.
    """
    if scheduler is None:
        yield Hosts()
        return
    need_dask()
    from iree_tuner.cluster.cluster import Cluster

    with Cluster(cast("str | Client", scheduler)) as cluster:
        yield Hosts(cluster)


def library_here(backend: Backend, uri: str) -> Library:
    """Whether this host has a back end's library, and which."""
    return Library(backend.missing(uri), backend.version())


def probe_here(uri: str) -> str:
    """Why a device of this host does not answer; empty when it does."""
    try:
        probe(uri)
    except (*RUNTIME_ERRORS, TunerError) as error:
        return (str(error).splitlines() or ["no reason given"])[0]
    return ""


@dataclass(frozen=True)
class Device:
    """A device that answers."""

    place: DeviceAddress
    target: Target  # what is compiled for
    name: str  # as the device reports it
    last_level_bytes: int = 0  # of its last cache
    # of the run's back ends there, by the back end's name
    libraries: Mapping[str, Library] = field(default_factory=dict[str, Library])
    roofline: Roofline | None = None  # None where it is not known
