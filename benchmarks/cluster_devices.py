"""Candidates an hour through a cluster, as a part of those of one machine's engine with the same devices.

    python benchmarks/cluster_devices.py PROGRAM --device cuda://0 --device cuda://1 [--candidates N]

Starts a scheduler, and for each device a worker of its own, as if on a host of its own: of several NVIDIA
GPUs each worker sees one. Then `iree-tuner tune` runs in turns on this machine and through the cluster: the
same program, seed, number of candidates and compilations at a time. Prints a JSON object a run, and the
ratio of the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from iree_tuner.cluster.cluster import Cluster
from iree_tuner.errors import TunerError

PORT = 8798
ADDRESS = f"tcp://127.0.0.1:{PORT}"


def main() -> None:
    """Run both in turns, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=Path)
    parser.add_argument("--device", action="append", required=True)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--effort", default="full")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args()
    processes = [_started("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--no-dashboard",
                          "--port", str(PORT))]  # fmt: skip
    try:
        for number in range(len(given.device)):
            processes += _worker(number, given)
        _wait_for(len(processes) - 1)
        far = ["--device", _as_its_own(given.device[0]), "--scheduler", ADDRESS]
        near = [word for device in given.device for word in ("--device", device)]
        rates: dict[str, list[float]] = {"here": [], "cluster": []}
        for turn in range(given.turns):
            both = [("here", near), ("cluster", far)]
            for where, devices in both if turn % 2 == 0 else both[::-1]:
                rates[where].append(_run(where, devices, given))
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()
    here, there = (statistics.median(rates[where]) for where in ("here", "cluster"))
    print(f"{here:.0f} candidates an hour here, {there:.0f} through the cluster: {there / here:.2f} of it")


def _started(*words: str, seen: str | None = None) -> subprocess.Popen[bytes]:
    environment = os.environ if seen is None else os.environ | {"CUDA_VISIBLE_DEVICES": seen}
    return subprocess.Popen([sys.executable, *words], stderr=subprocess.DEVNULL, env=environment)


def _worker(number: int, given: argparse.Namespace) -> list[subprocess.Popen[bytes]]:
    """With one device and its part of the compilations, which a device on the host has beside it."""
    device, slots = given.device[number], str(given.jobs // len(given.device))
    worker = ["-m", "iree_tuner.cli", "worker", "--scheduler", ADDRESS, "--name", f"host-{number}"]
    measuring, compiling = ["--device", _as_its_own(device)], ["--compile-slots", slots]
    if not device.startswith("cuda"):
        return [_started(*worker, *measuring), _started(*worker[:-1], f"compiler-{number}", *compiling)]
    return [_started(*worker, *measuring, *compiling, seen=device.rpartition("/")[2])]


def _as_its_own(device: str) -> str:
    """A GPU as a process sees it that sees no other."""
    return "cuda://0" if device.startswith("cuda") else device


def _wait_for(workers: int) -> None:
    until = time.monotonic() + 120.0
    while True:
        try:
            with Cluster(ADDRESS) as cluster:
                if len(cluster.members()) >= workers:
                    return
        except TunerError:
            if time.monotonic() > until:
                raise
        time.sleep(0.5)


def _run(where: str, devices: list[str], given: argparse.Namespace) -> float:
    """One run; its candidates an hour."""
    words = [sys.executable, "-m", "iree_tuner.cli", "tune", str(given.program), *devices]
    words += ["--strategy", "shuffle", "--candidates", str(given.candidates), "--effort", given.effort]
    words += ["--keep-flags", "--no-profile", "--no-db", "--no-starters", "--json"]
    with tempfile.TemporaryDirectory() as folder:
        words += ["-o", f"{folder}/spec.mlir"]
        found = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    if not lines or "candidates_per_hour" not in lines[-1]:
        sys.exit(f"{where}: tune ended with {found.returncode}: {found.stderr[-2000:]}")
    last, tried = lines[-1], sum(line.get("trials", 0) for line in lines)
    row = {"where": where, "devices": len(given.device), "tried": tried, "searched_s": last["searched_s"]}
    row |= {"candidates_per_hour": last["candidates_per_hour"], "busy": last["devices_busy"]}
    print(json.dumps(row), flush=True)
    return last["candidates_per_hour"]


if __name__ == "__main__":
    main()
