"""Operations with all that does not matter taken off: what two equal workloads have in common."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

# Inherent attributes that the generated Python classes have no property for.
_INHERENT = frozenset({"operandSegmentSizes", "resultSegmentSizes", "linalg.memoized_indexing_maps"})

# Dialects without generated Python classes do not say what is inherent; these attributes never are,
# and no attribute whose name begins with a dialect's.
_NEVER_INHERENT = frozenset({"lowering_config", "compilation_info", "root_op", "iree_tuner_op"})


def clone(op: ir.Operation, values: Mapping[ir.Value, ir.Value], where: ir.InsertionPoint) -> ir.Operation:
    """Clone an op with its operands, and what its regions capture, replaced as `values` says."""
    copy = op.clone(ip=where).operation

    def replace(inner: ir.Operation) -> ir.WalkResult:
        for index, operand in enumerate(inner.operands):
            if operand in values:
                inner.operands[index] = values[operand]
        return ir.WalkResult.ADVANCE

    copy.walk(replace)
    return copy


def strip_discardable(op: ir.Operation) -> None:
    """Remove, from an op and all that is in it, attributes that are not part of the op's meaning."""

    def strip(inner: ir.Operation) -> ir.WalkResult:
        for name in list(inner.attributes):
            if not _is_inherent(inner, name):
                del inner.attributes[name]
        return ir.WalkResult.ADVANCE

    op.walk(strip)


def captured(op: ir.Operation) -> list[ir.Value]:
    """Values that an op's regions use and that are defined outside of it, each once, in order of use."""
    found: dict[ir.Value, None] = {}

    def look(inner: ir.Operation) -> ir.WalkResult:
        for operand in inner.operands if inner != op else ():
            if not _is_inside(operand, op):
                found[operand] = None
        return ir.WalkResult.ADVANCE

    op.walk(look)
    return list(found)


def _is_inherent(op: ir.Operation, name: str) -> bool:
    if name in _INHERENT:
        return True
    kind = type(op.opview)
    if kind is ir.OpView:
        return name not in _NEVER_INHERENT and "." not in name
    generated = hasattr(kind, name) or hasattr(kind, f"{name}_")
    return generated and not hasattr(ir.OpView, name)


def _is_inside(value: ir.Value, op: ir.Operation) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block):
        parent = owner.owner.operation
        if parent == op:
            return True
    else:
        parent = owner.operation.parent
    while parent is not None:
        if parent.operation == op:
            return True
        parent = parent.operation.parent
    return False
