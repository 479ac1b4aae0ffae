"""Workers of tests, as forks of a process that has imported what they import.

Most of the half second that a worker takes to start is imports, and the tests start a thousand. Here a
process that does nothing else is asked for each: it has one thread, and a fork of it becomes a child of the
process that asked (CLONE_PARENT), as if that one had started it. With `--all`, and where this is not Linux,
each worker is a Python of its own, as users have it.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import json
import marshal
import os
import platform
import random
import re
import signal
import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from threading import Lock
from types import SimpleNamespace

from iree.compiler.api import ctypes_dl

import iree_tuner
from iree_tuner.compiler import process, session, task, worker
from iree_tuner.measure import measurer, sampling
from iree_tuner.profiling import run as whole
from iree_tuner.program.phases import select_target
from iree_tuner.targets import parse_target

_CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine())
_CLONE_PARENT = 0x00008000
_CALLED = re.compile(r"^def \w+_here\(", re.M)
"""What workers are asked to run, wherever it is."""

_BATCH_S, _ROUND_S = 0.001, 0.02
"""Of a sample, and of a round of a profile's invocations."""

_PRODUCT = """
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x16xf32>)
      outs(%c : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}
"""

_NOT_READ = ("input_torch", "input_tosa")
"""Of the compiler's plug-ins: most passes collect the patterns of every op anew, and these have many. Tests
of such programs have workers as users have them (`every_dialect`, `%iree_tuner_itself`)."""

_ALLOCATED = 10_000
"""Objects more, until the collector looks at them: with Python's 700 it took a fiftieth of all time."""

_SESSIONS = 8
"""That a worker keeps: a room's tests compile for that many chips in turn, and each takes time to start."""

_apply = session.CompilerSession.apply_flags

_libc = ctypes.PyDLL(None)  # it keeps the interpreter's lock meanwhile


def possible() -> bool:
    """Whether this is Linux on a machine whose number of the system call is known."""
    return sys.platform == "linux" and _CLONE is not None


def use(channel: socket.socket) -> None:
    """From now on this process asks for its workers at a channel."""
    lock = Lock()

    class Forked:
        """In the place of `subprocess.Popen`, as far as `process` needs it."""

        def __init__(self, command, *, env, pass_fds, **_) -> None:
            message = marshal.dumps((json.loads(command[-1]), dict(env)))
            with lock:
                socket.send_fds(channel, [len(message).to_bytes(4, "little")], pass_fds)
                channel.sendall(message)
                self.pid = int.from_bytes(channel.recv(4, socket.MSG_WAITALL), "little")
            if not self.pid:
                raise OSError("no worker was forked")

        def wait(self) -> int:
            try:
                return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            except ChildProcessError:
                return 0

    process.subprocess = SimpleNamespace(Popen=Forked, DEVNULL=subprocess.DEVNULL)


def fork_here() -> None:
    """Have a fork of this process, which has one thread, fork its workers."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        _serve(theirs)
    theirs.close()
    use(ours)

    def end() -> None:
        ours.close()
        os.waitpid(pid, 0)

    atexit.register(end)


def start() -> socket.socket:
    """Start a process that forks workers of this one, which may have threads, until the channel is closed.

    Called by the main thread: the workers' parent is the thread that started it, and they die with that.
    """
    ours, theirs = socket.socketpair()
    paths = json.dumps([str(Path(__file__).parent), *sys.path])
    code = "import json, sys; sys.path[:] = json.loads(sys.argv[2]); import worker_forks; worker_forks.main()"
    subprocess.Popen(
        [sys.executable, "-c", code, str(theirs.fileno()), paths], pass_fds=[theirs.fileno()],
        env={"OPENBLAS_NUM_THREADS": "1", **os.environ}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    theirs.close()
    use(ours)
    return ours


def load() -> None:
    """Import what workers import, with a compiler that does not know all that others write."""
    ctypes_dl._initializeGlobalCL("iree-compile", *(f"--iree-plugin=-{name}" for name in _NOT_READ))
    package = Path(iree_tuner.__file__).parent
    for path in package.rglob("*.py"):
        if _CALLED.search(path.read_text()) and path.parent.name != "cluster":  # it imports dask
            import_module(".".join(path.relative_to(package.parent).with_suffix("").parts))
    quicker()
    warm()


def warm() -> None:
    """Have compiled for this machine once: the first compilation of a process takes longer than later ones.

    Without threads, which a fork would not have.
    """
    target = parse_target("llvm-cpu:host")
    session = worker.session_for(target.flags)
    session.context.enable_multithreading(False)
    with session.context:
        module = session.parse(_PRODUCT)
        select_target(module, target)
        session.to_vmfb(module)


def quicker() -> None:
    """From now on this process, a worker's template or a caller, does without what says nothing in tests.

    Sessions do not verify IR after each pass of IREE's, which takes an eighth of a compilation. IR still is
    verified where it enters the compiler, and wherever a caller says so, as for candidates. They compile in
    one thread: all cores have tests to run, and threads that wait for each other take a sixth more. Samples
    are short, for verdicts that do not matter. Python looks for cycles less often.
    """
    gc.set_threshold(_ALLOCATED, 10, 10)
    session.CompilerSession.__init__.__kwdefaults__["verify"] = False
    worker._SESSIONS_KEPT = _SESSIONS
    session.CompilerSession.apply_flags = _apply_flags
    _, *rest = sampling.ScreenPlan.__init__.__defaults__
    sampling.ScreenPlan.__init__.__defaults__ = (_BATCH_S, *rest)
    measurer._FINAL_BATCH_S = _BATCH_S
    whole._ROUND_S = _ROUND_S


def _apply_flags(self: session.CompilerSession) -> None:
    """In the place of a session's own: it begins with its flags."""
    _apply(self)
    self._session.context.enable_multithreading(False)


def briefly() -> None:
    """What callers do without, too."""
    quicker()
    for module in ("cli.bench", "kernels.in_program", "kernels.variants"):
        with contextlib.suppress(ModuleNotFoundError):  # the core alone has no kernels (test/core.py)
            import_module(f"iree_tuner.{module}")._BATCH_S = _BATCH_S


def main() -> None:
    """The process that `start` starts."""
    load()
    gc.freeze()  # collecting would copy it in each fork
    _serve(socket.socket(fileno=int(sys.argv[1])))


def _serve(channel: socket.socket) -> None:
    """Fork a worker for each request, until the channel ends. Never returns."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a fork has one thread"
    while True:
        size, pipes, _, _ = socket.recv_fds(channel, 4, 2)
        if not size:
            os._exit(0)
        message = channel.recv(int.from_bytes(size, "little"), socket.MSG_WAITALL)
        pid = _libc.syscall(_CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            _work(message, *pipes)
        channel.sendall(max(pid, 0).to_bytes(4, "little"))
        for pipe in pipes:
            os.close(pipe)


def _work(message: bytes, read: int, write: int) -> None:
    """Be a worker, as `process` starts it."""
    try:
        os.setpgid(0, 0)
        path, environment = marshal.loads(message)
        for number in [int(each.name) for each in Path("/proc/self/fd").iterdir()]:
            if number > 2 and number not in (read, write):
                with contextlib.suppress(OSError):
                    os.close(number)
        os.environ.clear()
        os.environ.update(environment)
        sys.path[:] = path
        random.seed()
        task.serve(read, write)
    finally:
        os._exit(1)
