"""A scheduler and workers as processes of their own."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
from amounts import ALL
from cluster_forks import Forks, knows

from iree_tuner.cluster.cluster import Cluster

HERE = Path(__file__).parent
_START_S = 60.0
_forks: list[Forks] = []
"""Started when it is needed; for all clusters of this process."""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Processes:
    """A cluster of processes on this machine, which can be disturbed; `more` is environment of theirs."""

    def __init__(self, folder, protocol="tcp", more=None):
        self.folder = folder
        self.port = free_port()
        self.protocol = protocol
        self.address = f"{protocol}://127.0.0.1:{self.port}"
        self.scheduler = None
        self.workers = {}
        path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")]))
        self.env = dict(os.environ, PYTHONPATH=path, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="60s")
        self.env |= more or {}
        self.forks = not (ALL or more) and sys.platform == "linux"

    def start_scheduler(self):
        command = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--no-dashboard"]
        how = ["--port", str(self.port), "--protocol", self.protocol]
        self.scheduler = self._start("scheduler", [*command, *how])

    def start_worker(self, name, *options, **more):
        """A worker; `more` is environment of its own."""
        command = ["-m", "iree_tuner.cli", "worker", "--scheduler", self.address, "--name", name]
        self.workers[name] = self._start(name, [*command, *options], more)

    def start(self, name, *command):
        self.workers[name] = self._start(name, command)

    def restart_scheduler(self):
        self.scheduler.kill()
        self.scheduler.wait()
        self.start_scheduler()

    def serving(self, name):
        """The process in which a worker's calls are taken; None while it is replaced."""
        found = psutil.Process(self.workers[name].pid).children()
        return found[0] if found else None

    def wait_for(self, *names, within_s=_START_S):
        """Until these workers are there."""
        until = time.monotonic() + within_s
        while time.monotonic() < until:
            try:
                with Cluster(self.address) as cluster:
                    if set(names) <= {each.name for each in cluster.members()}:
                        return
            except Exception:  # not yet
                pass
            time.sleep(0.2)
        logs = {each.name: each.read_text()[-2000:] for each in self.folder.iterdir() if each.is_file()}
        raise AssertionError(f"{names} did not come: {logs}")

    def stop(self, name):
        _end(self.workers.pop(name))

    def close(self):
        for process in [*self.workers.values(), self.scheduler]:
            if process is not None:
                _end(process)

    def _start(self, name, command, more=None):
        if self.forks and not more and knows(command):
            if not _forks:
                _forks.append(Forks(self.env))
            log = self.folder / f"{name}.log"
            return psutil.Process(_forks[0].start(command, self.env, self.folder, log))
        log = (self.folder / f"{name}.log").open("ab")
        return subprocess.Popen(
            [sys.executable, *command], stdout=log, stderr=log, env=self.env | (more or {}), cwd=self.folder,
            start_new_session=True,
        )  # fmt: skip


def _end(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        for each in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
    with contextlib.suppress(psutil.NoSuchProcess):
        process.kill()
    process.wait()
