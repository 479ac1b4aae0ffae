"""`iree-tuner worker` and `iree-tuner cluster`: machines that compile and measure for runs elsewhere."""

from __future__ import annotations

import ipaddress
import socket
import sys
from contextlib import suppress
from typing import Annotated, cast
from urllib.parse import urlsplit

from cyclopts import Parameter
from rich.console import Console

from iree_tuner.cli.output import people, print_json
from iree_tuner.cluster import need_dask
from iree_tuner.errors import UsageError
from iree_tuner.targets import kind_of_device, target_for_device

Scheduler = Annotated[str, Parameter(help="Address of the scheduler: tcp://HOST:PORT, or tls://HOST:PORT.")]


def worker(
    *,
    scheduler: Scheduler,
    compile_slots: int = 0,
    device: Annotated[tuple[str, ...], Parameter(negative="", metavar="URI...")] = (),
    name: str = "",
) -> int:
    """Compile and measure on this machine for runs of `tune --scheduler`; ends with Ctrl-C.

    Whoever reaches the scheduler can run code here: use tls:// where others reach it (docs/cluster.md).

    Example: `iree-tuner worker --scheduler tcp://10.0.0.5:8786 --compile-slots 16 --device cuda://0`

    Parameters
    ----------
    compile_slots
        Compilations at a time; 0 compiles nothing.
    device
        A device of this machine: local-task, cuda://0. May be given several times.
    name
        Of this worker: its host's by default, with what tells it from others there.
    """
    need_dask()
    from iree_tuner.cluster.worker import run_worker

    if compile_slots < 0 or not (compile_slots or device):
        raise UsageError("a worker needs --compile-slots, or a --device")
    if len(set(device)) < len(device):
        raise UsageError("give each device once")
    for uri in device:
        if kind_of_device(uri).names_chips:  # others do not tell what they are; runs say it
            target_for_device(uri)
    told = name or "+".join([socket.gethostname(), *(device or ["compile"])])
    warn_if_open(scheduler)
    run_worker(scheduler, told, compile_slots, device, lambda line: print(line, file=sys.stderr, flush=True))
    return 0


def warn_if_open(scheduler: str | None) -> None:
    """Tell of an address whose traffic anyone between can read."""
    parts = urlsplit(scheduler or "")
    if parts.scheme == "tls" or not parts.hostname:
        return
    with suppress(OSError):
        if not ipaddress.ip_address(socket.gethostbyname(parts.hostname)).is_loopback:
            why = "whoever reaches it can run code on its workers; see docs/cluster.md"
            people.print(f"warning: {scheduler} has no TLS: {why}", style="yellow")


def cluster(
    *,
    scheduler: Scheduler,
    as_json: Annotated[bool, Parameter(name="--json", negative="", help="One JSON object a worker.")] = False,
) -> int:
    """Show a cluster's workers: compile slots, devices, and what each is doing.

    Example: `iree-tuner cluster --scheduler tcp://10.0.0.5:8786`
    """
    need_dask()
    from iree_tuner.cluster.cluster import Cluster

    with Cluster(scheduler) as found:
        doing = cast("dict[str, list[tuple[str, str, float]]]", found.client.sync(found.ask, "doing"))
        rows = [
            {
                "worker": each.name, "address": each.address, "compile_slots": each.slots,
                "devices": list(each.devices), "seen_s": round(each.seen_s, 1),
                "calls": [
                    {"place": place, "call": name, "seconds": round(seconds, 3)}
                    for place, name, seconds in doing.get(each.address, [])
                ],
            }
            for each in found.members()
        ]  # fmt: skip
    if as_json:
        for row in rows:
            print_json(row)
    else:
        console = Console(file=people.file, highlight=False)
        for row in rows:
            calls = [call["call"].partition("-")[0] for call in cast("list[dict[str, str]]", row["calls"])]
            counted = ", ".join(f"{calls.count(each)} {each}" for each in dict.fromkeys(calls)) or "idle"
            devices = ", ".join(cast("list[str]", row["devices"])) or "no device"
            console.print(f"{row['worker']}: {row['compile_slots']} compile slots, {devices}: {counted}")
    return 0
