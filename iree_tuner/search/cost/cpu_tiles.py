"""Tiles of a CPU task, as columns for many assignments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iree_tuner.ops.workload import Workload
from iree_tuner.search.cost.terms import Array

PEELING = "enable_loop_peeling"


@dataclass(frozen=True)
class TileColumns:
    """Tiles of all loops, a column each; untiled loops are whole."""

    sizes: Array  # of the loops
    task: Array  # what one task does of them
    cache: Array  # blocks of a task; 0 for none
    vector: Array  # what is unrolled into vectors, within blocks
    peeled: Array  # 1 where loops are peeled
    parallel: NDArray[np.bool_]  # which loops are parallel

    @property
    def blocked(self) -> Array:
        """Cache tiles, or the task's."""
        return np.where(self.cache > 0, np.minimum(self.cache, self.task), self.task)

    @property
    def uneven(self) -> NDArray[np.bool_]:
        """Loops with a tile that does not divide the surrounding one, except for steps of one."""
        blocked = self.blocked
        inside = (np.mod(self.task, blocked) > 0) | (np.mod(blocked, self.vector) > 0)
        return (inside | (np.mod(self.sizes, self.task) > 0)) & (self.vector > 1)

    @property
    def covered(self) -> Array:
        """The part of each loop that whole vector tiles make up."""
        tasks, rest = np.floor(self.sizes / self.task), np.mod(self.sizes, self.task)
        return (tasks * self._in_blocks(self.task) + self._in_blocks(rest)) / self.sizes

    def _in_blocks(self, extent: Array) -> Array:
        blocked = self.blocked
        blocks, rest = np.floor(extent / blocked), np.mod(extent, blocked)
        return (blocks * np.floor(blocked / self.vector) + np.floor(rest / self.vector)) * self.vector


def tiles_of(workload: Workload, knobs: Mapping[str, Array], count: int) -> TileColumns:
    """The tiles of `count` assignments, given by a column for each knob."""
    sizes = np.tile(np.array([max(1, size) for size in workload.loops], float), (count, 1))
    task, vector, cache = sizes.copy(), sizes.copy(), np.zeros_like(sizes)
    for loop in range(len(workload.loops)):
        for level, columns in (("distribution", task), ("vector", vector), ("cache", cache)):
            if f"{level}_{loop}" in knobs:
                columns[:, loop] = knobs[f"{level}_{loop}"]
    parallel = np.array([kind == "parallel" for kind in workload.iterators])
    return TileColumns(
        sizes, task, cache, np.minimum(vector, task), knobs.get(PEELING, np.zeros(count)), parallel
    )
