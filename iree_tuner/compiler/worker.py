"""Disposable workers: whatever runs compiler phases runs here, because it may not come back.

An LLVM error exits the process, a bad configuration aborts or hangs it, and there is no
cancel call. A worker keeps one compiler session for each set of flags it is asked for.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from multiprocessing import spawn
from multiprocessing.context import BaseContext, SpawnContext, SpawnProcess
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self, TypeVar

from pebble import ProcessExpired, ProcessPool

from iree_tuner.compiler.session import CompilerSession

R = TypeVar("R")

_TIMEOUT_S = 300.0


class WorkerCrashError(Exception):
    """The worker's process died. `output` is what it printed last, `exit_code` is negative for a signal."""

    def __init__(self, exit_code: int | None, output: str) -> None:
        super().__init__(f"the worker exited with {exit_code}: {output.strip()[-2000:] or 'no output'}")
        self.exit_code = exit_code
        self.output = output


class WorkerTimeoutError(Exception):
    """The call took longer than its limit, and its worker was killed."""


class Workers:
    """A pool of worker processes.

    Args:
        count: processes; 1 for measuring.
        tasks_per_worker: a worker is replaced after this many calls (0: never), against slow leaks.
    """

    def __init__(self, count: int = 1, tasks_per_worker: int = 0) -> None:
        self._logs = tempfile.TemporaryDirectory(prefix="iree_tuner_")
        self._pool = ProcessPool(
            max_workers=count,
            max_tasks=tasks_per_worker,
            initializer=_start,
            initargs=(self._logs.name,),
            context=_context,
        )

    def submit(
        self,
        function: Callable[..., R],
        *args: object,
        timeout_s: float = _TIMEOUT_S,
        **kwargs: object,
    ) -> Future[R]:
        """Run a module-level function in a worker. Pass its future to `wait`, which says how it ended."""
        return self._pool.schedule(function, args=args, kwargs=kwargs, timeout=timeout_s)

    def wait(self, future: Future[R]) -> R:
        """The call's value, or its exception.

        Raises:
            WorkerCrashError, WorkerTimeoutError: the worker died, or was killed for its time.
        """
        try:
            return future.result()
        except ProcessExpired as error:
            raise WorkerCrashError(error.exitcode, self._printed(error.pid)) from None
        except (FutureTimeoutError, TimeoutError):
            raise WorkerTimeoutError("no result within the time limit") from None

    def call(
        self,
        function: Callable[..., R],
        *args: object,
        timeout_s: float = _TIMEOUT_S,
        **kwargs: object,
    ) -> R:
        """`submit` and `wait` in one."""
        return self.wait(self.submit(function, *args, timeout_s=timeout_s, **kwargs))

    def close(self) -> None:
        """Stop the workers, busy ones too."""
        self._pool.stop()
        self._pool.join()
        self._logs.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _printed(self, pid: int | None) -> str:
        log = Path(self._logs.name) / f"{pid}.log"
        return log.read_text(errors="replace") if log.exists() else ""


_sessions: dict[tuple[str, ...], CompilerSession] = {}
_SESSIONS_KEPT = 4


def session_for(flags: tuple[str, ...]) -> CompilerSession:
    """This process's session with these flags. For functions that run in workers.

    Some flags are global to the process although a session takes them (those of the tuner and of specs):
    another session may have changed them since, so they are set again.
    """
    if flags not in _sessions:
        if len(_sessions) >= _SESSIONS_KEPT:
            _sessions.pop(next(iter(_sessions)))
        _sessions[flags] = CompilerSession(flags)
    session = _sessions[flags]
    session.apply_flags()
    return session


def _start(logs: str) -> None:
    """Send what the compiler and its linker print to a file that the parent reads when the worker dies."""
    os.setpgrp()  # Ctrl-C in a terminal goes to the caller's group: the caller decides
    _die_with_parent()
    log = os.open(Path(logs) / f"{os.getpid()}.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)


def _die_with_parent() -> None:
    """Linux: be killed when the caller is, so that nothing goes on compiling for nobody."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


_preparing = Lock()


class _Process(SpawnProcess):
    """A spawned process that does not import the caller's `__main__`.

    Only functions of this package run in workers, so that a script that calls `tune_module`
    needs no `if __name__ == "__main__"` guard.
    """

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802, ANN401
        original = spawn.get_preparation_data

        def without_main(name: str) -> dict[str, object]:
            data = original(name)
            data.pop("init_main_from_name", None)
            data.pop("init_main_from_path", None)
            return data

        with _preparing:
            spawn.get_preparation_data = without_main
            try:
                return SpawnProcess._Popen(process_obj)  # pyright: ignore
            finally:
                spawn.get_preparation_data = original


class _Context(SpawnContext):
    Process = _Process  # pyright: ignore[reportAssignmentType]


_context: BaseContext = _Context()
