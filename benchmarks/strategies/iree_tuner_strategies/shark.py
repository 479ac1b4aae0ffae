"""The order of the SHARK tuner (AMD's), to compare with. Learns nothing.

Written from `amdsharktuner/rocm/rocm_candidate_ordering.py` of nod-ai/amd-shark-ai at efa471a (July 2026).
Its order for contractions compares, one after the other:

1. whether the reduction's tile is a power of two: these first;
2. whether the number of subgroups is a multiple of a compute unit's SIMD units: these first;
3. the arithmetic intensity of the matrix instruction;
4. which part of the last round of workgroups over the compute units is idle: little first;
5. how near the workgroup's tile is to a square.

Terms 3 and 5 are always False there, and order nothing: since pull request 2787 they are `not` of a number
that is never 0. Repaired, they are compared as numbers, the larger one first. No feature is the intensity
of an instruction; its multiply-adds, which follow from features, stand for it. Term 4 counts tiles that are
not full as whole ones, where the original divides sizes by tiles.

That tuner orders contractions on GPUs only. Where a space has no such features (CPUs, convolutions), this
is a shuffle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iree_tuner.search.cost.landscape import Landscape
from iree_tuner.search.cost.terms import Array
from iree_tuner.search.sampled_space import Pool
from iree_tuner.search.strategy import Result
from iree_tuner.space.configuration import Assignment

_SIMD_UNITS = 4.0  # of a compute unit; a multiprocessor of NVIDIA's has as many partitions
_NEEDED = ("tile_m", "tile_n", "tile_k", "warps", "tail_x", "own_m", "own_n", "instructions")


class Shark:
    """The pool by the five terms; equal ones at random, as they are there without a solver's order."""

    def __init__(self, space: Landscape, seed: int, start: Assignment | None = None) -> None:
        del start
        self._fits = set(_NEEDED) <= set(space.features)
        self._features = space.features
        self._pool = Pool(space, seed)

    def ask(self, count: int) -> list[Assignment]:
        """The next ones in the order."""
        places = self._pool.left()
        if self._fits and places:
            columns = dict(zip(self._features, self._pool.rows[places].T, strict=True))
            places = [places[each] for each in _order(columns)]
        return self._pool.propose(places[:count])

    def tell(self, results: Sequence[Result]) -> None:
        """Nothing is learned."""


def _order(columns: dict[str, Array]) -> list[int]:
    """Rows, best first, from columns of logarithms."""
    depth = columns["tile_k"]
    instruction = columns["own_m"] + columns["own_n"] + depth - columns["instructions"]
    terms = (
        np.abs(depth - np.round(depth)) > 1e-5,
        np.mod(np.round(np.exp2(columns["warps"]), 3), _SIMD_UNITS) > 0,
        -instruction,
        1.0 - np.exp2(-columns["tail_x"]),
        np.abs(columns["tile_m"] - columns["tile_n"]),
    )
    keys = [np.round(term.astype(float), 5) for term in terms]
    return [int(row) for row in np.lexsort(keys[::-1])]
