"""A cluster as a run sees it: its workers, their compile slots and devices."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self, cast

from distributed import Client

from iree_tuner.cluster import QUEUED, no_scheduler
from iree_tuner.cluster.calls import PATIENCE_S, ClusterCalls
from iree_tuner.cluster.line import Line, LineLostError, UntypedError, read_value, unpack
from iree_tuner.cluster.serve import ARCHITECTURE, AT, COMPILE, LOAD, PROCESSOR, versions_here
from iree_tuner.compiler.task import HostLost
from iree_tuner.compiler.worker import Calls, WorkerError
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.targets import Target, on_host, target_for_device
from iree_tuner.targets.find import chip_on

_CONNECT_S = 10.0
_ANSWER_S = 5.0  # a worker, when it is connected
_KNOWN_S = 1.0
_SEEN_S = 30.0  # since its last sign of life, a worker is there
_HELD = 4096


@dataclass(frozen=True)
class Member:
    """A worker of a cluster."""

    name: str  # its own
    address: str  # where it listens
    resources: dict[str, float]  # slots and devices, with their numbers
    seen_s: float  # seconds since its last sign of life
    processor: str = ""  # of its host
    architecture: str = ""  # of that

    @property
    def slots(self) -> int:
        return int(self.resources.get(COMPILE, 0))

    @property
    def devices(self) -> tuple[str, ...]:
        return tuple(each.partition(AT)[0] for each in self.resources if AT in each)


class Cluster:
    """A scheduler with workers that `iree-tuner worker` started.

    The scheduler lists the workers. Calls go from here to the workers (`line`).

    Args:
        scheduler: its address, tcp://HOST:PORT or tls://HOST:PORT, or a client that is connected.

    Raises:
        TunerError: it does not respond, has no such workers, or they have other versions.
    """

    def __init__(self, scheduler: str | Client) -> None:
        self.queued = QUEUED  # calls that wait at a device
        self._own = isinstance(scheduler, str)
        self.client = connected(scheduler) if isinstance(scheduler, str) else scheduler
        self.address = str(self.client.scheduler.address) if self.client.scheduler else str(scheduler)
        self.loop = cast(asyncio.AbstractEventLoop, cast(Any, self.client.loop).asyncio_loop)
        # addresses of workers that have bytes, by their digest
        self.holders: OrderedDict[str, str] = OrderedDict()
        # messages for people: workers of other versions that connected, devices that joined or left
        self.news: deque[str] = deque()
        # called with the members whenever they are updated, on the event loop
        self.watchers: list[Callable[[Sequence[Member]], None]] = []
        self._lines: dict[str, Line] = {}
        self._facts: dict[str, asyncio.Task[dict[str, str] | None]] = {}
        self._refused: set[str] = set()
        self._members: list[Member] = []
        self._compiling: list[Member] = []
        self._named: dict[str, Member] = {}
        wrong = cast("list[str]", self.client.sync(self._look, _CONNECT_S))
        self._watching = asyncio.run_coroutine_threadsafe(self._watch(), self.loop)
        if not wrong and not self.members():
            self.close()
            raise TunerError(
                "the cluster has no worker of iree-tuner", location=self.address,
                hint=f"start one: iree-tuner worker --scheduler {self.address} --compile-slots 8",
            )  # fmt: skip
        if wrong:
            self.close()
            raise TunerError(wrong[0], location=self.address, hint="install the same versions on both")

    def members(self) -> list[Member]:
        """Its workers of the same versions, as of a second ago."""
        return self._members

    def named(self, worker: str) -> Member | None:
        """The worker of this name, if it is connected."""
        return self._named.get(worker)

    def line(self, address: str) -> Line:
        """The connection to a worker. On the event loop."""
        line = self._lines.get(address)
        if line is None or line.lost:
            line = Line(address, self.client.security.get_connection_args("client"), _ANSWER_S)
            self._lines[address] = line
        return line

    def hold(self, digest: str, address: str) -> None:
        """Note that a worker has these bytes, for others to get them there. On the event loop."""
        self.holders[digest] = address
        self.holders.move_to_end(digest)
        while len(self.holders) > _HELD:
            self.holders.popitem(last=False)

    async def ask(self, what: str) -> dict[str, Any]:
        """The answers of all connected workers, by address. On the event loop."""
        found: dict[str, Any] = {}
        for each in self.members():
            with suppress(LineLostError):
                found[each.address] = read_value(*unpack(await self.line(each.address).tell(what)))
        return found

    async def _look(self, patience_s: float) -> list[str]:
        """Find the connected workers; workers with other versions are not used, and reported once."""
        found = await members_of(self.client)
        self._facts = {
            each.address: self._facts.get(each.address) or asyncio.create_task(self._ask_facts(each.address))
            for each in found
        }
        if asking := [task for task in self._facts.values() if not task.done()]:
            await asyncio.wait(asking, timeout=patience_s)
        members: list[Member] = []
        wrong: list[str] = []
        for each in found:
            task = self._facts[each.address]
            facts = task.result() if task.done() else None
            if facts is None:
                if task.done():  # it is asked again
                    del self._facts[each.address]
            elif not (problem := _other_version(each.name, facts)):
                told = {name: facts.get(name, "") for name in (PROCESSOR, ARCHITECTURE)}
                members.append(replace(each, **told))
            elif each.address not in self._refused:
                self._refused.add(each.address)
                wrong.append(problem)
        for watcher in self.watchers:
            watcher(members)
        self._members = members
        self._compiling = [each for each in members if each.slots]
        self._named = {each.name: each for each in members}
        return wrong

    async def _ask_facts(self, address: str) -> dict[str, str] | None:
        """A worker's description of itself; None if it does not answer."""
        try:
            found = read_value(*unpack(await self.line(address).tell("facts")))
        except (LineLostError, UntypedError):
            return None
        return cast("dict[str, str]", found) if isinstance(found, dict) else None

    async def _watch(self) -> None:
        """Update the connected workers, and give up workers that the scheduler has given up."""
        while True:
            await asyncio.sleep(_KNOWN_S)
            self.news += [f"{problem}: the worker is not used" for problem in await self._look(_KNOWN_S)]
            there = self._facts.keys()
            for address, line in list(self._lines.items()):
                line.missing_s = 0.0 if address in there or not self.connected else line.missing_s + _KNOWN_S
                if line.missing_s > PATIENCE_S or line.lost:
                    line.close()
                    del self._lines[address]

    @property
    def connected(self) -> bool:
        return self.client.status == "running"

    def target(self, devices: Sequence[tuple[str, str]], chip: str) -> Target:
        """The target that devices run. Raises UsageError if they are of several kinds, TunerError."""
        found: list[tuple[str, Target]] = []
        for uri, worker in devices:
            with self.device_calls(uri, worker) as calls:
                own = self.chip(uri, worker, chip)
                found.append((f"{uri} of {worker}", calls.call(target_for_device, uri, own)))
        (first, target), *others = found
        kind = self.kind(target, devices[0][1])
        for (name, other), (_, worker) in zip(others, devices[1:], strict=True):
            if (theirs := self.kind(other, worker)) != kind:
                raise UsageError(f"{name} is not of the same kind as {first}: {theirs} and {kind}")
        return target

    def kind(self, target: Target, worker: str) -> str:
        """Facts that must be equal for devices to run the same code; `target` is of a worker's device."""
        return f"{target} ({self.processor(worker)})" if target.native else str(target)

    def processor(self, worker: str) -> str:
        """The processor of a worker's host; empty if it is not connected."""
        member = self.named(worker)
        return member.processor if member else ""

    def architecture(self, worker: str) -> str:
        """Of a worker's host; empty where it has gone."""
        member = self.named(worker)
        return member.architecture if member else ""

    def chip(self, uri: str, worker: str, chip: str) -> str:
        """A chip as it is called where `tune` runs, for a device of a worker."""
        return chip_on(uri, chip, self.architecture(worker))

    def compile_calls(
        self, owners: AbstractSet[str] = frozenset(), processor: str = "", here: Calls | None = None
    ) -> ClusterCalls:
        """Calls on compile slots.

        Args:
            owners: workers whose slots stay empty, as processors of their hosts are measured; read again for
                each call.
            processor: of the hosts that can compile; any by default.
            here: makes calls for which every host lacks something.

        Raises:
            UsageError: there is no such slot.
        """

        def able() -> Sequence[Member]:
            if not owners and not processor:
                return self._compiling
            return [
                each for each in self._compiling
                if each.name not in owners and processor in ("", each.processor)
            ]  # fmt: skip

        if owners and not any(each.name not in owners for each in self._compiling):
            raise UsageError(
                "all compile slots are on the device's worker, which must not compile while it measures",
                location=self.address, hint="start a worker with --compile-slots and without a device",
            )  # fmt: skip
        if processor and not able():
            raise UsageError(
                f"no compile slot runs on the device's processor, {processor}", location=self.address,
                hint="pass --chip to name the processor to compile for",
            )  # fmt: skip
        return ClusterCalls(self, COMPILE, able, here=here)

    def device_calls(self, uri: str, worker: str, *, alone: bool = False) -> ClusterCalls:
        """Calls on a device, one after the other, in the process that runs share, or `alone` in another."""

        def owner() -> Sequence[Member]:
            member = self.named(worker)
            return [member] if member and uri in member.devices else []

        return ClusterCalls(self, uri, owner, alone=alone)

    def load_calls(self, devices: Sequence[tuple[str, str]]) -> ClusterCalls:
        """Calls next to the first device, in which its driver compiles."""
        first = devices[0][1]
        return ClusterCalls(self, LOAD, lambda: [each for each in self.members() if each.name == first])

    def find(self, uris: Sequence[str]) -> list[tuple[str, str]]:
        """The devices with these URIs, each with its worker: `cuda://0`, or `cuda://0@WORKER` for one only.

        Raises UsageError if there are none.
        """
        found: dict[tuple[str, str], None] = {}
        for wanted in uris:
            here = devices_of(self.members(), wanted)
            if not here:
                every = [f"{uri} of {each.name}" for each in self.members() for uri in each.devices]
                known = ", ".join(every) or "none"
                raise UsageError(f"no worker has {wanted}", location=self.address, hint=f"devices: {known}")
            found |= dict.fromkeys(here)
        return list(found)

    def close(self) -> None:
        """Disconnect; a client that was given stays connected."""
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


