"""What the root op reads and writes, in the terms of its tiles."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from iree_tuner.ops.workload import Workload
from iree_tuner.space.expressions import Integer

_BITS = {"index": 64}


def bits_of(kind: str) -> int:
    """Bits of an element type: `f16` has 16, `bf16` 16, `f8E4M3FN` 8, `i8` 8, `index` 64."""
    if kind in _BITS:
        return _BITS[kind]
    found = re.match(r"\D+(\d+)", kind)
    return int(found.group(1)) if found else 32


def bytes_of(kind: str) -> int:
    """Whole bytes of an element type; at least one."""
    return max(1, bits_of(kind) // 8)


def operand_loops(workload: Workload, operand: int) -> tuple[int, ...]:
    """The loops that walk an operand's dimensions, outermost first; for maps that are permutations."""
    results = workload.maps[operand].rpartition("-> (")[2].rstrip(")>")
    return tuple(int(name) for name in re.findall(r"\bd(\d+)\b", results))


def operand_tile(
    workload: Workload, operand: int, tiles: Mapping[int, Integer | int]
) -> Sequence[Integer | int]:
    """The shape of an operand's tile, outermost dimension first; a loop without a tile counts 1."""
    return [tiles.get(loop, 1) for loop in operand_loops(workload, operand)]
