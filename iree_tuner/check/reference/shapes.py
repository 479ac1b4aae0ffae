"""Ops that move elements and compute none: slices, reshapes, padding, packing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from iree.compiler import ir

from iree_tuner.check.reference.values import UnsupportedError, Value

Get = Callable[[ir.Value], Value]


def slices(op: ir.Operation, get: Get) -> tuple[slice, ...]:
    """The part of a tensor that an op with offsets, sizes and strides is about."""
    offsets = _mixed(op, "offsets", get)
    sizes = _mixed(op, "sizes", get)
    strides = _mixed(op, "strides", get)
    return tuple(
        slice(offset, offset + (size - 1) * stride + 1 if size else offset, stride)
        for offset, size, stride in zip(offsets, sizes, strides, strict=True)
    )


_SEGMENT = {"offsets": -3, "sizes": -2, "strides": -1, "low": 1, "high": 2}


def _mixed(op: ir.Operation, name: str, get: Get) -> list[int]:
    """Integers, some as attributes and some as operands."""
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    place = _SEGMENT[name] % len(segments)
    start = sum(segments[:place])
    given = iter(list(op.operands)[start : start + segments[place]])
    dynamic = ir.ShapedType.get_dynamic_size()
    return [
        int(get(next(given))) if value == dynamic else value
        for value in ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"])
    ]


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
    around = list(zip(_mixed(op, "low", get), _mixed(op, "high", get), strict=True))
    return np.pad(get(op.operands[0]), around, constant_values=value.item())


def pack(op: ir.Operation, get: Get) -> Value:
    """Tiles made dimensions, innermost. Source: the op's definition, LinalgRelayoutOps.td."""
    source, result = get(op.operands[0]), get(op.operands[1])
    positions, tiles = _tiling(op)
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    outer = _permutation(op, source.ndim)
    counts = [0] * source.ndim
    for place, loop in enumerate(outer):
        counts[loop] = result.shape[place]
    tile_of = dict(zip(positions, tiles, strict=True))
    around = [(0, counts[d] * tile_of.get(d, 1) - source.shape[d]) for d in range(source.ndim)]
    value = get(op.operands[segments[0] + segments[1]]).item() if segments[2] else 0
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
