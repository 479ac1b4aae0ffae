"""Operands of a root op: which loops walk which of their dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from iree_tuner.ops.workload import Workload

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Operand:
    """One operand.

    Attributes:
        dims: for each dimension, loops and the factors that they are multiplied with.
        bits: width of an element.
    """

    dims: tuple[tuple[tuple[int, int], ...], ...]
    bits: int

    @cached_property
    def loops(self) -> frozenset[int]:
        """The loops that it depends on."""
        return frozenset(loop for dim in self.dims for loop, _ in dim)

    @property
    def innermost(self) -> tuple[tuple[int, int], ...]:
        """Loops of the dimension that is contiguous in memory."""
        return self.dims[-1] if self.dims else ()

    def elements(self, tiles: Array) -> Array:
        """Elements that a tile touches; `tiles` has a column for each loop."""
        count = np.ones(len(tiles))
        for dim in self.dims:
            extent = np.ones(len(tiles))
            for loop, factor in dim:
                extent += abs(factor) * (tiles[:, loop] - 1)
            count *= extent
        return count

    def bytes(self, tiles: Array) -> Array:
        """Bytes that a tile touches."""
        return self.elements(tiles) * (self.bits / 8)


def operands_of(workload: Workload) -> tuple[Operand, ...]:
    """The operands, the result last."""
    pairs = zip(workload.maps, workload.types, strict=False)
    return tuple(Operand(tuple(index.terms for index in each.results), kind.bits) for each, kind in pairs)


def total(sizes: Sequence[int]) -> float:
    """Product of loops' sizes."""
    return float(math.prod(max(1, size) for size in sizes))
