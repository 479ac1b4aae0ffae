"""How many candidates an hour a cluster tries, by hosts, and where the coordinator is the limit.

    python benchmarks/cluster_scale.py --hosts 1 4 16 64 256
    python benchmarks/cluster_scale.py --hosts 1 64 --slots 8 --measure-ms 300 --recording \\
        recordings/llvm-cpu/zen5/matmul_512x768x1024_f32_f32_f32.jsonl.gz

What a run does is real: the engine with its database, dask's scheduler, a connection to each worker over
TCP, and all that calls and replies are made of. Hosts are dask workers, many in a process, which serve calls
as others do, but in the place of processes that compile and measure they have timers: for each compilation as
long as one of the recording's took, for each measurement as long as is given. A host has compile slots and
one device.

Prints a JSON object for each number of hosts: candidates an hour; that as a part of what so many hosts would
do if each did what its device and its slots can; how busy devices were; milliseconds of the processor that
the coordinator, the scheduler and the hosts' side took for a candidate; bytes over the network for each.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).parent))

import dask
import fake_trials
import psutil
from distributed import Worker
from tuner_overhead import PROGRAM, Case, Faked

from iree_tuner.cluster import QUEUED
from iree_tuner.cluster.cluster import Cluster
from iree_tuner.cluster.serve import COMPILE, Host, serve_on
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError
from iree_tuner.measure.candidate import Builder
from iree_tuner.measure.measurer import Measurer
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.engine import Engine
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.records import open_records
from iree_tuner.tuning.search import InTurns, Search
from iree_tuner.tuning.stop import StopRequest

PORT = 8799
ADDRESS = f"tcp://127.0.0.1:{PORT}"
DEVICE = "cuda://0"
RECORDING = Path("recordings/cuda/h200/matmul_512x4096x4096_f16_f16_f32.jsonl.gz")
_HOSTS_OF_A_PROCESS = 64
_START_S = 120.0


class Timers:
    """In the place of a host's processes: so many calls at a time, each as long as its result says."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[Future[Any], Any]] = deque()

    def submit(
        self, function: Callable[..., Any], *args: object, timeout_s: float, **how: object
    ) -> Future[Any]:
        """What the call gives, later."""
        del timeout_s
        future: Future[Any] = Future()
        self._waiting.append((future, function(*args, **how)))
        self._begin()
        return future

    def close(self) -> None:
        """There is nothing to end."""

    def _begin(self) -> None:
        while self._free and self._waiting:
            future, value = self._waiting.popleft()
            self._free -= 1
            self._loop.call_later(getattr(value, "seconds", 0.0), self._end, future, value)

    def _end(self, future: Future[Any], value: object) -> None:
        self._free += 1
        if not future.cancelled():
            future.set_result(value)
        self._begin()


class TimedHost(Host):
    """A host with timers for processes."""

    def _pool(self, place: str, room: str) -> Workers:
        del room  # no call here is made in one
        if place not in self._pools:
            self._pools[place] = cast(Workers, Timers(self.slots if place == COMPILE else 1))
        return self._pools[place]


_slots = 0


def dask_setup(worker: Worker) -> None:
    """Dask calls this of a module that it preloads."""
    fake_trials.pause = lambda _: None
    serve_on(worker, TimedHost(worker, sys.modules["__main__"]._slots, [DEVICE]))


async def serve(first: int, count: int) -> None:
    """Hosts in this process, until it is ended."""
    # What each worker does once a second for its own dashboard would be the limit of a hundred in a process.
    dask.config.set(
        {"distributed.worker.profile.enabled": False, "distributed.admin.system-monitor.interval": "60s"}
    )
    workers = [
        await Worker(
            ADDRESS,
            nthreads=1,
            name=f"host{number}",
            memory_limit="0",
            preload=["cluster_scale"],
            dashboard=False,
            silence_logs=40,
        )
        for number in range(first, first + count)
    ]
    print(len(workers), flush=True)
    await asyncio.Event().wait()


@dataclass(frozen=True)
class Setup:
    """A number of hosts, and what each can."""

    hosts: int
    slots: int
    durations: tuple[tuple[float, float], ...]
    seconds: float
    strategy: str

    @property
    def most_per_s(self) -> float:
        """Candidates a second that all devices and slots would try if nothing else took time."""
        compiling = statistics.fmean(compile_s for compile_s, _ in self.durations)
        measuring = statistics.fmean(measure_s for _, measure_s in self.durations)
        return self.hosts / max(compiling / self.slots, measuring)


def run(setup: Setup, dispatch: Dispatch) -> dict[str, object]:
    """One cluster, from its start to its end."""
    with ExitStack() as stack:
        scheduler = _started(
            stack, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--no-dashboard",
            "--port", str(PORT),
        )  # fmt: skip
        time.sleep(3.0)
        hosts = [
            _started(stack, __file__, "--serve", str(first), str(count), "--slots", str(setup.slots))
            for first in range(0, setup.hosts, _HOSTS_OF_A_PROCESS)
            if (count := min(_HOSTS_OF_A_PROCESS, setup.hosts - first))
        ]
        cluster = stack.enter_context(_cluster(setup.hosts))
        return _tried(setup, dispatch, cluster, [psutil.Process(each.pid) for each in (scheduler, *hosts)])


