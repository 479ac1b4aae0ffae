"""Tile sizes of llvm-cpu's spaces, how fine their steps may be, and the compiler's limit on vectors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import count, takewhile

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import knob
from iree_tuner.space.expressions import Integer, product, require
from iree_tuner.targets import CpuLimits

MEMBERS_WANTED = 5_000_000
"""Ladders are made coarser until tiles alone give no more members than this."""

COARSEST = 4

CACHE_WAYS = 5
"""By about how much a third tiling level multiplies a space: one loop may have it, in steps of four."""


def ladder(size: int, coarseness: int = 0) -> tuple[int, ...]:
    """Sizes to try for a loop, ascending, from 1 to all of it.

    The compiler takes any size; a finite set must be chosen. The finest has the loop's divisors (no
    remainders), powers of two (registers, cache lines), and three times those (no size is far from one
    that is tried). Loop nests with many loops leave out, in this order: the latter, divisors that are no
    powers of two, and odd powers of two (or, last, all but powers of sixteen).
    """
    base = {0: 2, 1: 2, 2: 2, 3: 4, 4: 16}[coarseness]
    found = {1, size}
    if coarseness <= 1:
        found.update(tile for tile in range(1, size + 1) if size % tile == 0)
    for first in (1, 3) if coarseness == 0 else (1,):
        found.update(takewhile(lambda tile: tile <= size, (first * base**power for power in count())))
    return tuple(sorted(found))


def coarseness_for(
    workload: Workload, element_limit: int, own_loops: Sequence[int] = (), *, cached: bool = False
) -> int:
    """The finest ladders that keep a tiling of the workload enumerable.

    A vector tile has fewer than `element_limit` elements; `own_loops` are sizes of companions' loops that
    have tiles of their own; `cached`: there are cache tiles between distribution and vector tiles.
    """
    ways = CACHE_WAYS if cached else 1
    for coarseness in range(COARSEST):
        companions = math.prod(len(ladder(size, coarseness)) for size in own_loops)
        if _count(workload, element_limit, coarseness) * companions * ways <= MEMBERS_WANTED:
            return coarseness
    return COARSEST


def _count(workload: Workload, element_limit: int, coarseness: int) -> int:
    """Members with a vector tile below the limit, and a distribution tile no smaller on parallel loops."""
    ways: Counter[int] = Counter({1: 1})
    for size, iterator in zip(workload.loops, workload.iterators, strict=True):
        tiles = ladder(size, coarseness)
        longer: Counter[int] = Counter()
        for elements, number in ways.items():
            for position, tile in enumerate(tiles):
                if elements * tile < element_limit:
                    around = len(tiles) - position if iterator == "parallel" else 1
                    longer[elements * tile] += number * around
        ways = longer
    return sum(ways.values())


_STEPS = (
    "a divisor of {size}, a power of two or three times one, at most {size}",
    "a divisor of {size} or a power of two, at most {size}",
    "{size} or a smaller power of two",
    "{size} or a smaller power of four",
    "{size} or a smaller power of sixteen",
)


def tile_knob(name: str, size: int, coarseness: int = 0) -> Integer:
    """A knob for the tile of a loop of that size."""
    return knob(name, ladder(size, coarseness), _STEPS[coarseness].format(size=size))


def require_small_vector(
    factors: Sequence[Integer | int], kind: ElementType, what: str, limits: CpuLimits
) -> None:
    """A vector of that many elements passes LLVMCPUVerifyVectorSizeLegality."""
    size = product([*factors, kind.bytes])
    message = f"{what}: {{}} bytes must stay below {limits.max_stack_bytes} (large vector check)"
    require(size < limits.max_stack_bytes, message, size)
