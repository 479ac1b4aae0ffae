"""Linalg ops, by their own bodies: all parallel points at once, one reduction step after the other.

Attention has no such body: it is computed by the formula of the ops' definitions (LinalgExtOps.td).
`iree_linalg_ext.online_attention` has the sums, maxima and results so far as operands and returns new ones.
The compiler may use powers of two or of e: only the last product of sums leaves a dispatch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from string import ascii_lowercase

import numpy as np
from iree.compiler import ir

from iree_tuner.check.reference.scalars import UnsupportedError, Value, rounded
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.structure import accesses, indexing_maps, iterators, mixed, operand_groups
from iree_tuner.program.size_rules import AFFINE

WORK_LIMIT = 1 << 27
"""Evaluations of a body. A step of a reduction counts as `STEP_WORK` more: NumPy's calls cost that much."""

STEP_WORK = 1 << 13

Body = Callable[[ir.Block, Sequence[Value], "Loops"], list[Value]]
"""Evaluates a block on values for its arguments; the loops are for `linalg.index`."""

Get = Callable[[ir.Value], Value]


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
        steps = prod(self.sizes[loop] for loop in self.reduction)
        return prod(self.sizes) + steps * STEP_WORK

    def steps(self) -> np.ndindex:
        """The points of the reduction loops, in order."""
        return np.ndindex(*(self.sizes[loop] for loop in self.reduction))

    def at(self, step: Sequence[int]) -> None:
        self._at = dict(zip(self.reduction, step, strict=True))

    def index(self, loop: int) -> Value:
        """The loop's index: a number in a reduction, else an array along the loop's axis."""
        if loop in self._at:
            return np.asarray(self._at[loop])
        axis = self.parallel.index(loop)
        shape = [1] * len(self.parallel)
        shape[axis] = self.sizes[loop]
        return np.arange(self.sizes[loop]).reshape(shape)

    def step(self, loops: Sequence[int]) -> tuple[int, ...]:
        """Where these reduction loops are."""
        return tuple(self._at[loop] for loop in loops)

    def value(self, expression: ir.AffineExpr) -> Value:
        """An index expression at all points of the current step."""
        if isinstance(expression, ir.AffineDimExpr):
            return self.index(expression.position)
        if isinstance(expression, ir.AffineConstantExpr):
            return np.asarray(expression.value)
        if isinstance(expression, ir.AffineBinaryExpr):
            left, right = self.value(expression.lhs), self.value(expression.rhs)
            return next(function for kind, function in AFFINE if isinstance(expression, kind))(left, right)
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
    fetch = [_reader(loops, each, source) for each, source in zip(maps, sources, strict=False)]
    with np.errstate(all="ignore"):
        for step in loops.steps():
            loops.at(step)
            states = body(block, [*(read() for read in fetch), *states], loops)
    return [
        _store(loops, indexing_map, state, init)
        for indexing_map, state, init in zip(maps[inits:], states, operands[inits:], strict=True)
    ]


def _results(op: ir.Operation) -> int:
    """The number of operands that are written: results of tensors, or outputs on memrefs."""
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
    return [_reader(loops, each, init)() for each, init in zip(maps, inits, strict=True)]


def _reader(loops: Loops, indexing_map: ir.AffineMap, operand: Value) -> Callable[[], Value]:
    """A function that gives an operand's values at the step where the loops are."""
    if not operand.ndim:
        return lambda: operand
    access = IndexingMap.of(indexing_map)
    if not access.is_permutation:
        places = list(indexing_map.results)
        return lambda: operand[tuple(loops.value(each) for each in places)]
    # Each dimension is a loop: a view, without a copy.
    steps = [loop for loop in access.loops if loop in loops.reduction]
    free = sorted(loop for loop in access.loops if loop not in steps)
    turned = operand.transpose([access.loops.index(loop) for loop in (*steps, *free)])
    shape = [loops.sizes[loop] if loop in free else 1 for loop in loops.parallel]
    return lambda: turned[(*loops.step(steps), ...)].reshape(shape)


