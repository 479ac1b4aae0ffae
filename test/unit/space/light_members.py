"""Members of a space whose code is short: which of a sample is compiled says nothing of the others."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from amounts import ALL

from iree_tuner.space.configuration import Assignment

_TILES = re.compile(r"(wg|red|th|vector|workgroup|reduction)_\w?\d|[mn]_tile|th_k")
_THREADS = re.compile(r"wg_size_\w|threads_\w|\w+_threads|sg_\w_cnt|subgroups")


def light(members: Iterable[Assignment]) -> list[Assignment]:
    """First those in which a thread computes least in a step: what is unrolled more compiles for seconds.

    With `--all` they keep their order.
    """
    return list(members) if ALL else sorted(members, key=_work)


def _work(member: Assignment) -> float:
    sizes, threads = (
        [value for name, value in member.items() if pattern.fullmatch(name)] for pattern in (_TILES, _THREADS)
    )
    return math.prod(sizes) / max(1, math.prod(threads))
