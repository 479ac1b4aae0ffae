"""A compiler and a device that only sleep, for `tuner_overhead.py`. Its functions run in real workers."""

from __future__ import annotations

import time

from iree_tuner.execute.bench import Bench
from iree_tuner.execute.candidate import Built
from iree_tuner.execute.worker import Timed
from iree_tuner.space.configuration import Configuration

DEFAULT = b"default"
TIME_US = 100.0


def build(
    harness: bytes,
    flags: tuple[str, ...],
    configuration: Configuration | None,
    placement: int,
    most_ops: int,
    verify: bool,
) -> Built:
    """An executable of a usual size, after the seconds that the configuration's label asks for."""
    del harness, flags, placement, most_ops, verify
    if configuration is None:
        return Built("ok", DEFAULT)
    seconds = float(configuration.ops[0].label)
    time.sleep(seconds)
    return Built("ok", configuration.ops[0].value.encode().ljust(30_000), seconds=seconds)


def screen(vmfb: bytes, bench: Bench, limit_us: float | None, plan: object = None) -> Timed:
    """Take the seconds that the executable asks for, and say so."""
    del bench, limit_us, plan
    start = time.perf_counter()
    if vmfb != DEFAULT:
        time.sleep(float(vmfb.split()[1]))
    return Timed("ok", (TIME_US,) * 5, seconds=time.perf_counter() - start)
