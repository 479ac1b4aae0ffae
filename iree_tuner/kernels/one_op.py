"""Build a problem as one op or one dispatch, to time it alone where the compiler makes several dispatches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, func, tensor

from iree_tuner.compiler import linalg
from iree_tuner.compiler.generic import generic
from iree_tuner.compiler.linalg import IndexOp
from iree_tuner.kernels.attention import Found, Names
from iree_tuner.kernels.integers import Integers
from iree_tuner.ops import matching
from iree_tuner.ops.structure import indexing_maps


def build_alone(found: Found, function: func.FuncOp) -> ir.Value:
    """Build an attention as one op, at the current insertion point in a function of its inputs."""
    result = ir.RankedTensorType(found.ops[-1].result.type)
    *shapes, written = found.shapes
    own = ir.RankedTensorType.get([size for sizes in written for size in sizes], result.element_type)
    with ir.Location.unknown(result.context):
        arguments = [_split(each, sizes) for each, sizes in zip(function.arguments, shapes, strict=True)]
        made = _attention(found, arguments, own) if found.after is None else _causal(found, arguments, own)
        return _joined(made, written, result)


def build_dispatch(result: ir.Type, build: Callable[[], ir.Value]) -> ir.Value:
    """Put ops into one dispatch; by default the compiler would make several."""
    region = ir.Operation.create("flow.dispatch.region", results=[result], regions=2)
    with ir.InsertionPoint(region.regions[0].blocks.append()):
        ir.Operation.create("flow.return", operands=[build()])
    return region.result


def _attention(found: Found, arguments: Sequence[ir.Value], result: ir.RankedTensorType) -> ir.Value[Any]:
    *maps, out = matching.indexing_maps(found.workload)
    operands = [*arguments[:3], arith.ConstantOp(ir.F32Type.get(), found.scale).result, *arguments[3:]]
    if found.after is not None:
        (query,), (key,) = found.workload.role("m"), found.workload.role("k2")
        place = [ir.AffineDimExpr.get(each) for each in (query, key)]
        maps.append(ir.AffineMap.get(len(found.workload.loops), 0, place))
        operands.append(_mask(found.workload.loops[query], found.workload.loops[key], found.after))
    operands.append(tensor.EmptyOp(list(result.shape), result.element_type).result)
    every = ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in (*maps, out)])
    op = ir.Operation.create(
        "iree_linalg_ext.attention", results=[result], operands=operands,
        attributes={"indexing_maps": every}, regions=1,
    )  # fmt: skip
    block = op.regions[0].blocks.append(ir.F32Type.get(), arg_locs=[ir.Location.unknown()])
    with ir.InsertionPoint(block):
        ir.Operation.create("iree_linalg_ext.yield", operands=[block.arguments[0]])
    return op.result


def _causal(found: Found, arguments: Sequence[ir.Value], result: ir.RankedTensorType) -> ir.Value[Any]:
    return build_dispatch(result, lambda: _attention(found, arguments, result))


def _mask(queries: int, keys: int, after: int) -> ir.Value:
    """Build the mask, which is true where a query sees a key."""
    truth = ir.IntegerType.get_signless(1)

    def sees(_: ir.Value) -> ir.Value:
        query, key = (IndexOp(each).result for each in (0, 1))
        last = arith.addi(query, arith.constant(ir.IndexType.get(), after))
        return arith.cmpi(arith.CmpIPredicate.sle, key, last)

    empty = tensor.EmptyOp([queries, keys], truth).result
    return generic([], empty, [ir.AffineMap.get_identity(2)], ["parallel"] * 2, sees)


def _split(value: ir.Value[Any], shape: Names) -> ir.Value:
    """Split the dimensions of a value into these sizes, and drop dimensions of size 1 without a name."""
    if () in shape:
        kind = _without_units(ir.RankedTensorType(value.type), shape)
        value, shape = tensor.CollapseShapeOp(kind, value, _units(shape)).result, tuple(filter(None, shape))
    sizes = [size for each in shape for size in each]
    if len(shape) == len(sizes):
        return value
    kind = ir.RankedTensorType.get(sizes, ir.RankedTensorType(value.type).element_type)
    return tensor.ExpandShapeOp(kind, value, _groups(shape), [], sizes).result


def _joined(value: ir.Value[Any], shape: Names, result: ir.RankedTensorType) -> ir.Value:
    """Undo `_split`, for the result."""
    kind, named = _without_units(result, shape), tuple(filter(None, shape))
    if kind != value.type:
        value = tensor.CollapseShapeOp(kind, value, _groups(named)).result
    if kind == result:
        return value
    return tensor.ExpandShapeOp(result, value, _units(shape), [], list(result.shape)).result


def _without_units(kind: ir.RankedTensorType, shape: Names) -> ir.RankedTensorType:
    """A type without dimensions that have no name."""
    sizes = [size for size, own in zip(kind.shape, shape, strict=True) if own]
    return ir.RankedTensorType.get(sizes, kind.element_type)


def _units(shape: Names) -> list[list[int]]:
    """Groups of dimensions: each has one dimension with a name and the neighbors without one."""
    named = [at for at, own in enumerate(shape) if own]
    ends = [*named[1:], len(shape)]
    return [list(range(*each)) for each in zip([0, *named[1:]], ends, strict=True)]


def _groups(shape: Names) -> list[list[int]]:
    """For each dimension, the numbers of the dimensions that it is split into."""
    ends = list(accumulate(map(len, shape)))
    return [list(range(end - len(own), end)) for own, end in zip(shape, ends, strict=True)]


# Build sums of integers over a padded image as one op, to time them alone.
#
# The compiler widens and pads an image in separate dispatches. Here the op reads the original image.


def build_sum(
    root: ir.Operation, operands: Sequence[ir.Value[Any]], start: ir.Value, integers: Integers
) -> ir.Value:
    """Build the op `root`, of the widened and padded image, at the current insertion point; returns its sums.

    `operands` are the original image and filter, 8 bits wide, which are read as `integers`. Sums begin at
    `start`.
    """
    image, filter_ = operands
    read, other, written = indexing_maps(root)
    kept = [ir.AffineDimExpr(each).position for each in written.results]
    kinds = ["parallel" if each in kept else "reduction" for each in range(read.n_dims)]

    def add(weight: ir.Value, total: ir.Value) -> ir.Value:
        product = arith.muli(_pixel(image, read, integers), _wide(weight, signed=integers.signed[1]))
        return arith.addi(total, product)

    return generic([filter_], start, [other, written], kinds, add)


def _pixel(image: ir.Value[Any], read: ir.AffineMap, integers: Integers) -> ir.Value:
    """The image's element that an op's body reads; outside of the image, the value of the padding."""
    padding, index = integers.padding, ir.IndexType.get()
    places: list[ir.Value[Any]] = [_place(each) for each in read.results]
    inside: ir.Value | None = None
    for dimension, before in ((1, padding.above), (2, padding.left)):
        size = ir.RankedTensorType(image.type).shape[dimension]
        place = arith.subi(places[dimension], arith.constant(index, before))
        within = arith.cmpi(arith.CmpIPredicate.ult, place, arith.constant(index, size))
        places[dimension] = arith.select(within, place, arith.constant(index, 0))
        inside = within if inside is None else arith.andi(inside, within)
    assert inside is not None
    found = _wide(tensor.ExtractOp(image, places).result, signed=integers.signed[0])
    return arith.select(inside, found, arith.constant(found.type, padding.value))


def _wide(value: ir.Value, *, signed: bool) -> ir.Value:
    wide = ir.IntegerType.get_signless(32)
    return arith.extsi(wide, value) if signed else arith.extui(wide, value)


def _place(expression: ir.AffineExpr) -> ir.Value:
    """The value of an expression of an op's loops, in its body."""
    if isinstance(expression, ir.AffineDimExpr):
        return linalg.IndexOp(expression.position).result
    if isinstance(expression, ir.AffineConstantExpr):
        return arith.constant(ir.IndexType.get(), expression.value)
    assert isinstance(expression, ir.AffineAddExpr | ir.AffineMulExpr)
    build = arith.addi if isinstance(expression, ir.AffineAddExpr) else arith.muli
    return build(_place(expression.lhs), _place(expression.rhs))
