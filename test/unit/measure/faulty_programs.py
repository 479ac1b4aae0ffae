"""What stands for the worker's part of comparing programs where it is to die. A program is an order."""

import os
from pathlib import Path

from iree_tuner.device.numerics import Agreement
from iree_tuner.measure.program_worker import Failed


def load(table, index):
    return None


def default(table, depth=None):
    return "main"


def agree(table, index, depth, *, brief):
    return Agreement(True, 0.0)


def rounds(table, count, start):
    orders = [Path(path).read_bytes() for path in table.paths]
    if b"poison" in orders or b"dead" in orders:
        Path(table.marker).write_bytes(bytes(4))  # it is the default that runs
        os.abort()
    large = [index for index, order in enumerate(orders) if order.startswith(b"large")]
    if len(large) > 1:
        return Failed(large[1], "RESOURCE_EXHAUSTED; libc allocator failed the request")
    return [[10.0 * (1 + index) for index in range(len(orders))]]
