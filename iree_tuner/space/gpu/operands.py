"""The operands and results of the root op, in the terms of its tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iree_tuner.ops.workload import Workload
from iree_tuner.space.expressions import Integer


def operand_tile(
    workload: Workload, operand: int, tiles: Mapping[int, Integer | int]
) -> Sequence[Integer | int]:
    """The shape of an operand's tile, outermost dimension first; a loop without a tile counts 1."""
    return [tiles.get(loop, 1) for loop in workload.maps[operand].loops]
