"""A compiler and a device that only sleep, for `tuner_overhead.py` and `cluster_scale.py`.

Its functions run in real workers, or where time passes otherwise: `pause` is replaced there.
"""

from __future__ import annotations

import time

from iree_tuner.device.bench import Bench
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.timing import Timed
from iree_tuner.space.configuration import Configuration

DEFAULT = b"default"
TIME_US = 100.0
pause = time.sleep


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
    pause(seconds)
    return Built("ok", configuration.ops[0].value.encode().ljust(30_000), seconds=seconds)


def screen(vmfb: bytes, bench: Bench, limit_us: float | None, plan: object = None) -> Timed:
    """Take the seconds that the executable asks for, and say so."""
    del bench, limit_us, plan
    seconds = 0.0 if vmfb == DEFAULT else float(vmfb.split()[1])
    pause(seconds)
    return Timed("ok", (TIME_US,) * 5, seconds=seconds)
