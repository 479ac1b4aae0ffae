"""Match an op by its own properties, where the compiler's DAG match op cannot.

An op's signature is its name, inherent attributes (maps among them) and operand types, and for its region the
number of ops of each name with its attributes. The order in which those are used, and the values of constants
from outside, are not looked at.

`transform.structured.match` can see all this, but is not allowed in a matcher; a sequence that a
matcher includes may hold it. So each signature is a sequence, put first in the matcher's module and
named for its contents: equal signatures are one sequence, also after specs are linked. It looks at
an op and all that is in it, so that the op's own name is checked first.
"""

from __future__ import annotations

import hashlib
from collections import Counter

from iree.compiler import ir
from iree.compiler.dialects import transform
from iree.compiler.dialects.transform import structured

from iree_tuner.ops.matching import any_op, sizes_param

_PREFIX = "has_signature_"
_MEMOIZED = "linalg.memoized_indexing_maps"


def require_signature(handle: ir.Value, op: ir.Operation) -> None:
    """Build the check that a handle's op has the signature of `op`, which has only inherent attributes."""
    types = [str(operand.type) for operand in op.operands]
    contents = repr((op.name, str(_attributes(op)), types, [(name, str(each)) for name, each in _inside(op)]))
    name = f"{_PREFIX}{hashlib.sha256(contents.encode()).hexdigest()[:16]}"
    module = _module_of(handle)
    if all(_symbol(each.operation) != name for each in module.regions[0].blocks[0].operations):
        with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
            _build(name, op)
    transform.MatchOperationNameOp(handle, ir.ArrayAttr.get([ir.StringAttr.get(op.name)]))
    transform.IncludeOp([], name, transform.FailurePropagationMode.Propagate, [handle])


def _build(name: str, op: ir.Operation) -> None:
    readonly = {"transform.readonly": ir.UnitAttr.get()}
    sequence = transform.NamedSequenceOp(name, [any_op()], [], arg_attrs=[readonly])
    with ir.InsertionPoint(sequence.body):
        target = sequence.body.arguments[0]
        types = ir.ArrayAttr.get([ir.TypeAttr.get(operand.type) for operand in op.operands])
        _require_count(target, op.name, _attributes(op), 1, types if len(types) else None)
        for (inner, attributes), count in Counter(_inside(op)).items():
            _require_count(target, inner, attributes, count, None)
        transform.YieldOp([])


def _require_count(
    target: ir.Value, name: str, attributes: ir.DictAttr, count: int, types: ir.ArrayAttr | None
) -> None:
    found = structured.MatchOp(
        any_op(), target, ops=[name], op_attrs=attributes, filter_operand_types=types
    ).results[0]
    number = transform.NumAssociationsOp(sizes_param(), found).num
    wanted = transform.ParamConstantOp(
        sizes_param(), ir.IntegerAttr.get(ir.IntegerType.get_signless(64), count)
    ).param
    transform.MatchParamCmpIOp(number, wanted, transform.MatchCmpIPredicate.eq)


def _inside(op: ir.Operation) -> list[tuple[str, ir.DictAttr]]:
    found: list[tuple[str, ir.DictAttr]] = []

    def keep(inner: ir.Operation) -> ir.WalkResult:
        if inner != op:
            found.append((inner.name, _attributes(inner)))
        return ir.WalkResult.ADVANCE

    op.walk(keep)
    return found


def _attributes(op: ir.Operation) -> ir.DictAttr:
    return ir.DictAttr.get({name: op.attributes[name] for name in op.attributes if name != _MEMOIZED})


def _module_of(handle: ir.Value) -> ir.Operation:
    op = handle.owner.owner.operation if isinstance(handle.owner, ir.Block) else handle.owner.operation
    while op.name != "builtin.module":
        op = op.parent.operation
    return op


def _symbol(op: ir.Operation) -> str | None:
    return ir.StringAttr(op.attributes["sym_name"]).value if "sym_name" in op.attributes else None
