"""What workers of a cluster are asked for in tests: module-level functions."""

import os
import signal
import time
from pathlib import Path

import psutil

from iree_tuner.compiler.task import UnfitError
from iree_tuner.compiler.worker import WrittenPath
from iree_tuner.errors import TunerError


def echo_here(value, seconds=0.0, log=""):
    """A value, after a while; `log` is a folder in which a file says that it was made."""
    time.sleep(seconds)
    if log:
        with (Path(log) / str(value)).open("a") as file:
            file.write(f"{os.getpid()}\n")
    return value


def span_here(seconds):
    """When it was made, and by whom."""
    begin = time.monotonic()
    time.sleep(seconds)
    return begin, time.monotonic(), os.getpid()


def fail_here(message):
    raise TunerError(message, location="there", hint="do something else")


def die_here(number=signal.SIGKILL):
    os.kill(os.getpid(), number)


def size_here(data):
    return len(data), data


def read_here(path):
    return str(path), Path(path).read_text()


def mark_here(path: WrittenPath, text, dies=False):
    Path(path).write_text(text)
    if dies:
        die_here()
    return text


def only_of_here(pid):
    """For one host's processes, known by their parent."""
    if pid not in {each.pid for each in psutil.Process().parents()}:
        raise UnfitError("no such tool")
    return pid


def import_here():
    import nowhere  # noqa: F401


class NoData:
    """What no run sends."""


def no_data_here():
    return NoData()
