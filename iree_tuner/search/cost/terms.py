"""Terms of an estimate: what it consists of, in words and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.workload import Workload

# Operands of a root op: which loops walk which of their dimensions.


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Operand:
    """One operand."""

    dims: tuple[tuple[tuple[int, int], ...], ...]  # by dimension: loops and their factors
    bits: int  # width of an element

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


@dataclass(frozen=True)
class CostTerm:
    """A part of an estimated time, for many assignments."""

    name: str  # short, also the name of a feature
    value: Array  # cycles, or a factor without unit
    unit: str  # `cycles` or `x`
    why: str  # the reason, with fields for numbers of one assignment: `{tile_m:.0f} rows`


def terms_of(found: Mapping[str, Array], **why: str) -> tuple[CostTerm, ...]:
    """Terms by name, in this order: cycles (`..._cycles`), or factors."""
    units = {name: "cycles" if name.endswith("_cycles") else "x" for name in why}
    return tuple(CostTerm(name, found[name], units[name], text) for name, text in why.items())


@dataclass(frozen=True)
class Estimate:
    """Features and terms of many assignments."""

    features: dict[str, Array]  # numbers by name, for models; none is infinite
    terms: tuple[CostTerm, ...]  # parts of the estimate, in the order in which they are shown
    cycles: Array


# The work of an op for each element, if its workload has a DAG.


# Instructions for a vector: a polynomial for a function, a slow divider, one for the rest.
_FUNCTION = 12.0
_DIVISION = 4.0
_FREE = ("constant", "extf", "truncf", "index_cast")
_DIVIDERS = ("divf", "divsi", "divui", "remf", "remsi", "remui")
_ORDERED = ("addf", "mulf")


def body_instructions(workload: Workload, label: str) -> float | None:
    """Instructions for a vector of elements of the op with that label; None if not known."""
    body = facts_of(workload.dag).body(label)
    return None if body is None else max(1.0, sum(_instructions(*each) for each in body.arithmetic))


def keeps_order(workload: Workload, label: str) -> bool:
    """Whether a reducing op must add one element after the other: sums and products of floats."""
    body = facts_of(workload.dag).body(label)
    if body is None:
        return workload.types[-1].is_float
    return bool(body.arithmetic) and body.arithmetic[-1][1] in _ORDERED


def _instructions(kind: str, name: str) -> float:
    if kind == "math":
        return _FUNCTION
    if name in _FREE:
        return 0.0
    return _DIVISION if name in _DIVIDERS else 1.0
