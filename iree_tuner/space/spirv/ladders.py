"""Tile sizes to try, and what types and maps say about them."""

from __future__ import annotations

from iree_tuner.ops.workload import Workload

_NARROW_POWER = 32


def powers(largest: int, smallest: int = 1) -> list[int]:
    """Powers of two in a range, ascending."""
    return [1 << exponent for exponent in range(largest.bit_length()) if smallest <= 1 << exponent <= largest]


def power_divisors(size: int, largest: int, smallest: int = 1) -> list[int]:
    """Powers of two that divide a size."""
    return [power for power in powers(min(size, largest), smallest) if size % power == 0]


def thread_tiles(size: int) -> list[int]:
    """Tiles of a thread along a loop that is not its vectors': any small divisor, and larger powers of two.

    `tileMatmulMToWorkgroupY` in KernelConfig.cpp tries all sizes from 8 down.
    """
    return sorted({step for step in range(1, 9) if size % step == 0} | set(power_divisors(size, 16)))


def thread_counts(size: int, most: int) -> list[int]:
    """Numbers of threads along a loop: powers of two, and other divisors where there are few powers."""
    found = power_divisors(size, most)
    if found[-1] < _NARROW_POWER:
        found += [count for count in range(3, min(size, 64) + 1) if size % count == 0 and count not in found]
    return sorted(found)


def reduction_tiles(size: int, largest: int) -> list[int]:
    """Steps of a reduction at once: powers of two; all of a short loop; what the compiler would take."""
    found = {*power_divisors(size, largest), _reduction_factor(size)}
    return sorted(found | {size} if size <= 8 else found)


def _reduction_factor(size: int) -> int:
    """`getReductionTilingFactor`, Codegen/Utils/Utils.cpp: 4, or the smallest prime factor below 50."""
    if size % 4 == 0:
        return 4
    return next((step for step in range(2, 50) if size % step == 0), 1)


def writes_in_order(workload: Workload) -> bool:
    """Whether the result's dimensions are the parallel loops in their order."""
    parallel = [loop for loop, kind in enumerate(workload.iterators) if kind == "parallel"]
    return list(workload.maps[-1].dimensions) == parallel
