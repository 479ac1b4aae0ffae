"""Adding up the lanes of vectors: what reductions cost that are not contractions."""

from __future__ import annotations

import numpy as np

from iree_tuner.search.cost.terms import Array

_LATENCY = 4.0
_WINDOW = 300.0  # instructions that a core looks ahead: 224 to 512 in those of the last ten years


def sums(
    rows: Array, along: Array, lanes: float, registers: int, ordered: bool, apart: bool
) -> tuple[Array, Array]:
    """The instructions that reduce the rows of a tile along the lanes to one element each.

    Sums and products of floats keep their order, for nothing allows the compiler to change it: one addition
    an element, each waiting for the one before. Within the core's reorder window, the rows need not wait for
    each other. All else is folded in halves.

    Args:
        rows: of the tile.
        along: its size along the lanes.
        lanes: elements of a vector.
        registers: vectors that a core holds.
        ordered: whether the order must be kept.
        apart: whether elements have to be taken out of vectors first; values that were loaded a moment ago
        have not.

    Returns:
        Instructions, and the least number of cycles that the longest chain of them takes.
    """
    # Running sums are taken out of their vector and put back; more than the registers hold, out of memory.
    kept = 2.0 * rows + 2.0 * np.maximum(0.0, rows - registers)
    if ordered:
        at_once = np.clip(_WINDOW / along, 1.0, rows)
        return rows * along * (2.0 if apart else 1.0) + kept, rows * along * _LATENCY / at_once
    folds = 2.0 * np.log2(np.maximum(2.0, np.minimum(along, lanes)))
    return rows * (folds + np.ceil(along / lanes)) + kept, np.full(len(rows), _LATENCY)
