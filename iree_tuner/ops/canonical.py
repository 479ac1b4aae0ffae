"""Operations without what equal workloads may differ in."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from iree_tuner.compiler.context import ops_around, remembered, walk

# Inherent attributes that the generated Python classes have no property for.
_INHERENT = frozenset({"operandSegmentSizes", "resultSegmentSizes", "linalg.memoized_indexing_maps"})

# Dialects without generated Python classes do not say what is inherent; these attributes never are,
# and no attribute whose name begins with a dialect's.
_NEVER_INHERENT = frozenset({"lowering_config", "compilation_info", "root_op", "iree_tuner_op"})


def clone(op: ir.Operation, values: Mapping[ir.Value, ir.Value], where: ir.InsertionPoint) -> ir.Operation:
    """Clone an op with its operands, and what its regions capture, replaced as `values` says."""
    copy = op.clone(ip=where).operation
    for inner in walk(copy):
        for index, operand in enumerate(inner.operands):
            if operand in values:
                inner.operands[index] = values[operand]
    return copy


def strip_discardable(op: ir.Operation) -> None:
    """Remove, from an op and all that is in it, attributes that are not part of the op's meaning."""
    for inner in walk(op):
        for name in list(inner.attributes):
            if not _is_inherent(inner, name):
                del inner.attributes[name]


@remembered
def captured(op: ir.Operation) -> list[ir.Value]:
    """Values that an op's regions use and that are defined outside of it, each once, in order of use."""
    inside = (inner for inner in walk(op, inner_first=True) if inner != op)
    used = (operand for inner in inside for operand in inner.operands)
    owners = ((each, each.owner) for each in dict.fromkeys(used))
    return [
        value
        for value, owner in owners
        if op not in ops_around((owner.owner if isinstance(owner, ir.Block) else owner).operation)
    ]


def _is_inherent(op: ir.Operation, name: str) -> bool:
    if name in _INHERENT:
        return True
    kind = type(op.opview)
    if kind is ir.OpView:
        return name not in _NEVER_INHERENT and "." not in name
    own = kind.__mro__[: kind.__mro__.index(ir.OpView)]  # not what all ops have
    return any(each in vars(base) for base in own for each in (name, f"{name}_"))
