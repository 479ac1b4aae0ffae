"""Which cores a process computes on. Imports nothing heavy: libraries look at this when they are imported."""

from __future__ import annotations

import os

_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""Environment variables of OpenMP, OpenBLAS and MKL. XLA and OpenBLAS also count their cores."""


def use_cores(count: int) -> int:
    """Keep this process, and the threads that it starts from now on, on the first of its cores.

    Args:
        count: how many; 0 for no limit.

    Returns:
        How many it has.
    """
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if not count:
        return len(usable) or os.cpu_count() or 1
    if usable:
        os.sched_setaffinity(0, usable[:count])
    os.environ.update(dict.fromkeys(_VARIABLES, str(count)))
    return min(count, len(usable)) if usable else count
