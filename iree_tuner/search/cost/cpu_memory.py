"""The cost of loading a CPU task's operands: bytes that move, and cache lines that evict each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iree_tuner.search.cost.access import Array, Operand
from iree_tuner.search.cost.cpu_tiles import Tiles
from iree_tuner.targets.machine import Machine

_LINE = 64.0
_NEAR_WAY = 4096.0  # bytes of a way: first-level caches are indexed within a page
_MIDDLE_WAYS = 16.0
_NEAR, _MIDDLE = 32 << 10, 1 << 20  # caches of machines that do not say


def traffic(tiles: Tiles, operands: Sequence[Operand], machine: Machine) -> tuple[Array, Array]:
    """Bytes that one task moves from the second-level cache, and from beyond it."""
    blocked = tiles.blocked
    panel = np.where(tiles.parallel, tiles.vector, blocked)
    visits = _visits(tiles, operands, panel, float(machine.near_bytes or _NEAR))
    through, whole, held = (np.zeros(len(panel)) for _ in range(3))
    for count, operand in zip(visits, operands, strict=True):
        through += operand.bytes(panel) * count
        whole += operand.bytes(tiles.task)
        held += operand.bytes(np.where(tiles.parallel, blocked, panel))
    beyond = np.where(held < (machine.middle_bytes or _MIDDLE), whole, np.maximum(whole, through))
    middle_again, far_again = _again(tiles, operands[:-1], machine)
    return through + middle_again, beyond + far_again


def _visits(tiles: Tiles, operands: Sequence[Operand], panel: Array, near: float) -> list[Array]:
    """How often a task brings each operand's panel to the first-level cache.

    Data that does not depend on a loop is still cached in its next step, if all data of one step fits.
    """
    steps = np.ceil(tiles.task / panel)
    visits = [steps.prod(axis=1) for _ in operands]
    touched = panel.copy()
    for loop in reversed(np.flatnonzero(tiles.parallel)):
        fits = sum((each.bytes(touched) for each in operands), np.zeros(len(panel))) <= near
        for place, operand in enumerate(operands):
            if loop not in operand.loops:
                visits[place] = np.where(fits, visits[place] / steps[:, loop], visits[place])
        touched[:, loop] = tiles.task[:, loop]
    return visits


def _again(tiles: Tiles, operands: Sequence[Operand], machine: Machine) -> tuple[Array, Array]:
    """Bytes that come twice, because their lines were pushed out before they were used up.

    The rows of a tile advance side by side along the innermost loop, a part of a line at a time. Rows that
    are a multiple of a way apart share a set: more of them than there are ways do not stay.
    """
    reduced = np.flatnonzero(~tiles.parallel)
    loop = int(reduced[-1]) if len(reduced) else len(tiles.parallel) - 1
    near, middle = float(machine.near_bytes or _NEAR), float(machine.middle_bytes or _MIDDLE)
    found = [np.zeros(len(tiles.task)), np.zeros(len(tiles.task))]
    for operand in operands:
        if operand.innermost != ((loop, 1),):
            continue
        part = tiles.vector[:, loop] * operand.bits / 8
        again = operand.bytes(tiles.task) * np.maximum(0.0, _LINE / part - 1.0)
        rows = operand.elements(tiles.vector) / tiles.vector[:, loop]
        apart = int(tiles.sizes[:, loop].max(initial=1.0) * operand.bits / 8)
        for level, (capacity, way) in enumerate(((near, _NEAR_WAY), (middle, middle / _MIDDLE_WAYS))):
            places = min(way / _LINE, way / np.gcd(apart, int(way)))
            found[level] += np.where(rows / places > capacity / way, again, 0.0)
    return found[0], found[1]
