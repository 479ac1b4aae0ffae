"""Linalg ops, by their own bodies: all parallel points at once, one reduction step after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from iree.compiler import ir

from iree_tuner.check.reference.values import UnsupportedError, Value
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.structure import accesses, indexing_maps, iterators

WORK_LIMIT = 1 << 27
"""Evaluations of a body. A step of a reduction counts as `STEP_WORK` more: NumPy's calls cost that much."""

STEP_WORK = 1 << 13

Body = Callable[[ir.Block, Sequence[Value], "Loops"], list[Value]]
"""Evaluates a block on values for its arguments; the loops are for `linalg.index`."""


class Loops:
    """A linalg op's iteration space. Arrays over it have one axis for each parallel loop, in order."""

    def __init__(self, sizes: Sequence[int], kinds: Sequence[str]) -> None:
        self.sizes = tuple(sizes)
        self.parallel = [loop for loop, kind in enumerate(kinds) if kind == "parallel"]
        self.reduction = [loop for loop, kind in enumerate(kinds) if kind != "parallel"]
        self.shape = tuple(self.sizes[loop] for loop in self.parallel)
        self._at: dict[int, int] = {}

    @property
    def work(self) -> int:
        """Evaluations of the body, with the cost of the steps."""
        steps = prod(self.sizes[loop] for loop in self.reduction)
        return prod(self.sizes) + steps * STEP_WORK

    def steps(self) -> np.ndindex:
        """The points of the reduction loops, in order."""
        return np.ndindex(*(self.sizes[loop] for loop in self.reduction))

    def at(self, step: Sequence[int]) -> None:
        """Go to a step."""
        self._at = dict(zip(self.reduction, step, strict=True))

    def index(self, loop: int) -> Value:
        """The loop's index: a number in a reduction, else an array along the loop's axis."""
        if loop in self._at:
            return np.asarray(self._at[loop])
        axis = self.parallel.index(loop)
        shape = [1] * len(self.parallel)
        shape[axis] = self.sizes[loop]
        return np.arange(self.sizes[loop]).reshape(shape)

    def is_step(self, loop: int) -> bool:
        """Whether it is a reduction loop."""
        return loop in self._at

    def value(self, expression: ir.AffineExpr) -> Value:
        """An index expression at all points of the current step."""
        if isinstance(expression, ir.AffineDimExpr):
            return self.index(expression.position)
        if isinstance(expression, ir.AffineConstantExpr):
            return np.asarray(expression.value)
        if isinstance(expression, ir.AffineBinaryExpr):
            left, right = self.value(expression.lhs), self.value(expression.rhs)
            return _combine(expression, left, right)
        raise UnsupportedError(f"an index {expression}")


def evaluate(
    op: ir.Operation, operands: Sequence[Value], body: Body, spend: Callable[[int], None]
) -> list[Value]:
    """The results of a linalg op. `operands` are whole tensors or scalars; `spend` gets the work."""
    maps = indexing_maps(op)
    if len(maps) != len(operands):
        raise UnsupportedError(op.name)
    loops = Loops(_sizes(accesses(op), operands, op.name), iterators(op))
    spend(loops.work)
    inits = len(operands) - _results(op)
    sources = operands[:inits]
    states = _initial(loops, maps[inits:], operands[inits:])
    block = op.regions[0].blocks[0]
    with np.errstate(all="ignore"):
        for step in loops.steps():
            loops.at(step)
            values = [_fetch(loops, each, source) for each, source in zip(maps, sources, strict=False)]
            states = body(block, [*values, *states], loops)
    return [
        _store(loops, indexing_map, state, init)
        for indexing_map, state, init in zip(maps[inits:], states, operands[inits:], strict=True)
    ]


def _results(op: ir.Operation) -> int:
    """How many operands are written: results of tensors, or the outputs of an op on memrefs."""
    if len(op.results):
        return len(op.results)
    segments = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    return segments[1]


def _sizes(maps: Sequence[IndexingMap], operands: Sequence[Value], name: str) -> list[int]:
    sizes: dict[int, int] = {}
    for access, operand in zip(maps, operands, strict=True):
        for loop, size in zip(access.dimensions, operand.shape, strict=True):
            if loop is not None:
                sizes.setdefault(loop, size)
    if len(sizes) != maps[0].rank:
        raise UnsupportedError(f"{name} with a loop that indexes no dimension directly")
    return [sizes[loop] for loop in range(maps[0].rank)]


def _initial(loops: Loops, maps: Sequence[ir.AffineMap], inits: Sequence[Value]) -> list[Value]:
    loops.at([0] * len(loops.reduction))
    for each in maps:
        if not set(IndexingMap.of(each).loops).isdisjoint(loops.reduction):
            raise UnsupportedError(f"a result indexed by a reduction: {each}")
    return [_fetch(loops, each, init) for each, init in zip(maps, inits, strict=True)]


def _fetch(loops: Loops, indexing_map: ir.AffineMap, operand: Value) -> Value:
    """An operand's elements at all points of the current step."""
    if not operand.ndim:
        return operand
    access = IndexingMap.of(indexing_map)
    if not access.is_permutation:
        return operand[tuple(loops.value(expression) for expression in indexing_map.results)]
    # Each dimension is a loop: a view, without a copy.
    free = [loop for loop in access.loops if not loops.is_step(loop)]
    step = tuple(int(loops.index(loop)) if loops.is_step(loop) else slice(None) for loop in access.loops)
    order = sorted(range(len(free)), key=free.__getitem__)
    shape = [loops.sizes[loop] if loop in free else 1 for loop in loops.parallel]
    return operand[step].transpose(order).reshape(shape)


def _store(loops: Loops, indexing_map: ir.AffineMap, state: Value, init: Value) -> Value:
    result = np.empty(init.shape, np.asarray(state).dtype)
    covered = prod(_size_along(loops, expression) for expression in indexing_map.results)
    if covered != result.size or covered != prod(loops.shape):
        raise UnsupportedError(f"a result of which only some elements are computed: {indexing_map}")
    place = tuple(np.broadcast_to(loops.value(e), loops.shape) for e in indexing_map.results)
    result[place] = np.broadcast_to(state, loops.shape)
    return result


def _size_along(loops: Loops, expression: ir.AffineExpr) -> int:
    return loops.sizes[expression.position] if isinstance(expression, ir.AffineDimExpr) else 1


def _combine(expression: ir.AffineBinaryExpr, left: Value, right: Value) -> Value:
    if isinstance(expression, ir.AffineAddExpr):
        return left + right
    if isinstance(expression, ir.AffineMulExpr):
        return left * right
    if isinstance(expression, ir.AffineFloorDivExpr):
        return left // right
    if isinstance(expression, ir.AffineCeilDivExpr):
        return -(-left // right)
    if isinstance(expression, ir.AffineModExpr):
        return left % right
    raise UnsupportedError(f"an index {expression}")
