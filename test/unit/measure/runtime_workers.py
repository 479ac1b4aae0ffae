"""Counts the threads that a device of the runtime starts. Runs in workers."""

import time
from pathlib import Path

from iree_tuner.targets.runtime import device_for

SETTLED_S = 0.2


def _workers():
    names = [each.joinpath("comm").read_text() for each in Path("/proc/self/task").iterdir()]
    return sum(name.startswith("iree-worker") for name in names)


def count_workers(device, flags):
    """How many workers of `local-task` are new when a device is open."""
    before = _workers()
    device_for(device, flags)
    time.sleep(SETTLED_S)
    return _workers() - before