def _tried(
    setup: Setup, dispatch: Dispatch, cluster: Cluster, others: list[psutil.Process]
) -> dict[str, object]:
    found = cluster.find([DEVICE])
    compilers = cluster.compile_calls()
    measurers = [
        Measurer(uri, cluster.device_calls(uri, worker), screen=fake_trials.screen, name=worker)
        for uri, worker in found
    ]
    target = target_for_device("local-task")
    lab = SimpleNamespace(
        target=target, jobs=setup.hosts * setup.slots, alternate=False, cold=True, compilers=compilers,
        measurers=measurers, measurer=measurers[0], news=[], loader=None, queued=QUEUED,
        builder=Builder(target, compilers, build=fake_trials.build),
    )  # fmt: skip
    case = Case(0, setup.hosts, lab.jobs, setup.durations, False, setup.strategy)
    kind = Faked(case, dispatch, cast(Lab, lab))
    stop = StopRequest()
    ramp = 2 * (max(map(max, setup.durations)) + 2.0)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_records(Path(folder) / "trials.db", "scale", {}, stop=stop, fresh=False) as records,
    ):
        search = Search(kind, kind.strategy(setup.strategy, 0), records, cap=10_000_000)
        engine = Engine(cast(Lab, lab), stop, 16)
        begin = time.monotonic() + ramp
        end = begin + setup.seconds
        count, busy_s = 0, 0.0
        before: list[float] | None = None
        for _, trial in engine.run(InTurns([search]), lambda: end + 10.0):
            now = time.monotonic()
            if now >= begin and before is None:
                before, begin = _spent(others), now
            elif before is not None:
                count, busy_s = count + 1, busy_s + trial.measure_s
            if now >= end:
                break
        took = time.monotonic() - begin
        spent = [after - earlier for after, earlier in zip(_spent(others), before or [], strict=True)]
    compilers.close()
    for each in measurers:
        each.close()
    own, net, scheduler, *hosts = spent
    return {
        "hosts": setup.hosts, "slots": setup.slots,
        "candidates_per_hour": round(count / took * 3600),
        "of_most": round(count / took / setup.most_per_s, 3),
        "devices_busy": round(busy_s / took / setup.hosts, 3),
        "coordinator_ms": round(own / count * 1e3, 2), "coordinator_busy": round(own / took, 2),
        "scheduler_ms": round(scheduler / count * 1e3, 2), "hosts_ms": round(sum(hosts) / count * 1e3, 2),
        "bytes": round(net / count), "seconds": round(took, 1), "candidates": count,
    }  # fmt: skip


def _spent(others: list[psutil.Process]) -> list[float]:
    """Seconds of this process, bytes over the loopback, and seconds of the others."""
    return [
        time.process_time(),
        float(psutil.net_io_counters(pernic=True)["lo"].bytes_sent),
        *(sum(each.cpu_times()[:2]) for each in others),
    ]


def _started(stack: ExitStack, *command: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, *command], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def _cluster(hosts: int) -> Cluster:
    """Once all hosts are there."""
    until = time.monotonic() + _START_S
    while True:
        try:
            cluster = Cluster(ADDRESS)
            if len(cluster.members()) == hosts:
                return cluster
            cluster.close()
        except TunerError:
            pass
        if time.monotonic() > until:
            raise TimeoutError(f"{hosts} hosts did not come in {_START_S:.0f} s")
        time.sleep(1.0)


def main() -> None:
    """Run all numbers of hosts, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 4, 16, 64, 256])
    parser.add_argument("--slots", type=int, default=16, help="of a host")
    parser.add_argument("--recording", type=Path, default=RECORDING, help="whose compilations these are")
    parser.add_argument("--measure-ms", type=float, default=42.0, help="a candidate on a device")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--strategy", default="shuffle")
    parser.add_argument("--serve", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        global _slots
        _slots = given.slots
        asyncio.run(serve(*given.serve))
        return
    with gzip.open(given.recording, "rt") as file:
        rows = [json.loads(line) for line in itertools.islice(file, 1, None)]
    compile_s = [row["compile_s"] for row in rows if row.get("compile_s") and row.get("time_us")]
    durations = tuple((each, given.measure_ms / 1e3) for each in compile_s)
    with Workers(1) as workers:
        target = target_for_device("local-task")
        (dispatch,) = extract(load_program(PROGRAM), target, workers).dispatches
    for hosts in given.hosts:
        setup = Setup(hosts, given.slots, durations, given.seconds, given.strategy)
        print(json.dumps(run(setup, dispatch)), flush=True)


if __name__ == "__main__":
    main()
