"""A worker of a cluster, which outlives its process and its scheduler.

    python -m iree_tuner.cluster.worker SCHEDULER NAME SLOTS [DEVICE...]

is the process that serves; `run_worker` keeps one running.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from threading import Event, Timer
from typing import Any, cast

import dask.config
from distributed import Client, Worker

from iree_tuner.cluster import no_scheduler
from iree_tuner.compiler.task import die_with
from iree_tuner.errors import TunerError

_CONNECT_S = 10.0
_AGAIN_S = 1.0
_END_S = 5.0


def run_worker(
    scheduler: str, name: str, slots: int, devices: Sequence[str], report: Callable[[str], None]
) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        scheduler: its address.
        name: of the worker, which it keeps when its process is replaced.
        slots: compile processes at a time.
        devices: URIs of devices.
        report: called with messages about the worker's state.

    Raises:
        TunerError: no scheduler responds, or it has another version of dask.
    """
    asyncio.run(_check(scheduler))
    stop, process = Event(), None

    def end(*_: object) -> None:
        stop.set()
        if process is not None:
            process.terminate()
            killing = Timer(_END_S, process.kill)
            killing.daemon = True
            killing.start()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__]
    while not stop.is_set():
        process = subprocess.Popen(
            [*command, scheduler, name, str(slots), *devices], start_new_session=True,
            env=os.environ | {"IREE_TUNER_WORKER_OF": str(os.getpid())},
        )  # fmt: skip
        if stop.is_set():
            process.terminate()
        code = process.wait()
        if not stop.wait(_AGAIN_S):
            report(f"the worker's process ended with {code}; it is started again")


async def _serve(scheduler: str, name: str, slots: int, devices: Sequence[str]) -> None:
    """Serve until the scheduler disappears, or a signal comes."""
    argv = ["--compile-slots", str(slots), *(part for each in devices for part in ("--device", each))]
    # Its profiler wakes up a hundred times a second, where candidates are timed.
    dask.config.set({"distributed.worker.profile.enabled": False})
    worker = Worker(
        scheduler, nthreads=1, name=name, preload=["iree_tuner.cluster.serve"],
        preload_argv=[argv], memory_limit="0", death_timeout=_CONNECT_S, silence_logs=logging.ERROR,
    )  # fmt: skip
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None, "it runs"

    def end() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):  # dask hangs where its closing is cancelled, too
            loop.add_signal_handler(number, lambda: None)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)
    async with worker:
        print(f"worker '{name}' at {worker.address} serves {scheduler}", file=sys.stderr, flush=True)
        await worker.finished()


async def _check(scheduler: str) -> None:
    """Raises TunerError for a scheduler that dask would not work with."""
    try:
        client = await Client(scheduler, asynchronous=True, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise no_scheduler(error, scheduler) from None
    async with client:
        assert client.scheduler is not None, "it is connected"
        theirs = cast("dict[str, Any]", await client.scheduler.versions())["packages"]["distributed"]
    if theirs != (ours := version("distributed")):
        raise TunerError(
            f"the scheduler runs distributed {theirs}, but {ours} is installed here",
            location=scheduler, hint="install the same version on both",
        )  # fmt: skip


def _main(scheduler: str, name: str, slots: str, *devices: str) -> None:
    die_with(int(os.environ.pop("IREE_TUNER_WORKER_OF", os.getppid())))
    try:
        asyncio.run(_serve(scheduler, name, int(slots), devices))
    except (asyncio.CancelledError, KeyboardInterrupt):
        return
    except (OSError, TimeoutError, RuntimeError) as error:
        print(f"{scheduler} does not respond: {type(error).__name__}", file=sys.stderr, flush=True)
        sys.exit(1)


if __name__ == "__main__":
    _main(*sys.argv[1:])
