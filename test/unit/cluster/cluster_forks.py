"""A cluster's processes, as forks of one that has imported what they import.

A worker takes three seconds of a core to start, and as many when its process is replaced: most of it are
imports. `Processes` asks here for what has no environment of its own; other processes are started as users'.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import signal
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

TEST = Path(__file__).resolve().parents[2]
SCHEDULER, COMMAND = "distributed.cli.dask_scheduler", "iree_tuner.cli"


def knows(command) -> bool:
    """Whether a command's modules are imported: `-m` and its name come first."""
    return command[1] in (SCHEDULER, COMMAND)


class Forks:
    """The process that is forked, which ends with this one."""

    def __init__(self, env) -> None:
        code = "import sys; sys.path[:0] = sys.argv[1:]; import cluster_forks; cluster_forks.main()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, str(Path(__file__).parent), str(TEST)],
            env={"OPENBLAS_NUM_THREADS": "1", **env}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._lock = threading.Lock()

    def start(self, command, env, folder, log) -> int:
        """The pid of a fork that runs a command, in a session of its own."""
        request = {"command": command, "env": env, "folder": str(folder), "log": str(log)}
        with self._lock:
            self._process.stdin.write(f"{json.dumps(request)}\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())


def main() -> None:
    """Fork for each line on standard input, until it ends."""
    import worker_forks

    worker_forks.load()
    for name in (SCHEDULER, "iree_tuner.cluster.worker", "iree_tuner.cluster.serve", "iree_tuner.cli.main"):
        import_module(name)
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a fork has one thread"
    gc.freeze()  # collecting would copy it in each fork
    signal.signal(signal.SIGCHLD, reap)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            run(**json.loads(line))
        print(pid, flush=True)


def reap(*_: object) -> None:
    """Let ended forks go."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue


def run(command, env, folder, log) -> None:
    """Be a process that was started with a command. Never returns."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        null, told = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        for number, file in enumerate((null, told, told)):
            os.dup2(file, number)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = sys.stderr = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(env)
        random.seed()
        _, module, *arguments = command
        if module == SCHEDULER:
            import_module(SCHEDULER).main(arguments)
        else:
            import_module("iree_tuner.cluster.worker").subprocess = SimpleNamespace(Popen=Serving)
            import_module("iree_tuner.cli.main").run(arguments)
    except SystemExit:
        pass
    except BaseException:
        sys.excepthook(*sys.exc_info())
    os._exit(1)


class Serving:
    """In the place of `subprocess.Popen`, for the process that serves: a fork, whose workers are forks."""

    def __init__(self, command, *, env, start_new_session) -> None:
        assert start_new_session
        self.pid = os.fork()
        if self.pid == 0:
            self._serve(command, env)

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    @staticmethod
    def _serve(command, env) -> None:
        import worker_forks

        status = 0
        try:
            os.setsid()
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(
                    number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
                )
            os.environ.clear()
            os.environ.update(env)
            random.seed()
            worker_forks.fork_here()
            import_module("iree_tuner.cluster.worker")._main(*command[3:])
            threading._shutdown()
        except SystemExit as error:
            status = error.code
        except BaseException:
            sys.excepthook(*sys.exc_info())
            status = 1
        os._exit(status if isinstance(status, int) else 1)
