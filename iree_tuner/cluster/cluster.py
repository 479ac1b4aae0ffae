"""A cluster as a run sees it: its workers, their compile slots and devices."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self, cast

from distributed import Client

from iree_tuner.cluster.calls import PATIENCE_S, ClusterCalls
from iree_tuner.cluster.line import Line, LineLostError
from iree_tuner.cluster.serve import AT, COMPILE, LOAD, versions_here
from iree_tuner.cluster.wire import read_value, unpack
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.targets import Target, on_host, target_for_device

_CONNECT_S = 10.0
_ANSWER_S = 5.0  # a worker, when it is connected
_KNOWN_S = 1.0
_SEEN_S = 30.0  # since its last sign of life, a worker is there
_HELD = 4096


@dataclass(frozen=True)
class Member:
    """A worker of a cluster.

    Attributes:
        name: its own.
        address: where it listens.
        resources: what it has, with how many.
        seen_s: seconds since its last sign of life.
    """

    name: str
    address: str
    resources: dict[str, float]
    seen_s: float

    @property
    def slots(self) -> int:
        """Compile slots."""
        return int(self.resources.get(COMPILE, 0))

    @property
    def devices(self) -> tuple[str, ...]:
        """URIs."""
        return tuple(each.partition(AT)[0] for each in self.resources if AT in each)


class Cluster:
    """A scheduler with workers that `iree-tuner worker` started.

    The scheduler says who is there. Calls go from here to the workers (`line`).

    Args:
        scheduler: its address, tcp://HOST:PORT or tls://HOST:PORT, or a client that is connected.

    Raises:
        TunerError: there is none, it has no such workers, or they have other versions.
    """

    def __init__(self, scheduler: str | Client) -> None:
        self._own = isinstance(scheduler, str)
        self.client = connected(scheduler) if isinstance(scheduler, str) else scheduler
        self.address = str(self.client.scheduler.address) if self.client.scheduler else str(scheduler)
        self.loop = cast(asyncio.AbstractEventLoop, cast(Any, self.client.loop).asyncio_loop)
        self.holders: OrderedDict[str, str] = OrderedDict()
        """Addresses of workers that have bytes, by their digest."""
        self._lines: dict[str, Line] = {}
        self._meet(cast("list[Member]", self.client.sync(members_of, self.client)))
        self._watching = asyncio.run_coroutine_threadsafe(self._watch(), self.loop)
        if not self.members():
            self.close()
            raise TunerError(
                "the cluster has no worker of iree-tuner", location=self.address,
                hint=f"start one: iree-tuner worker --scheduler {self.address} --compile-slots 8",
            )  # fmt: skip
        self._check_versions()

    def members(self) -> list[Member]:
        """Its workers, as of a second ago."""
        return self._members

    def _meet(self, members: list[Member]) -> None:
        self._members = members
        self._compiling = [each for each in members if each.slots]

    def line(self, address: str) -> Line:
        """The connection to a worker. On the event loop."""
        line = self._lines.get(address)
        if line is None or line.lost:
            line = Line(address, self.client.security.get_connection_args("client"), _ANSWER_S)
            self._lines[address] = line
        return line

    def hold(self, digest: str, address: str) -> None:
        """A worker has these bytes: others have them from there. On the event loop."""
        self.holders[digest] = address
        self.holders.move_to_end(digest)
        while len(self.holders) > _HELD:
            self.holders.popitem(last=False)

    async def ask(self, what: str) -> dict[str, Any]:
        """What each worker that is there answers, by its address. On the event loop."""
        found: dict[str, Any] = {}
        for each in self.members():
            with suppress(LineLostError):
                found[each.address] = read_value(*unpack(await self.line(each.address).tell(what)))
        return found

    async def _watch(self) -> None:
        """Know who is there, and give up workers that the scheduler has given up."""
        while True:
            await asyncio.sleep(_KNOWN_S)
            self._meet(await members_of(self.client))
            there = {each.address for each in self._members}
            for address, line in list(self._lines.items()):
                line.missing_s = 0.0 if address in there or not self.connected else line.missing_s + _KNOWN_S
                if line.missing_s > PATIENCE_S or line.lost:
                    line.close()
                    del self._lines[address]

    @property
    def connected(self) -> bool:
        """Whether the scheduler is there."""
        return self.client.status == "running"

    @property
    def slots(self) -> int:
        """Compile slots that are there now."""
        return sum(each.slots for each in self.members())

    def target(self, devices: Sequence[tuple[str, str]], chip: str) -> Target:
        """The target that devices run. Raises UsageError where they are not of one kind, TunerError."""
        found: list[tuple[str, Target]] = []
        for uri, worker in devices:
            with self.device_calls(uri, worker) as calls:
                found.append((f"{uri} of {worker}", calls.call(target_for_device, uri, chip)))
        (first, target), *others = found
        for name, other in others:
            if (other.backend, other.chip) != (target.backend, target.chip):
                raise UsageError(f"{name} is not of the same kind as {first}: {other} and {target}")
        return target

    def compile_calls(self, devices: Sequence[tuple[str, str]]) -> ClusterCalls:
        """Calls on compile slots.

        Where a device computes on its host's cores, its worker's slots stay empty.

        Args:
            devices: that are measured on, each with its worker.
        """
        owners = {worker for uri, worker in devices if on_host(uri)}
        if not owners:
            return ClusterCalls(self, COMPILE, lambda: self._without(set()))
        if not self._without(owners):
            raise UsageError(
                "all compile slots are on the device's worker, which must not compile while it measures",
                location=self.address, hint="start a worker with --compile-slots and without a device",
            )  # fmt: skip
        return ClusterCalls(self, COMPILE, lambda: self._without(owners))

    def device_calls(self, uri: str, worker: str, *, alone: bool = False) -> ClusterCalls:
        """Calls on a device, one after the other; in the process that runs share, or `alone` in another."""
        return ClusterCalls(
            self, uri,
            lambda: [each for each in self.members() if each.name == worker and uri in each.devices],
            alone=alone,
        )  # fmt: skip

    def load_calls(self, devices: Sequence[tuple[str, str]]) -> ClusterCalls:
        """Calls beside the first device, that have its driver compile."""
        return ClusterCalls(
            self, LOAD, lambda: [each for each in self.members() if each.name == devices[0][1]]
        )

    def find(self, uris: Sequence[str]) -> list[tuple[str, str]]:
        """The devices with these URIs, each with its worker: `cuda://0`, or `cuda://0@WORKER` for one only.

        Raises UsageError where there are none.
        """
        every = [(uri, each.name) for each in self.members() for uri in each.devices]
        found: dict[tuple[str, str], None] = {}
        for wanted in uris:
            here = [(uri, name) for uri, name in every if wanted in (uri, f"{uri}{AT}{name}")]
            if not here:
                known = ", ".join(f"{uri} of {name}" for uri, name in every) or "none"
                raise UsageError(f"no worker has {wanted}", location=self.address, hint=f"devices: {known}")
            found |= dict.fromkeys(here)
        return list(found)

    def close(self) -> None:
        """Leave it; a client that was given stays connected."""
        self._watching.cancel()
        with suppress(RuntimeError):  # the client's loop has ended
            self.client.sync(self._hang_up)
        if self._own:
            self.client.close(timeout=2)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _hang_up(self) -> None:
        for line in self._lines.values():
            line.close()

    def _without(self, owners: set[str]) -> list[Member]:
        """Workers that have compile slots, but for these."""
        return [each for each in self._compiling if each.name not in owners] if owners else self._compiling

    def _check_versions(self) -> None:
        ours = versions_here()
        names = {each.address: each.name for each in self.members()}
        found = cast("dict[str, dict[str, str]]", self.client.sync(self.ask, "facts"))
        for address, facts in found.items():
            for key, value in ours.items():
                if facts.get(key) != value:
                    self.close()
                    theirs = facts.get(key) or "none"
                    raise TunerError(
                        f"worker '{names[address]}' has {key} {theirs}, and here it is {value}",
                        location=self.address, hint="install the same versions on both",
                    )  # fmt: skip


async def members_of(client: Client) -> list[Member]:
    """The workers of a scheduler that serve calls of runs; none while it is away."""
    try:
        info: dict[str, Any] = (await cast(Any, client.scheduler).identity(n_workers=-1))["workers"]
    except Exception:  # whoever waits for it says so
        return []
    found = [
        Member(str(each["name"]), address, dict(each["resources"]), time.time() - float(each["last_seen"]))
        for address, each in info.items()
    ]
    return [each for each in found if (each.slots or each.devices) and each.seen_s < _SEEN_S]


def connected(address: str) -> Client:
    """A client of a scheduler. Raises TunerError where none answers."""
    try:
        return Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        said = str(error).splitlines()[0]
        raise TunerError(
            f"no scheduler responds: {said}", location=address, hint="start one: dask scheduler"
        ) from None