def _store(loops: Loops, indexing_map: ir.AffineMap, state: Value, init: Value) -> Value:
    result = np.empty(init.shape, np.asarray(state).dtype)
    covered = prod(loops.sizes[e.position] for e in indexing_map.results if isinstance(e, ir.AffineDimExpr))
    if covered != result.size or covered != prod(loops.shape):
        raise UnsupportedError(f"a result of which only some elements are computed: {indexing_map}")
    place = tuple(np.broadcast_to(loops.value(e), loops.shape) for e in indexing_map.results)
    result[place] = np.broadcast_to(state, loops.shape)
    return result


# Ops that move elements and compute none: slices, reshapes, padding, packing.


def slices(op: ir.Operation, get: Get) -> tuple[slice, ...]:
    """The part of a tensor that an op with offsets, sizes and strides is about."""
    parts = zip(*(_numbers(op, name, get) for name in ("offsets", "sizes", "strides")), strict=True)
    return tuple(
        slice(offset, offset + (size - 1) * stride + 1 if size else offset, stride)
        for offset, size, stride in parts
    )


def _numbers(op: ir.Operation, name: str, get: Get) -> list[int]:
    return [each if isinstance(each, int) else int(get(each)) for each in mixed(op, name)]


def extract_slice(op: ir.Operation, get: Get) -> Value:
    """Part of a tensor; dimensions of one element may go."""
    return get(op.operands[0])[slices(op, get)].reshape(_shape(op.results[0].type, op.name))


def insert_slice(op: ir.Operation, get: Get) -> Value:
    """A tensor with a part replaced."""
    result = get(op.operands[1]).copy()
    place = result[slices(op, get)]
    place[...] = get(op.operands[0]).reshape(place.shape)
    return result


def reshape(op: ir.Operation, get: Get) -> Value:
    """The same elements in the same order."""
    return get(op.operands[0]).reshape(_shape(op.results[0].type, op.name))


def pad(op: ir.Operation, get: Get) -> Value:
    """A tensor with a border of one constant."""
    block = op.regions[0].blocks[0]
    *before, terminator = block.operations
    fill = terminator.operation.operands[0]
    constant = fill.owner
    if isinstance(constant, ir.Block) or (before and constant.operation.name != "arith.constant"):
        raise UnsupportedError("tensor.pad with computed values")
    value = get(fill)
    around = list(zip(_numbers(op, "low", get), _numbers(op, "high", get), strict=True))
    return np.pad(get(op.operands[0]), around, constant_values=value.item())


def pack(op: ir.Operation, get: Get) -> Value:
    """Tiles made dimensions, innermost. Source: the op's definition, LinalgRelayoutOps.td."""
    source, result = get(op.operands[0]), get(op.operands[1])
    positions, tiles = _tiling(op)
    outer = _permutation(op, source.ndim)
    counts = [0] * source.ndim
    for place, loop in enumerate(outer):
        counts[loop] = result.shape[place]
    tile_of = dict(zip(positions, tiles, strict=True))
    around = [(0, counts[d] * tile_of.get(d, 1) - source.shape[d]) for d in range(source.ndim)]
    padding = operand_groups(op)[2]
    value = get(padding[0]).item() if padding else 0
    padded = np.pad(source, around, constant_values=value)
    split = padded.reshape([size for d in range(source.ndim) for size in (counts[d], tile_of.get(d, 1))])
    order = [2 * d for d in outer] + [2 * d + 1 for d in positions]
    rest = [2 * d + 1 for d in range(source.ndim) if d not in positions]
    return split.transpose(order + rest).reshape(result.shape)


def unpack(op: ir.Operation, get: Get) -> Value:
    """The reverse of `pack`; what was padded is dropped."""
    source, result = get(op.operands[0]), get(op.operands[1])
    positions, tiles = _tiling(op)
    rank = result.ndim
    outer = _permutation(op, rank)
    axes: list[int] = []
    for d in range(rank):
        axes.append(outer.index(d))
        axes += [rank + positions.index(d)] if d in positions else []
    tile_of = dict(zip(positions, tiles, strict=True))
    whole = [source.shape[outer.index(d)] * tile_of.get(d, 1) for d in range(rank)]
    padded = source.transpose(axes).reshape(whole)
    return padded[tuple(slice(0, size) for size in result.shape)]


