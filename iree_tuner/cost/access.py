"""Operands of a root op: which loops walk which of their dimensions."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from iree_tuner.ops.workload import Workload

Array = NDArray[np.float64]

_TERM = re.compile(r"d(\d+)(?:\s*\*\s*(\d+))?")


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
                extent += factor * (tiles[:, loop] - 1)
            count *= extent
        return count

    def bytes(self, tiles: Array) -> Array:
        """Bytes that a tile touches."""
        return self.elements(tiles) * (self.bits / 8)


def operands_of(workload: Workload) -> tuple[Operand, ...]:
    """The operands, the result last."""
    pairs = zip(workload.maps, workload.types, strict=False)
    return tuple(Operand(_dims(text), kind.bits) for text, kind in pairs)


def total(sizes: Sequence[int]) -> float:
    """Product of loops' sizes."""
    return float(math.prod(max(1, size) for size in sizes))


def _dims(text: str) -> tuple[tuple[tuple[int, int], ...], ...]:
    """`(d0, d1, d2) -> (d0, d1 * 2 + d2)` as `(((0, 1),), ((1, 2), (2, 1)))`."""
    results = text.rpartition("->")[2].strip().rstrip(">").strip()
    inner = results.removeprefix("(").removesuffix(")").strip()
    if not inner:
        return ()
    dims = (_TERM.findall(dim) for dim in inner.split(","))
    return tuple(tuple((int(loop), int(factor or 1)) for loop, factor in dim) for dim in dims)
