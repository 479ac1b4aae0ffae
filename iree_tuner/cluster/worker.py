"""A worker of a cluster, which outlives its process and its scheduler."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, cast

from distributed import Client, Nanny

from iree_tuner.cluster.serve import Host
from iree_tuner.errors import TunerError

_CONNECT_S = 10.0
_AGAIN_S = 1.0


def run_worker(
    scheduler: str, name: str, slots: int, devices: Sequence[str], told: Callable[[str], None]
) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        scheduler: its address.
        name: of the worker, which it keeps when its process is replaced.
        slots: compile processes at a time.
        devices: URIs of devices.
        told: is told what happens.

    Raises:
        TunerError: no scheduler answers, or it has another version of dask.
    """
    asyncio.run(_serve(scheduler, name, slots, devices, told))


async def _serve(
    scheduler: str, name: str, slots: int, devices: Sequence[str], told: Callable[[str], None]
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await _check(scheduler)
    argv = ["--compile-slots", str(slots), *(part for each in devices for part in ("--device", each))]
    host = Host(slots, devices)
    threads = host.threads
    host.close()
    while not stop.is_set():
        try:
            async with Nanny(
                scheduler, nthreads=threads, name=name, preload=["iree_tuner.cluster.serve"],
                preload_argv=[argv], memory_limit="0", death_timeout=_CONNECT_S, silence_logs="ERROR",
            ) as nanny:  # fmt: skip
                told(f"worker '{name}' at {nanny.worker_address} serves {scheduler}")
                ended = [asyncio.create_task(nanny.finished()), asyncio.create_task(stop.wait())]
                await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED)
                for each in ended:
                    each.cancel()
        except (OSError, TimeoutError, RuntimeError) as error:
            told(f"{scheduler} does not answer: {type(error).__name__}")
        if not stop.is_set():
            told(f"waiting for {scheduler}")
            await asyncio.wait([asyncio.create_task(stop.wait())], timeout=_AGAIN_S)


async def _check(scheduler: str) -> None:
    """Refuse a scheduler that dask would not work with. Raises TunerError."""
    try:
        client = await Client(scheduler, asynchronous=True, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        said = str(error).splitlines()[0]
        raise TunerError(
            f"no scheduler answers: {said}", location=scheduler, hint="start one: dask scheduler"
        ) from None
    async with client:
        assert client.scheduler is not None, "it is connected"
        theirs = cast("dict[str, Any]", await client.scheduler.versions())["packages"]["distributed"]
    if theirs != (ours := version("distributed")):
        raise TunerError(
            f"the scheduler has distributed {theirs}, and here it is {ours}",
            location=scheduler, hint="install the same version on both",
        )  # fmt: skip