def _tiling(op: ir.Operation) -> tuple[list[int], list[int]]:
    positions = list(ir.DenseI64ArrayAttr(op.attributes["inner_dims_pos"]))
    tiles = list(ir.DenseI64ArrayAttr(op.attributes["static_inner_tiles"]))
    if ir.ShapedType.get_dynamic_size() in tiles:
        raise UnsupportedError(f"{op.name} with tiles of unknown size")
    return positions, tiles


def _permutation(op: ir.Operation, rank: int) -> list[int]:
    found = op.attributes.get("outer_dims_perm", None)
    given: Sequence[int] = list(ir.DenseI64ArrayAttr(found)) if found is not None else []
    return list(given) or list(range(rank))


def _shape(kind: ir.Type, name: str) -> list[int]:
    """A result's shape; at most one dimension may be dynamic, which NumPy finds."""
    if not isinstance(kind, ir.ShapedType):
        raise UnsupportedError(f"{name} of type {kind}")
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = [-1 if size == dynamic else size for size in kind.shape]
    if shape.count(-1) > 1 or (-1 in shape and not prod(size for size in shape if size != -1)):
        raise UnsupportedError(f"{name} with several dynamic sizes")
    return shape


_STEPS = 128  # of a product by BLAS, which take as long as the evaluation of a body


def evaluate_attention(
    op: ir.Operation, operands: Sequence[Value], body: Body, spend: Callable[[int], None]
) -> list[Value]:
    """The results of an attention op, online or not."""
    online = op.name == "iree_linalg_ext.online_attention"
    maps = [_loops(each) for each in accesses(op)]
    written = 3 if online else 1
    query, key, _, scale = operands[:4]
    masks = list(zip(maps, operands, strict=True))[4:-written]
    query_loops, key_loops, value_loops, result_loops = *maps[:3], maps[-written]
    inner = [loop for loop in query_loops if loop in key_loops and loop not in result_loops]
    keys = [loop for loop in key_loops if loop in value_loops and loop not in result_loops]
    rows = [loop for loop in query_loops if loop not in inner]
    score_loops = rows + keys
    sizes = _loop_sizes(maps, operands)
    apart = [loop for loop in result_loops if loop not in rows]
    points = prod(sizes[loop] for loop in score_loops)
    steps = prod(sizes[loop] for loop in inner) + prod(sizes[loop] for loop in apart)
    spend(points + points * steps // _STEPS)
    with np.errstate(all="ignore"):
        scores = _product(query, query_loops, key, key_loops, score_loops) * scale
        scores = _elementwise(op, scores, score_loops, sizes, body)
        for mask_loops, mask in masks:
            placed = _spread(mask, mask_loops, score_loops)
            if ElementType.of(op.operands[4].type).is_integer:  # the compiler takes the lowest bit
                scores = np.where(placed.astype(np.int64) & 1, scores, -np.inf)
            else:
                scores = scores + placed
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


def _loop_sizes(maps: Sequence[list[int]], operands: Sequence[Value]) -> dict[int, int]:
    return {
        loop: size
        for loops, operand in zip(maps, operands, strict=True)
        for loop, size in zip(loops, operand.shape, strict=True)
    }


def _product(a: Value, a_loops: list[int], b: Value, b_loops: list[int], result: list[int]) -> Value:
    def names(loops: list[int]) -> str:
        return "".join(ascii_lowercase[loop] for loop in loops)

    return np.einsum(f"{names(a_loops)},{names(b_loops)}->{names(result)}", a, b, optimize=True)


def _spread(value: Value, loops: list[int], onto: list[int]) -> Value:
    """A tensor with one axis for each of the loops `onto`, of size 1 where it does not depend on the loop."""
    present = [loop for loop in onto if loop in loops]
    moved = value.transpose([loops.index(loop) for loop in present])
    shape = iter(moved.shape)
    return moved.reshape([next(shape) if loop in loops else 1 for loop in onto])