def devices_of(members: Sequence[Member], wanted: str) -> list[tuple[str, str]]:
    """The devices with a URI, or `URI@WORKER`, each with its worker."""
    every = ((uri, each.name) for each in members for uri in each.devices)
    return [(uri, name) for uri, name in every if wanted in (uri, f"{uri}{AT}{name}")]


def _other_version(worker: str, facts: dict[str, str]) -> str:
    """The package that a worker has in another version than this machine; empty if all are equal."""
    for key, value in versions_here().items():
        if facts.get(key) != value:
            return f"worker '{worker}' has {key} {facts.get(key) or 'none'}, but this machine has {value}"
    return ""


async def members_of(client: Client) -> list[Member]:
    """The workers of a scheduler that serve calls of runs; empty while it does not respond."""
    try:
        info: dict[str, Any] = (await cast(Any, client.scheduler).identity(n_workers=-1))["workers"]
    except Exception:  # the caller that waits for it reports it
        return []
    found = [
        Member(str(each["name"]), address, dict(each["resources"]), time.time() - float(each["last_seen"]))
        for address, each in info.items()
    ]
    return [each for each in found if (each.slots or each.devices) and each.seen_s < _SEEN_S]


def connected(address: str) -> Client:
    """A client of a scheduler. Raises TunerError if it does not respond."""
    try:
        return Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise no_scheduler(error, address) from None


