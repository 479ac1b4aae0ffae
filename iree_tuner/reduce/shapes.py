"""Edits of static sizes: one number instead of another, in all types of the module."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from iree.compiler import ir

from iree_tuner.compiler.context import walk
from iree_tuner.reduce.parts import attributes_of
from iree_tuner.reduce.size import static_sizes
from iree_tuner.reduce.symbols import Edit

_SMALL = (1, 2, 4, 16, 64)
_HALF = 2
_SIZES = ("static_sizes", "static_output_shape")
"""Attributes in which ops repeat the sizes of their results."""


def smaller_sizes(module: ir.Module) -> list[Edit]:
    """Give all dimensions of one size another, the largest first; only one of these edits can be made."""
    found: set[int] = set()
    for value in _values(module):
        found.update(static_sizes(value.type))
    return [
        partial(_resize, module, old, new)
        for old in sorted(found, reverse=True)
        for new in sorted({*_SMALL, old // _HALF})
        if 0 < new < old
    ]


def _values(module: ir.Module) -> Iterator[ir.Value]:
    for op in walk(module.operation):
        yield from op.results
        for region in op.regions:
            for block in region:
                yield from block.arguments


def _resize(module: ir.Module, old: int, new: int) -> None:
    for value in _values(module):
        value.set_type(_resized(value.type, old, new))
    for op in walk(module.operation):
        for name, attribute in attributes_of(op).items():
            changed = _resized_attribute(name, attribute, old, new)
            if changed != attribute:
                op.attributes[name] = changed


def _resized(kind: ir.Type, old: int, new: int) -> ir.Type:
    """A type with other sizes; the same where it holds none, or the bindings cannot make it."""
    if isinstance(kind, ir.FunctionType):
        return ir.FunctionType.get(
            [_resized(each, old, new) for each in kind.inputs],
            [_resized(each, old, new) for each in kind.results],
        )
    if old not in static_sizes(kind):
        return kind
    shape = [new if size == old else size for size in ir.ShapedType(kind).shape]
    match kind:
        case ir.RankedTensorType():
            return ir.RankedTensorType.get(shape, kind.element_type, kind.encoding)
        case ir.VectorType():
            return ir.VectorType.get(shape, kind.element_type, scalable=kind.scalable_dims)
        case ir.MemRefType() if kind.affine_map == ir.AffineMap.get_identity(kind.rank):
            return ir.MemRefType.get(shape, kind.element_type, memory_space=kind.memory_space)
        case _:
            return kind


def _resized_attribute(name: str, attribute: ir.Attribute, old: int, new: int) -> ir.Attribute:
    match attribute:
        case ir.TypeAttr():
            return ir.TypeAttr.get(_resized(attribute.value, old, new))
        case ir.DenseElementsAttr() if attribute.is_splat:
            kind = _resized(attribute.type, old, new)
            if kind == attribute.type:
                return attribute
            return ir.DenseElementsAttr.get_splat(kind, attribute.get_splat_value())
        case ir.DenseI64ArrayAttr() if name in _SIZES:
            return ir.DenseI64ArrayAttr.get([new if size == old else size for size in attribute])
        case _:
            return attribute
