"""Devices that join a cluster while a run measures on others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from iree_tuner.cluster.cluster import Cluster, Member, devices_of
from iree_tuner.compiler.ends import HostLost
from iree_tuner.compiler.worker import WorkerError
from iree_tuner.targets import Target, on_host, target_for_device


class Joining:
    """Asks devices that join what they are. Those of the run's kind take part, others are named in the news.

    Args:
        cluster: which they join.
        uris: of devices that may take part, or `URI@WORKER`.
        chip: what is compiled for.
        target: of the run's devices.
        taken: devices that take part already, each with its worker.
        owners: workers whose compile slots stay empty. Owners of processors are added when they are first
            seen, so that nothing compiles there meanwhile.
        take: called with each device that takes part from now on, on the cluster's event loop.
    """

    def __init__(
        self, cluster: Cluster, uris: Sequence[str], chip: str, target: Target,
        taken: Sequence[tuple[str, str]], owners: set[str], take: Callable[[str, str], None],
    ) -> None:  # fmt: skip
        self._cluster = cluster
        self._uris = uris
        self._chip = chip
        self._kind = cluster.kind(target, taken[0][1])
        self._taken = set(taken)
        self._owners = owners
        self._take = take
        self._refused: set[tuple[str, str]] = set()
        self._asking: dict[tuple[str, str], asyncio.Task[None]] = {}

    def look(self, members: Sequence[Member]) -> None:
        """Ask the devices that are new. A refused one is asked again when it has left and come back."""
        there = {device for uri in self._uris for device in devices_of(members, uri)}
        self._refused &= there
        for device in sorted(there - self._taken - self._refused - self._asking.keys()):
            uri, worker = device
            if on_host(uri):
                self._owners.add(worker)
            self._asking[device] = asyncio.create_task(self._ask(uri, worker))

    async def _ask(self, uri: str, worker: str) -> None:
        name = f"{uri} of {worker}"
        try:
            with self._cluster.device_calls(uri, worker) as calls:
                asked = calls.submit(target_for_device, uri, self._chip)
                found = self._cluster.kind(await asyncio.wrap_future(asked), worker)
            problem = "" if found == self._kind else f"it is {found}, but the run is for {self._kind}"
        except Exception as error:  # what its driver says
            if isinstance(error, WorkerError) and isinstance(error.end, HostLost):
                return  # it has left
            problem = str(error)
        finally:
            del self._asking[uri, worker]
        if problem:
            self._refused.add((uri, worker))
            self._owners.difference_update({worker} - {owner for _, owner in self._taken})
            self._cluster.news.append(f"{name} joined the cluster, but cannot be used: {problem}")
            return
        self._taken.add((uri, worker))
        self._take(uri, worker)
        self._cluster.news.append(f"{name} joined the run")
