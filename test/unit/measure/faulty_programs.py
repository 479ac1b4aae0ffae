"""What stands for the worker's part of comparing programs where it is to die. A program is an order."""

import os
from pathlib import Path

from iree_tuner.device.numerics import Agreement


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
    return [[10.0 * (1 + index) for index in range(len(orders))]]
