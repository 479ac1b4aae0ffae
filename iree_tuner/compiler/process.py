"""A worker's process: leader of a process group that dies with it, whatever way it ends.

pebble signals only the process itself and waits for a Python signal handler, which native code never
runs. Here the group is killed outright, and always before its leader is reaped: until then no other
process can get its number.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from multiprocessing import reduction, resource_tracker, spawn, util
from multiprocessing.connection import Connection, reduce_connection  # pyright: ignore
from multiprocessing.context import SpawnContext, SpawnProcess, set_spawning_popen
from multiprocessing.popen_spawn_posix import Popen
from threading import Lock
from typing import Any, cast

_POLL_S = 0.02


class _Leader(Popen):
    """Starts a process in a group of its own, and ends the two together."""

    returncode: int | None
    _fds: list[int]

    def __init__(self, process: WorkerProcess) -> None:
        self._reaping = Lock()
        super().__init__(process)  # pyright: ignore

    def _launch(self, process_obj: WorkerProcess) -> None:  # pyright: ignore
        tracker = cast(int, resource_tracker.getfd())
        message = self._message(process_obj)
        message_read, message_write = os.pipe()
        sentinel_read, sentinel_write = os.pipe()
        self.sentinel = sentinel_read
        self.finalizer = util.Finalize(self, util.close_fds, (sentinel_read, message_write))  # pyright: ignore
        try:
            self._child = subprocess.Popen(
                spawn.get_command_line(tracker_fd=tracker, pipe_handle=message_read),
                executable=spawn.get_executable(),
                env={**os.environ, **process_obj.environment},
                pass_fds=(*self._fds, tracker, message_read, sentinel_write),
                process_group=0,  # Ctrl-C in a terminal goes to the caller's group: the caller decides
            )
        finally:
            os.close(message_read)
            os.close(sentinel_write)
        self.pid = self._child.pid
        with contextlib.suppress(BrokenPipeError), open(message_write, "wb", closefd=False) as pipe:
            pipe.write(message)

    def _message(self, process: WorkerProcess) -> memoryview:
        """What the new process reads first: how to set itself up, and itself.

        Without the caller's `__main__`: only functions of modules run in workers, so that a script that
        calls `tune_module` needs no `if __name__ == "__main__"` guard.
        """
        preparation = spawn.get_preparation_data(process.name)
        preparation.pop("init_main_from_name", None)
        preparation.pop("init_main_from_path", None)
        message = io.BytesIO()
        set_spawning_popen(self)  # pyright: ignore
        try:
            reduction.dump(preparation, message)
            reduction.dump(process, message)
        finally:
            set_spawning_popen(None)  # pyright: ignore
        return message.getbuffer()

    def poll(self, flag: int = os.WNOHANG) -> int | None:
        if not flag & os.WNOHANG:
            return self.wait()
        with self._reaping:
            if self.returncode is None and self._ended():
                self._kill_group()
                self.returncode = self._child.wait()
            return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        # Not by the sentinel: what the worker forked may hold it open.
        deadline = None if timeout is None else time.monotonic() + timeout
        pause = 0.0005
        while self.poll() is None and (deadline is None or time.monotonic() < deadline):
            time.sleep(pause)
            pause = min(2 * pause, _POLL_S)
        return self.returncode

    def terminate(self) -> None:
        with self._reaping:
            if self.returncode is None:
                self._kill_group()

    kill = terminate

    def _ended(self) -> bool:
        if not hasattr(os, "waitid"):  # macOS before Python 3.13: it can only be asked by reaping it
            return self._child.poll() is not None
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # someone else reaped it
            return True

    def _kill_group(self) -> None:
        for kill in (os.killpg, os.kill):  # the second for a leader that changed its group
            with contextlib.suppress(OSError):
                kill(self.pid, signal.SIGKILL)


class WorkerProcess(SpawnProcess):
    """A spawned process whose group dies with it.

    Attributes:
        environment: variables that it has beside the coordinator's.
        ends: connections that are its own, closed here once it has them.
        out_of_time: pebble ended it, which it does at a call's limit.
    """

    environment: Mapping[str, str] = {}
    ends: tuple[Connection, ...] = ()
    out_of_time: bool = False

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802, ANN401
        return _Leader(process_obj)

    def start(self) -> None:
        """Start it, in a group of its own."""
        super().start()
        for end in self.ends:
            end.close()

    def terminate(self) -> None:
        """End the group. Called by pebble; others kill, which does the same."""
        self.out_of_time = True
        super().terminate()

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name not in ("environment", "ends")}


class _Reader(Connection):
    """The coordinator's end of a worker's pipe: its end is an error, which breaks the pool at once."""

    def recv(self) -> Any:  # noqa: ANN401
        try:
            return super().recv()
        except EOFError:
            raise ConnectionResetError("the worker is gone") from None


reduction.register(_Reader, reduce_connection)  # pyright: ignore


class OneProcess(SpawnContext):
    """The multiprocessing context of a pebble pool with one process in all its life.

    A worker that died may have held a lock of its channel, or have sent half a message, so pebble's
    replacement of it on the same channel may hang. A second process is refused instead, which breaks
    the pool, and the caller makes a new one. The coordinator closes its copies of the worker's
    ends, so that reading from or writing to a dead worker ends with an error instead of never.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.process: WorkerProcess | None = None

    def Pipe(self, duplex: bool = True) -> Any:  # noqa: N802, ANN401
        """Two ends, of which the coordinator keeps one."""
        if duplex:
            return super().Pipe(duplex)
        read, write = os.pipe()
        return _Reader(read, writable=False), Connection(write, readable=False)

    def Process(self, **arguments: Any) -> WorkerProcess:  # noqa: N802, ANN401  # pyright: ignore
        """The process, once."""
        if self.process is not None:
            raise ConnectionRefusedError("a pool has one process")
        _, channel = arguments["args"]
        self.process = WorkerProcess(**arguments)
        self.process.environment = self._environment
        self.process.ends = (channel.reader, channel.writer)
        return self.process
