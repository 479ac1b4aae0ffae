"""`iree-tuner worker` and `iree-tuner cluster`: compile and measure on other machines."""

from __future__ import annotations

import os
import socket
import sys
from collections import Counter
from typing import Annotated, cast

from cyclopts import Parameter
from rich.console import Console

from iree_tuner.cli.inputs import tell_caution
from iree_tuner.cli.output import people, print_json
from iree_tuner.cluster import need_dask
from iree_tuner.errors import UsageError
from iree_tuner.targets import kind_of_device, target_for_device

Scheduler = Annotated[
    str, Parameter(help="Address of the dask scheduler: tcp://HOST:PORT or tls://HOST:PORT.")
]


def worker(
    *,
    scheduler: Scheduler,
    compile_slots: int = 0,
    device: Annotated[tuple[str, ...], Parameter(negative="", metavar="URI...")] = (),
    name: str = "",
) -> int:
    """Start a worker that compiles and measures for `tune --scheduler`. Stop it with Ctrl-C.

    Anybody who can connect to the scheduler can run code on this machine. Use tls:// on a shared network (see
    docs/cluster.md).

    Example: `iree-tuner worker --scheduler tcp://10.0.0.5:8786 --compile-slots 16 --device cuda://0`

    Parameters
    ----------
    compile_slots
        Number of concurrent compilations. 0 compiles nothing.
    device
        Measure on this device of the machine: local-task, cuda://0. Repeatable.
    name
        Name of the worker. Default: the host's name with a unique suffix.
    """
    need_dask()
    from iree_tuner.cluster.worker import run_worker

    if compile_slots < 0 or not (compile_slots or device):
        raise UsageError("a worker requires --compile-slots or --device")
    if len(set(device)) < len(device):
        raise UsageError("give each device once")
    for uri in device:
        if kind_of_device(uri).names_chips:  # others do not tell what they are; runs say it
            target_for_device(uri)
    # A device has one worker; a host may have several workers that only compile.
    told = name or "+".join([socket.gethostname(), *(device or [f"compile-{os.getpid()}"])])
    tell_caution(scheduler)
    run_worker(scheduler, told, compile_slots, device, lambda line: print(line, file=sys.stderr, flush=True))
    return 0


def cluster(
    *,
    scheduler: Scheduler,
    as_json: Annotated[
        bool, Parameter(name="--json", negative="", help="Print JSON, one object per worker.")
    ] = False,
) -> int:
    """List a cluster's workers with their compile slots, devices and current work.

    Example: `iree-tuner cluster --scheduler tcp://10.0.0.5:8786`
    """
    need_dask()
    from iree_tuner.cluster.cluster import Cluster

    console = Console(file=people.file, highlight=False)
    with Cluster(scheduler) as found:
        doing = cast("dict[str, list[tuple[str, str, float]]]", found.client.sync(found.ask, "doing"))
        members = found.members()
    for each in members:
        calls = doing.get(each.address, [])
        if as_json:
            print_json({
                "worker": each.name, "address": each.address, "compile_slots": each.slots,
                "devices": list(each.devices), "seen_s": round(each.seen_s, 1),
                "calls": [
                    {"place": place, "call": name, "seconds": round(seconds, 3)}
                    for place, name, seconds in calls
                ],
            })  # fmt: skip
            continue
        kinds = Counter(name.partition("-")[0] for _, name, _ in calls)
        counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "idle"
        devices = ", ".join(each.devices) or "no device"
        console.print(f"{each.name}: {each.slots} compile slots, {devices}: {counted}")
    return 0
