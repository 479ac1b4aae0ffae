"""Commands of lit tests, run in forks of one process that has imported everything.

The lit tests start `iree-tuner` and `filecheck` about a thousand times, and importing takes longer than most
of what they do then. `test/run.py` starts this server, makes its client of `command_client.c`, and names its
socket in `IREE_TUNER_TEST_SERVER`; `lit.cfg.py` then runs the client in their place. A fork has its own
arguments, environment, folder, files and exit status, and its own workers, which are forks too
(`worker_forks.py`). Without the variable, with `--all`, and without a C compiler, each command is a process
of its own, as users have it.
"""

from __future__ import annotations

import atexit
import gc
import os
import select
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path

import once
import worker_forks

from iree_tuner.compiler.worker import Workers

_FILES = 3  # standard input, output and error


def iree_tuner() -> Callable[[], object]:
    """The command, with all that it needs imported."""
    for command in import_module("iree_tuner.cli.commands").commands().values():
        import_module(command.home.partition(":")[0])
    worker_forks.load()
    worker_forks.briefly()
    Workers.submit = once.submit
    once.draw_once()
    for name in ("altair", "jinja2"):
        with suppress(ImportError):
            import_module(name)
    main = import_module("iree_tuner.cli.main").main
    with Path(os.devnull).open("w") as null, redirect_stdout(null), suppress(SystemExit):
        sys.argv = ["iree-tuner", "--version"]
        main()  # imports more, and finds versions of packages
    return main


def filecheck() -> Callable[[], object]:
    """Called most often: a fork of a small process takes a quarter of the time."""
    return import_module("filecheck.main").main


def serve(path: str, name: str) -> None:
    """Take requests for one command until this process is ended."""
    command = {"iree-tuner": iree_tuner, "filecheck": filecheck}[name]()
    gc.freeze()  # what is there is for all forks: collecting would copy it
    running: dict[int, tuple[int, int, socket.socket]] = {}  # of both descriptors that are watched
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{path}.{name}")
        listening.listen(64)
        watching = select.poll()
        watching.register(listening, select.POLLIN)
        print("ready", flush=True)
        while True:
            for number, _ in watching.poll():
                if number == listening.fileno():
                    connection, _ = listening.accept()
                    child = _begin(connection, command, [number, *running])
                    ended = os.pidfd_open(child)
                    for each in (ended, connection.fileno()):
                        watching.register(each, select.POLLIN)
                        running[each] = child, ended, connection
                elif number in running:
                    child, ended, connection = running[number]
                    watching.unregister(number)
                    if number == ended:
                        _end(child, connection)
                        del running[ended], running[connection.fileno()]
                        with suppress(KeyError):  # where its client went first
                            watching.unregister(connection)
                        connection.close()
                        os.close(ended)
                    else:  # its client has gone
                        with suppress(ProcessLookupError):
                            os.killpg(child, signal.SIGKILL)


def _begin(connection: socket.socket, command: Callable[[], object], others: list[int]) -> int:
    """One request: the pid of a fork that runs the command, in a group of its own."""
    (size,) = struct.unpack("<I", connection.recv(4, socket.MSG_WAITALL))
    message, files, _, _ = socket.recv_fds(connection, size, _FILES, socket.MSG_WAITALL)
    folder, *texts = message.decode(errors="surrogateescape").removesuffix("\0").split("\0")
    environment, arguments = texts[: texts.index("")], texts[texts.index("") + 1 :]
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.closerange(_FILES, max(*files, *others, connection.fileno()) + 1)
        # What Python knows of its old files (are they terminals, can they seek?) is not so of these.
        sys.stdin = sys.__stdin__ = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(each.split("=", 1) for each in environment)
        sys.argv = arguments
        whole = arguments[0] == "iree-tuner"
        if whole and _has_workers(arguments[1:3]) and worker_forks.possible():
            worker_forks.fork_here()
        _run(command, whole=whole)
    with suppress(OSError):  # it has done so, or has ended
        os.setpgid(child, child)
    for file in files:
        os.close(file)
    return child


def _has_workers(names: list[str]) -> bool:
    """Whether a command of these names may call workers. One that does all the same has those of users."""
    match names:
        case ["docs" | "report", *_]:
            return False
        case ["db", name]:
            return name in ("record", "replay")
        case ["suite", name]:
            return name not in ("changes", "history", "list", "report")
    return True


def _end(child: int, connection: socket.socket) -> None:
    """Tell how a command ended."""
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(OSError):
        connection.sendall(struct.pack("<i", status))


def _run(command: Callable[[], object], *, whole: bool = False) -> None:
    """Run something and end this process; with its threads and exit handlers, if `whole`."""
    try:
        status = command()
    except SystemExit as error:
        status = error.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    if status is not None and not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    if whole:
        with suppress(BaseException):
            threading._shutdown()
            atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status or 0)


if __name__ == "__main__":
    serve(*sys.argv[1:])
