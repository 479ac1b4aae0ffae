"""Labs on clusters: a run compiles and measures on the workers of a dask scheduler."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from iree_tuner.cluster import need_dask
from iree_tuner.errors import UsageError
from iree_tuner.space.build import Restriction
from iree_tuner.targets import on_host
from iree_tuner.targets.machine import architecture, processor_name
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import ClusterOptions

if TYPE_CHECKING:
    from distributed import Client

_PROTOCOLS = ("tcp", "tls", "ucx", "ws", "wss", "inproc")


class DaskLabs:
    """Makes labs on the workers of dask schedulers (`tuning.lab.LabMaker`)."""

    def takes(self, scheduler: object) -> bool:
        """Whether this is a client of dask.distributed, or may be the address of a scheduler."""
        return not isinstance(scheduler, str) or scheduler.partition("://")[0] in (scheduler, *_PROTOCOLS)

    def caution(self, scheduler: str) -> str:
        """Warn about an address without encryption."""
        parts = urlsplit(scheduler)
        if parts.scheme == "tls" or not parts.hostname:
            return ""
        with suppress(OSError):
            if not ipaddress.ip_address(socket.gethostbyname(parts.hostname)).is_loopback:
                why = "anybody who can connect to it can run code on its workers; see docs/cluster.md"
                return f"{scheduler} has no TLS: {why}"
        return ""

    @contextmanager
    def lab(
        self, scheduler: object, options: ClusterOptions, *, cold: bool, restriction: Restriction
    ) -> Generator[Lab]:
        """A lab on the devices of a cluster that a run was asked for.

        Raises:
            TunerError: the cluster is not there.
            UsageError: there are no such devices.
        """
        need_dask()
        from iree_tuner.cluster.cluster import Cluster, Joining

        with Cluster(cast("str | Client", scheduler)) as cluster:
            owned = cluster.find(options.devices)
            target = cluster.target(owned, options.chip)
            uri, owner = owned[0]
            here, there = processor_name(), cluster.processor(owner)
            if (machine := cluster.architecture(owner)) != architecture():
                pairs = ((here, architecture()), (there, machine))
                here, there = (name if kind in name else f"{name} ({kind})" for name, kind in pairs)
            if on_host(uri) and target.native and here != there:
                raise UsageError(
                    f"{owner} has the processor {there}, but this machine, which compiles, has {here}",
                    hint="pass --chip to name the processor to compile for",
                )
            with Lab(
                options.on(target),
                options.jobs,
                cold=cold,
                restriction=restriction,
                fleet=cluster,
                owned=owned,
            ) as lab:
                joining = Joining(cluster, options.devices, options.chip, target, owned, lab.owners, lab.take)
                cluster.watchers.append(joining.look)
                yield lab
