"""Workloads with dynamic loops, as builders of spaces for GPUs are given them."""

from __future__ import annotations

import math
from dataclasses import replace

from iree_tuner.ops.workload import Workload

_ROWS = ("m", "output_image")
"""Roles whose innermost loop is padded to tiles; there is no padding for other loops of a result.

Loops without a role, of generic ops, are masked."""


def undivided(workload: Workload) -> Workload:
    """The workload, with sizes for its dynamic loops that need the same code as unknown sizes.

    Rows have a prime, the largest odd one that is not larger: no tile divides it, so that padding is asked
    for. Other dynamic loops, which are tiled without padding, have the size 1, which leaves them the tile 1.
    Companions have the sizes of the loops that they share.
    """
    loops = list(workload.loops)
    rows = [loop for role in _ROWS for loop in workload.role(role)[-1:]]
    if not workload.roles:
        rows = _masked(workload)
    for each in workload.dynamic:
        size = loops[each.loop]
        loops[each.loop] = _prime_below(size) if each.loop in rows and size > 1 else 1
    return replace(workload, loops=tuple(loops)).with_companions_sized()


def _masked(workload: Workload) -> list[int]:
    """Dynamic loops of a generic op that are tiled: none where two static ones are, as by the compiler."""
    parallel = [loop for loop, kind in enumerate(workload.iterators) if kind == "parallel"]
    static = [loop for loop in parallel if workload.dynamic_loop(loop) is None and workload.loops[loop] > 1]
    return [] if len(static) > 1 else parallel


def _prime_below(size: int) -> int:
    candidates = range(max(size, 3), 2, -1)
    return next(n for n in candidates if all(n % divisor for divisor in range(2, math.isqrt(n) + 1)))
