"""Ops that reduce small windows of an image (pooling), and where they read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from iree.compiler import ir

from iree_tuner.compiler.context import remembered
from iree_tuner.kernels.moved import LoopSum, NotIndexableError
from iree_tuner.kernels.moves import Indices, is_static
from iree_tuner.kernels.shapes import uniform
from iree_tuner.ops.structure import indexing_maps, iterators, shape_of

MOST_IN_WINDOW = 64
"""The most elements of a window: each is a step of a kernel."""

_REDUCES = ("arith.addf", "arith.maximumf", "arith.maxnumf")


@dataclass(frozen=True)
class Window:
    """A reduction over windows of an op's first operand.

    Attributes:
        op: the name of the scalar op that combines elements.
        start: the number that it starts from.
        loops: the loops within a window, and their sizes.
    """

    op: str
    start: float
    loops: tuple[tuple[int, int], ...]


@remembered
def window_of(op: ir.Operation) -> Window | None:
    """How an op pools; None for others: it has a window as an operand, of which only the shape counts."""
    if not op.name.startswith("linalg.") or len(op.operands) != 3 or len(op.regions) != 1:
        return None
    maps, kinds, block = indexing_maps(op), iterators(op), op.regions[0].blocks[0]
    summed = [loop for loop, kind in enumerate(kinds) if kind == "reduction"]
    if len(maps) != 3 or not summed or len(block.operations) != 2 or not is_static(op):
        return None
    inside, written = ([each.position if isinstance(each, ir.AffineDimExpr) else None for each in one.results]
                       for one in maps[1:])  # fmt: skip
    step, kept = block.operations[0].operation, [loop for loop in range(len(kinds)) if loop not in summed]
    if inside != summed or written != kept or step.name not in _REDUCES:
        return None
    ends = block.operations[1].operands[0] == step.result
    start, sizes = uniform(op.operands[2]), shape_of(op.operands[1].type)
    if not ends or start is None or {*step.operands} != {block.arguments[0], block.arguments[2]}:
        return None
    loops = tuple((loop, size or 0) for loop, size in zip(summed, sizes, strict=True))
    return Window(step.name, start, loops) if math.prod(size for _, size in loops) <= MOST_IN_WINDOW else None


def window_indices(op: ir.Operation, window: Window, index: Indices) -> list[Indices]:
    """The indices of the elements of a window, for an element of the op's result."""
    read, _, written = indexing_maps(op)
    loops = [LoopSum()] * read.n_dims
    for expression, each in zip(written.results, index, strict=True):
        loops[ir.AffineDimExpr(expression).position] = each
    found: list[Indices] = []
    for places in product(*(range(size) for _, size in window.loops)):
        for (loop, _), place in zip(window.loops, places, strict=True):
            loops[loop] = LoopSum(place)
        found.append(tuple(_sum(each, loops) for each in read.results))
    return found


def _sum(expression: ir.AffineExpr, loops: Sequence[LoopSum]) -> LoopSum:
    """A constant plus loops times numbers."""
    if isinstance(expression, ir.AffineConstantExpr):
        return LoopSum(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return loops[ir.AffineDimExpr(expression).position]
    if isinstance(expression, ir.AffineAddExpr):
        return _sum(expression.lhs, loops).plus(_sum(expression.rhs, loops))
    if isinstance(expression, ir.AffineMulExpr) and isinstance(expression.rhs, ir.AffineConstantExpr):
        return _sum(expression.lhs, loops).times(expression.rhs.value)
    raise NotIndexableError("an index is no sum of loops")
