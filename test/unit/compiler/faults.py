"""What hostile calls do to their worker. Run in workers; `FAULTS` says how each must end."""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

FILE_BYTES = 4 << 20
MEMORY_BYTES = 512 << 20
HANG_S = 0.3
"""Time limit of calls that hang."""

_libc = ctypes.CDLL(None)
_libc_holding_the_gil = ctypes.PyDLL(None)


def square(number):
    return number * number


def spawn_sleeper(session):
    """Its pid."""
    return subprocess.Popen(["sleep", "3600"], start_new_session=session).pid


def leave_temporary_file():
    """The folder that it is in."""
    handle, name = tempfile.mkstemp()
    os.close(handle)
    return str(Path(name).parent)


def abort():
    os.abort()


def segfault():
    ctypes.string_at(0)


def exit_at_once():
    os._exit(0)


def exit_like_c():
    _libc.exit(0)


def exit_like_python():
    sys.exit(3)


def interrupt():
    raise KeyboardInterrupt


def sleep_in_native_code():
    _libc_holding_the_gil.sleep(3600)


def stop_itself():
    os.kill(os.getpid(), signal.SIGSTOP)


def eat():
    held = []
    while True:
        held.append(bytearray(16 << 20))


def eat_in_native_code():
    """As a C++ program ends that gets no memory."""
    _libc.malloc.restype = ctypes.c_void_p
    _libc.malloc.argtypes = [ctypes.c_size_t]
    while _libc.malloc(64 << 20):
        pass
    os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n")
    os.abort()


def flood():
    while True:
        os.write(1, b"flood " * 10000)


def flood_in_native_code():
    written = 0
    block = b"flood " * 10000
    while written < 4 * FILE_BYTES:  # the C library only learns of an error, which few programs look at
        _libc.write(1, block, len(block))
        written += len(block)


def fill_the_disk():
    with tempfile.TemporaryFile() as file:
        while True:
            file.write(bytes(1 << 20))


def leave_grandchild():
    spawn_sleeper(session=False)


def leave_grandchild_in_a_session():
    spawn_sleeper(session=True)


def leave_fork_in_a_session():
    """It holds all of the worker's pipes."""
    if os.fork() == 0:
        os.setsid()
        time.sleep(3600)


def leave_fork_and_die():
    leave_fork_in_a_session()
    os.abort()


STRUCK = signal.SIGUSR2
"""What ends a worker that `die_later` strikes. No other fault does: by its exit code victims are known."""


def die_later():
    def strike():
        time.sleep(0.01)
        os.kill(os.getpid(), STRUCK)

    threading.Thread(target=strike, daemon=True).start()


def be_killed():
    subprocess.Popen(["sh", "-c", f"sleep 0.05; kill -9 {os.getpid()}"], start_new_session=True)
    time.sleep(3600)


def close_files():
    os.closerange(3, 256)


def unpicklable_result():
    return threading.Lock()


class StickyError(Exception):
    """Does not pickle."""

    def __init__(self):
        super().__init__("sticky")
        self.lock = threading.Lock()


class LopsidedError(Exception):
    """Pickles, but cannot be made again."""

    def __init__(self, one, two):
        super().__init__("lopsided")


class Bomb:
    """Goes off when the caller reads it."""

    def __reduce__(self):
        return (int, ("not a number",))


def unpicklable_error():
    raise StickyError


def lopsided_error():
    raise LopsidedError(1, 2)


def bomb():
    return Bomb()


def plain_error():
    raise ValueError("plain")


def huge_result():
    return bytes(8 << 20)


FAULTS = {
    abort: ("crash -6",),
    segfault: ("crash -11",),
    exit_at_once: ("crash 0",),
    exit_like_c: ("crash 0",),
    exit_like_python: ("crash 3",),
    interrupt: ("task error",),
    sleep_in_native_code: ("timeout",),
    stop_itself: ("timeout",),
    eat: ("memory",),
    eat_in_native_code: ("memory",),
    flood: ("OSError",),
    flood_in_native_code: ("value",),
    fill_the_disk: ("OSError",),
    leave_grandchild: ("value",),
    leave_grandchild_in_a_session: ("value",),
    leave_fork_in_a_session: ("value",),
    leave_fork_and_die: ("crash -6",),
    die_later: ("value", f"crash -{STRUCK}"),
    be_killed: ("crash -9",),
    close_files: ("crash 1",),
    unpicklable_result: ("task error",),
    unpicklable_error: ("task error",),
    lopsided_error: ("task error",),
    bomb: ("task error",),
    plain_error: ("ValueError",),
    huge_result: ("value",),
}
"""How each fault may end, as `ending` words it."""

HANGS = (sleep_in_native_code, stop_itself)
