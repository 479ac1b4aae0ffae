"""Attention, whose ops have no body that says all: the formula of the ops' definitions (LinalgExtOps.td).

`iree_linalg_ext.online_attention` has the sums, maxima and results so far as operands and returns the new
ones. The compiler computes with powers of two, or of e; that is its own affair, since only the last product
of sums leaves a dispatch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from iree.compiler import ir

from iree_tuner.check.reference.structured import Body, Loops
from iree_tuner.check.reference.values import UnsupportedError, Value, rounded
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.structure import accesses

_STEPS = 128  # of a product by BLAS, which take as long as the evaluation of a body
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def evaluate(
    op: ir.Operation, operands: Sequence[Value], body: Body, spend: Callable[[int], None]
) -> list[Value]:
    """The results of an attention op, online or not."""
    online = op.name == "iree_linalg_ext.online_attention"
    maps = [_loops(each) for each in accesses(op)]
    written = 3 if online else 1
    query, key, _, scale = operands[:4]
    masks = list(zip(maps, operands, strict=True))[4:-written]
    query_loops, key_loops, value_loops = maps[0], maps[1], maps[2]
    result_loops = maps[-written]
    inner = [loop for loop in query_loops if loop in key_loops and loop not in result_loops]
    keys = [loop for loop in key_loops if loop in value_loops and loop not in result_loops]
    rows = [loop for loop in query_loops if loop not in inner]
    score_loops = rows + keys
    sizes = _sizes(maps, operands)
    apart = [loop for loop in result_loops if loop not in rows]
    points = prod(sizes[loop] for loop in score_loops)
    steps = prod(sizes[loop] for loop in inner) + prod(sizes[loop] for loop in apart)
    spend(points + points * steps // _STEPS)
    with np.errstate(all="ignore"):
        scores = _product(query, query_loops, key, key_loops, score_loops) * scale
        scores = _elementwise(op, scores, score_loops, sizes, body)
        for mask_loops, mask in masks:
            placed = _spread(mask, mask_loops, score_loops)
            kind = ElementType.of(op.operands[4].type)
            is_boolean = kind.is_integer
            scores = np.where(placed != 0, scores, -np.inf) if is_boolean else scores + placed
        return _softmax_product(op, operands, maps, scores, score_loops, rows, written)


def _softmax_product(
    op: ir.Operation, operands: Sequence[Value], maps: Sequence[list[int]], scores: Value,
    score_loops: list[int], rows: list[int], written: int,
) -> list[Value]:  # fmt: skip
    value, value_loops, result_loops = operands[2], maps[2], maps[-written]
    axes = tuple(range(len(rows), len(score_loops)))
    largest = scores.max(axis=axes)
    if written == 3:
        largest = np.maximum(largest, _spread(operands[-2], maps[-2], rows))
    weights = np.exp(scores - np.expand_dims(largest, axes))
    total = weights.sum(axis=axes)
    if written == 1:
        weights = weights / np.expand_dims(total, axes)
    weights = rounded(weights, ElementType.of(op.operands[2].type))
    result = _product(weights, score_loops, value, value_loops, result_loops)
    if written == 1:
        return [result]
    factor = np.exp(_spread(operands[-2], maps[-2], rows) - largest)
    total = total + _spread(operands[-1], maps[-1], rows) * factor
    result = result + operands[-3] * _spread(factor, rows, result_loops)
    return [result, _spread(largest, rows, maps[-2]), _spread(total, rows, maps[-1])]


def _elementwise(
    op: ir.Operation, scores: Value, score_loops: list[int], sizes: dict[int, int], body: Body
) -> Value:
    """The op's region applied to the scores."""
    block = op.regions[0].blocks[0]
    axis = {loop: i for i, loop in enumerate(score_loops)}
    loops = _Scores([sizes.get(loop, 1) for loop in range(max(sizes) + 1)], axis)
    (found,) = body(block, [scores], loops)
    return np.broadcast_to(found, scores.shape)


class _Scores(Loops):
    """The iteration space of the scores, whose axes are not in the order of the loops."""

    def __init__(self, sizes: Sequence[int], axis: dict[int, int]) -> None:
        super().__init__(sizes, ["parallel"] * len(sizes))
        self._axis = axis

    def index(self, loop: int) -> Value:
        """The loop's index, along its axis in the scores."""
        if loop not in self._axis:
            raise UnsupportedError("attention with an index that its scores do not have")
        shape = [1] * len(self._axis)
        shape[self._axis[loop]] = self.sizes[loop]
        return np.arange(self.sizes[loop]).reshape(shape)


def _loops(access: IndexingMap) -> list[int]:
    found = [loop for loop in access.dimensions if loop is not None]
    if len(found) != len(access.results):
        raise UnsupportedError(f"attention with a map {access}")
    return found


def _sizes(maps: Sequence[list[int]], operands: Sequence[Value]) -> dict[int, int]:
    return {
        loop: size
        for loops, operand in zip(maps, operands, strict=True)
        for loop, size in zip(loops, operand.shape, strict=True)
    }


def _product(a: Value, a_loops: list[int], b: Value, b_loops: list[int], result: list[int]) -> Value:
    def names(loops: list[int]) -> str:
        return "".join(_LETTERS[loop] for loop in loops)

    return np.einsum(f"{names(a_loops)},{names(b_loops)}->{names(result)}", a, b, optimize=True)


def _spread(value: Value, loops: list[int], onto: list[int]) -> Value:
    """A tensor's elements along the axes of others, of size one where it does not depend on them."""
    present = [loop for loop in onto if loop in loops]
    moved = value.transpose([loops.index(loop) for loop in present])
    shape = iter(moved.shape)
    return moved.reshape([next(shape) if loop in loops else 1 for loop in onto])
