"""The linalg dialect: queries (is an op a contraction, with which dimensions), some op classes, generic ops.

`iree.compiler.dialects.linalg` has these too, but defines every named op in Python when it is imported, which
takes as long as all the rest that a worker needs before its first call: `named` imports it when it is used.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from math import prod
from typing import cast

from iree.compiler import ir
from iree.compiler._mlir_libs import _mlirDialectsLinalg as _binding  # pyright: ignore
from iree.compiler.dialects import arith
from iree.compiler.dialects._linalg_enum_gen import IteratorType  # registers its builder
from iree.compiler.dialects._linalg_ops_gen import GenericOp as GenericOp
from iree.compiler.dialects._linalg_ops_gen import IndexOp as IndexOp
from iree.compiler.dialects._linalg_ops_gen import PackOp as PackOp
from iree.compiler.dialects._linalg_ops_gen import SoftmaxOp as SoftmaxOp
from iree.compiler.dialects._linalg_ops_gen import YieldOp as YieldOp

infer_contraction_dimensions = _binding.infer_contraction_dimensions
infer_contraction_dimensions_from_maps = _binding.infer_contraction_dimensions_from_maps
infer_convolution_dimensions = _binding.infer_convolution_dimensions
infer_convolution_dimensions_from_maps = _binding.infer_convolution_dimensions_from_maps
isa_contraction_op = _binding.isa_contraction_op
isa_convolution_op = _binding.isa_convolution_op
get_indexing_maps = _binding.get_indexing_maps


def iterator_type(kind: str) -> ir.Attribute:
    """`#linalg.iterator_type<KIND>`, of `parallel` or `reduction`."""
    return ir.AttrBuilder.get("linalg.IteratorTypeEnum")(IteratorType[kind], context=ir.Context.current)


def named(name: str) -> Callable[..., ir.Value]:
    """The builder of a named op, such as `conv_2d_nhwc_hwcf`. Raises AttributeError for other names."""
    from iree.compiler.dialects import linalg

    return cast("Callable[..., ir.Value]", getattr(linalg, name))


def generic(
    operands: Sequence[ir.Value],
    out: ir.Value,
    maps: Sequence[ir.AffineMap],
    body: Callable[..., ir.Value],
    kinds: Sequence[str] | None = None,
) -> ir.Value:
    """A `linalg.generic` on tensors with one result, at the current insertion point.

    `maps` are of the inputs, and of the result. `body` makes the result's element from one of each input and
    the one before. `kinds` are of the loops, `parallel` or `reduction`; by default, those that the result
    does not have are reductions.
    """
    written = [each.position for each in maps[-1].results if isinstance(each, ir.AffineDimExpr)]
    every = range(maps[-1].n_dims)
    kinds = kinds or ["parallel" if loop in written else "reduction" for loop in every]
    types = [iterator_type(kind) for kind in kinds]
    indexing = ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps])
    op = GenericOp([out.type], list(operands), [out], indexing, ir.ArrayAttr.get(types))
    elements = [ir.ShapedType(each.type).element_type for each in (*operands, out)]
    with ir.InsertionPoint(op.regions[0].blocks.append(*elements)):
        YieldOp([body(*op.regions[0].blocks[0].arguments)])
    return op.results[0]


def elementwise(
    operands: Sequence[ir.Value],
    maps: Sequence[ir.AffineMap],
    shape: Sequence[int],
    element_type: ir.Type,
    body: Callable[..., ir.Value],
) -> ir.Value:
    """A `linalg.generic` over all elements of a new tensor, at the current insertion point.

    `maps` are of the operands. `body` makes the result's element from one of each operand.
    """
    from iree.compiler.dialects import tensor

    out, whole = tensor.EmptyOp(list(shape), element_type).result, ir.AffineMap.get_identity(len(shape))
    return generic(operands, out, [*maps, whole], lambda *elements: body(*elements[:-1]))


def converted(x: ir.Value, element_type: ir.Type) -> ir.Value:
    """The element in another type: floats are rounded to nearest, integers become wider or floats."""
    if x.type == element_type:
        return x
    if isinstance(x.type, ir.IntegerType):
        wide = isinstance(element_type, ir.IntegerType)
        return arith.extsi(element_type, x) if wide else arith.sitofp(element_type, x)
    wider = ir.FloatType(x.type).width < ir.FloatType(element_type).width
    return arith.extf(element_type, x) if wider else arith.truncf(element_type, x)


def multiply_add(left: ir.Value, right: ir.Value, total: ir.Value) -> ir.Value:
    """A step of a sum of products, in the type of the sum: the body of contractions."""
    one, other = (converted(each, total.type) for each in (left, right))
    if isinstance(total.type, ir.IntegerType):
        return arith.addi(total, arith.muli(one, other))
    return arith.addf(total, arith.mulf(one, other))


def access(rank: int, loops: Sequence[int]) -> ir.AffineMap:
    """The map of an operand whose dimensions are walked by these loops out of `rank`."""
    return ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(each) for each in loops])


def expand(value: ir.Value, parts: Sequence[Sequence[int]]) -> ir.Value:
    """Each dimension split into parts; the value itself if each dimension has one part."""
    from iree.compiler.dialects import tensor

    if all(len(each) == 1 for each in parts):
        return value
    sizes, tensor_ = [size for each in parts for size in each], cast("ir.Value[ir.RankedTensorType]", value)
    kind = ir.RankedTensorType.get(sizes, tensor_.type.element_type)
    return tensor.ExpandShapeOp(kind, tensor_, _groups([*map(len, parts)]), [], sizes).result


def collapse(value: ir.Value, counts: Sequence[int]) -> ir.Value:
    """Dimensions joined: the first `counts[0]` to one, the next `counts[1]`, and so on."""
    from iree.compiler.dialects import tensor

    if all(count == 1 for count in counts):
        return value
    tensor_, groups = cast("ir.Value[ir.RankedTensorType]", value), _groups(counts)
    sizes = [prod(tensor_.type.shape[each] for each in group) for group in groups]
    kind = ir.RankedTensorType.get(sizes, tensor_.type.element_type)
    return tensor.CollapseShapeOp(kind, tensor_, groups).result


def _groups(counts: Sequence[int]) -> list[list[int]]:
    """Numbers of the dimensions that belong together: `[[0], [1, 2], ...]`."""
    numbers = itertools.count()
    return [list(itertools.islice(numbers, count)) for count in counts]
