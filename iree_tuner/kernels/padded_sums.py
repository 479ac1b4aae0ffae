"""Sums over padded images, and over images that are spread among zeros, as one op: to time them alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, tensor

from iree_tuner.compiler import linalg
from iree_tuner.compiler.linalg import generic, multiply_add
from iree_tuner.kernels.integers import Integers, Padding
from iree_tuner.kernels.moved import zeros
from iree_tuner.ops.structure import indexing_maps


def build_sum(
    root: ir.Operation, operands: Sequence[ir.Value[Any]], start: ir.Value, integers: Integers
) -> ir.Value:
    """Build the op `root`, of the widened and padded image, at the current insertion point; returns its sums.

    `operands` are the original image and filter, 8 bits wide, which are read as `integers`. Sums begin at
    `start`.
    """
    image, filter_ = operands
    read, other, written = indexing_maps(root)

    def add(weight: ir.Value, total: ir.Value) -> ir.Value:
        product = arith.muli(_pixel(image, read, integers), _wide(weight, signed=integers.signed[1]))
        return arith.addi(total, product)

    return generic([filter_], start, [other, written], add)


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


def build_spread_sum(root: ir.Operation, padding: Padding, operands: Sequence[ir.Value[Any]]) -> ir.Value:
    """Build the op `root` of a spread image at the current insertion point, as one op; returns its sums."""
    image, filter_ = operands
    read, *others = indexing_maps(root)
    kind = ir.RankedTensorType(root.result.type)

    def add(weight: ir.Value, total: ir.Value) -> ir.Value:
        return multiply_add(_among_zeros(image, read, padding), weight, total)

    return generic([filter_], zeros([*kind.shape], kind.element_type), others, add)


def _among_zeros(image: ir.Value[Any], read: ir.AffineMap, padding: Padding) -> ir.Value:
    """The element that an op's body reads of an image whose elements are apart; 0 where there is none."""
    index, places, inside = ir.IndexType.get(), list[ir.Value[Any]](), list[ir.Value]()
    zero = arith.constant(index, 0)
    shape = ir.RankedTensorType(image.type).shape
    for expression, (before, _), step, size in zip(
        read.results, padding.sizes, padding.spread, shape, strict=True
    ):
        place = _place(expression)
        if before or step > 1:
            place = arith.subi(place, arith.constant(index, before))
            apart = arith.constant(index, step)
            inside.append(arith.cmpi(arith.CmpIPredicate.eq, arith.remsi(place, apart), zero))
            place = arith.divsi(place, apart)
            within = arith.cmpi(arith.CmpIPredicate.ult, place, arith.constant(index, size))
            inside.append(within)
            place = arith.select(within, place, zero)
        places.append(place)
    found = tensor.ExtractOp(image, places).result
    return arith.select(reduce(arith.andi, inside), found, arith.constant(found.type, 0.0))


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
