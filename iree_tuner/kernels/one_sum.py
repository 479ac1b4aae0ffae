"""Build sums of integers over a padded image as one op, to time them alone.

The compiler widens and pads an image in separate dispatches. Here the op reads the original image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, tensor

from iree_tuner.compiler import linalg
from iree_tuner.compiler.generic import generic
from iree_tuner.kernels.integers import Integers
from iree_tuner.ops.structure import indexing_maps


def build_sum(
    root: ir.Operation, operands: Sequence[ir.Value[Any]], start: ir.Value, integers: Integers
) -> ir.Value:
    """Build the op at the current insertion point.

    Args:
        root: the op on the widened and padded image.
        operands: the original image and filter, 8 bits wide.
        start: the initial value of the sums.
        integers: how the operands are read.

    Returns:
        The sums.
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
