"""How large a module is, in an order in which every accepted edit makes it smaller."""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.compiler.context import walk
from iree_tuner.reduce.parts import attributes_of, is_resource, parts_of

STAND_INS = ("arith.constant", "tensor.empty")
"""Ops that take the place of others: they compute nothing."""


@dataclass(frozen=True, order=True)
class ProgramSize:
    """The counts of a module, the most important first.

    Attributes:
        work: ops that compute something, symbols and terminators among them.
        ops: all of them.
        values: results, block arguments and operands.
        attributes: attributes of ops, and their parts.
        elements: numbers in dense constants that are not splats; 1 for a resource.
        extent: the sum of the static sizes of all values.
    """

    work: int
    ops: int
    values: int
    attributes: int
    elements: int
    extent: int


def size_of(module: ir.Module) -> ProgramSize:
    """Count a module's parts."""
    work = ops = values = attributes = elements = extent = 0
    for op in walk(module.operation):
        ops += 1
        work += op.name not in STAND_INS
        found = [
            *op.results,
            *(value for region in op.regions for block in region for value in block.arguments),
        ]
        values += len(found) + len(op.operands)
        extent += sum(sum(static_sizes(value.type)) for value in found)
        for attribute in attributes_of(op).values():
            attributes += 1 + _leaves(attribute)
            elements += _elements(attribute)
    return ProgramSize(work, ops, values, attributes, elements, extent)


def _leaves(attribute: ir.Attribute) -> int:
    return sum(1 + _leaves(part) for part in parts_of(attribute).values())


def _elements(attribute: ir.Attribute) -> int:
    if isinstance(attribute, ir.DenseElementsAttr) and not attribute.is_splat:
        return len(attribute)
    return int(is_resource(attribute))


def static_sizes(kind: ir.Type) -> list[int]:
    """The sizes that a type fixes; none for types without a shape."""
    if not isinstance(kind, ir.ShapedType) or not kind.has_rank:
        return []
    return [kind.get_dim_size(axis) for axis in range(kind.rank) if kind.is_static_dim(axis)]