@dataclass
class Joining:
    """Devices that join a cluster while a run measures on others: those of the run's kind take part.

    Others are named in the news.
    """

    cluster: Cluster
    uris: Sequence[str]  # of devices that may take part, or `URI@WORKER`
    chip: str  # to compile for
    target: Target  # of the run's devices
    taken: Sequence[tuple[str, str]]  # devices that take part from the start, each with its worker
    # workers whose compile slots stay empty; owners of new processors are added, so that nothing compiles
    # there during measurements
    owners: set[str]
    # called with each device that takes part from now on, on the cluster's event loop
    take: Callable[[str, str], None]

    def __post_init__(self) -> None:
        self._kind = self.cluster.kind(self.target, self.taken[0][1])
        self._taken = set(self.taken)
        self._refused: set[tuple[str, str]] = set()
        self._asking: dict[tuple[str, str], asyncio.Task[None]] = {}

    def look(self, members: Sequence[Member]) -> None:
        """Ask the devices that are new. A refused one is asked again if it leaves and comes back."""
        there = {device for uri in self.uris for device in devices_of(members, uri)}
        self._refused &= there
        for device in sorted(there - self._taken - self._refused - self._asking.keys()):
            uri, worker = device
            if on_host(uri):
                self.owners.add(worker)
            self._asking[device] = asyncio.create_task(self._ask(uri, worker))

    async def _ask(self, uri: str, worker: str) -> None:
        name = f"{uri} of {worker}"
        try:
            with self.cluster.device_calls(uri, worker) as calls:
                chip = self.cluster.chip(uri, worker, self.chip)
                asked = calls.submit(target_for_device, uri, chip)
                found = self.cluster.kind(await asyncio.wrap_future(asked), worker)
            problem = "" if found == self._kind else f"it is {found}, but the run is for {self._kind}"
        except Exception as error:  # any error of its driver
            if isinstance(error, WorkerError) and isinstance(error.end, HostLost):
                return  # it has left
            problem = str(error)
        finally:
            del self._asking[uri, worker]
        if problem:
            self._refused.add((uri, worker))
            self.owners.difference_update({worker} - {owner for _, owner in self._taken})
            self.cluster.news.append(f"{name} joined the cluster, but cannot be used: {problem}")
            return
        self._taken.add((uri, worker))
        self.take(uri, worker)
        self.cluster.news.append(f"{name} joined the run")
