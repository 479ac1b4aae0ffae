"""What a call costs through a cluster, beside a call in a process of this machine.

    python benchmarks/cluster_overhead.py [--calls 400] [--rounds 5] [--bytes 100000]

Starts a scheduler and a worker with one device, local-task, on this machine. Calls do nothing; each has an
executable of so many bytes, which is another one each time, and a dispatch that is always the same. They are
made as the engine makes them for a device: as many wait at a time as in a run. Rounds of both take turns.
Prints milliseconds a call of each round, and the medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections import deque
from concurrent.futures import Future
from typing import Any

from iree_tuner.cluster.cluster import Cluster
from iree_tuner.compiler.worker import Calls, Workers
from iree_tuner.errors import TunerError

PORT = 8797
ADDRESS = f"tcp://127.0.0.1:{PORT}"


def round_of(calls: Calls, count: int, queued: int, dispatch: bytes, size: int) -> float:
    """Milliseconds a call."""
    waiting: deque[Future[Any]] = deque()
    start = time.perf_counter()
    for _ in range(count):
        if len(waiting) == queued:
            waiting.popleft().result()
        waiting.append(calls.submit(max, os.urandom(size), dispatch, key=len))
    while waiting:
        waiting.popleft().result()
    return (time.perf_counter() - start) / count * 1e3


def main() -> None:
    """Run both, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=100_000)
    given = parser.parse_args()
    scheduler = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--no-dashboard"]
    worker = [
        "-m",
        "iree_tuner.cli",
        "worker",
        "--scheduler",
        ADDRESS,
        "--device",
        "local-task",
        "--name",
        "a",
    ]
    processes = [
        subprocess.Popen([sys.executable, *scheduler, "--port", str(PORT)], stderr=subprocess.DEVNULL)
    ]
    try:
        time.sleep(3)
        processes.append(subprocess.Popen([sys.executable, *worker], stderr=subprocess.DEVNULL))
        dispatch = os.urandom(40_000)
        _cluster().close()  # it is there
        start = time.perf_counter()
        with _cluster() as cluster, Workers(1) as local, cluster.device_calls("local-task", "a") as far:
            far.call(max, 1, 2)
            first_s = time.perf_counter() - start
            rows = [
                (
                    round_of(local, given.calls, 2, dispatch, given.bytes),
                    round_of(far, given.calls, 4, dispatch, given.bytes),
                )
                for _ in range(given.rounds)
            ]
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()
    for here, there in rows:
        print(f"{here:.2f} ms here, {there:.2f} ms through the cluster")
    print(f"first call ended {first_s:.2f} s after connecting began")
    here, there = (statistics.median(column) for column in zip(*rows, strict=True))
    print(f"median: {here:.2f} ms here, {there:.2f} ms through the cluster, {there - here:.2f} ms more")


def _cluster() -> Cluster:
    """Once its worker is there."""
    until = time.monotonic() + 60.0
    while True:
        try:
            return Cluster(ADDRESS)
        except TunerError:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


if __name__ == "__main__":
    main()
