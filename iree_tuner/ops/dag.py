"""The ops of a dispatch from one op back to its inputs: collected, written as text, and matched again.

The match op compares from the last op (the sink) upwards, so that the DAG is taken from there, and
the root op and its companions are reached from the sink by walking up operands.

The match op fails on a region that captures a value, unless the op that defines the value is also an
operand of something in the DAG, and is compared before the region. A DAG with such a region is
matched op by op, by signature: exact in sizes, types and maps, not in the region's computation.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import func, preprocessing_transform, transform
from iree.compiler.dialects.transform import structured

from iree_tuner.compiler.context import defining_op, ops_around, reachable, remembered, symbol_of, walk
from iree_tuner.ops import matching
from iree_tuner.ops.matching import any_op, sizes_param
from iree_tuner.ops.scalar_body import LABEL

# Match an op by its own properties, where the compiler's DAG match op cannot.
#
# An op's signature is its name, inherent attributes (maps among them) and operand types, and for its region
# the number of ops of each name with its attributes. The order in which those are used, and the values of
# constants from outside, are not looked at.
#
# `transform.structured.match` can see all this, but is not allowed in a matcher; a sequence that a
# matcher includes may hold it. So each signature is a sequence, put first in the matcher's module and
# named for its contents: equal signatures are one sequence, also after specs are linked. It looks at
# an op and all that is in it, so that the op's own name is checked first.


_PREFIX = "has_signature_"
_MEMOIZED = "linalg.memoized_indexing_maps"


def require_signature(handle: ir.Value, op: ir.Operation) -> None:
    """Build the check that a handle's op has the signature of `op`, which has only inherent attributes."""
    types = [str(operand.type) for operand in op.operands]
    contents = repr((op.name, str(_attributes(op)), types, [(name, str(each)) for name, each in _inside(op)]))
    name = f"{_PREFIX}{hashlib.sha256(contents.encode()).hexdigest()[:16]}"
    owner = handle.owner.owner if isinstance(handle.owner, ir.Block) else handle.owner
    module = next(each for each in ops_around(owner.operation) if each.name == "builtin.module")
    if all(symbol_of(each.operation) != name for each in module.regions[0].blocks[0].operations):
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
    return [(inner.name, _attributes(inner)) for inner in walk(op, inner_first=True) if inner != op]


def _attributes(op: ir.Operation) -> ir.DictAttr:
    return ir.DictAttr.get({name: op.attributes[name] for name in op.attributes if name != _MEMOIZED})


PRODUCER = "iree_tuner.producer"
"""The attribute that carries, for an input, the name of the op it comes from; that is matched too.
Without it, the DAG of one dispatch would match within another that computes the input itself."""

_BUFFERIZED = {"iree_tensor_ext.dispatch.tensor.load": "iree_codegen.load_from_buffer"}
"""The form of a producer on LLVMGPU when tuning specs run: after the passes of
`targets.gpu.PREPARATION`.
"""

DIALECTS = ("linalg.", "iree_linalg_ext.", "tensor.", "arith.", "math.")
"""Ops of these belong to a DAG; a value from any other (a load, a binding) is an input of it."""

_VALUES = frozenset({"arith.constant", "tensor.empty"})
"""Ops that do no work: the types of their users show what they stand for."""


@dataclass(frozen=True)
class Dag:
    """`ops` with producers before their users, the sink last, and the values that come from outside."""

    ops: tuple[ir.Operation, ...]
    inputs: tuple[ir.Value, ...]


def collect(sink: ir.Operation) -> Dag:
    """The DAG above an op, with the constants that its regions use."""
    ops: dict[ir.Operation, None] = {}
    inputs: dict[ir.Value, None] = {}

    def visit(op: ir.Operation) -> None:
        for operand in [*op.operands, *captured(op)]:
            producer = _member(operand)
            if producer is None:
                inputs[operand] = None
            elif producer not in ops:
                visit(producer)
        ops[op] = None

    visit(sink)
    return Dag(tuple(ops), tuple(inputs))


def write(dag: Dag, labels: Mapping[str, ir.Operation]) -> str:
    """The DAG as the canonical text of a module: no SSA names, locations or discardable attributes."""
    with dag.ops[-1].context, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            types = [each.type for each in dag.inputs]
            function = func.FuncOp("dag", (types, [each.type for each in dag.ops[-1].results]))
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([_origin(each) for each in dag.inputs])
        block = function.add_entry_block()
        copies = _copy(dag.ops, dict(zip(dag.inputs, block.arguments, strict=True)), ir.InsertionPoint(block))
        by_op = {op: label for label, op in labels.items()}
        for op, copy in zip(dag.ops, copies, strict=True):
            if op in by_op:
                copy.attributes[LABEL] = ir.StringAttr.get(by_op[op])
        with ir.InsertionPoint(block):
            func.ReturnOp(list(copies[-1].results))
        return str(module)


def match(text: str, handle: ir.Value, unknown: str = "") -> dict[str, ir.Value]:
    """Build the match of a DAG whose sink is the visited op; returns a handle for each labelled op.

    A dynamic size in the DAG takes any size, but not in the op with the label `unknown`.
    """
    # IR as text: workloads are stored with their DAG
    module = ir.Module.parse(text)
    function = module.body.operations[0]
    body = function.regions[0].blocks[0]
    ops = [op.operation for op in body.operations][:-1]
    labels = {str(ir.StringAttr(op.attributes[LABEL]).value): op for op in ops if LABEL in op.attributes}
    if _comparable(ops[-1]):
        values, types = transform.AnyValueType.get(), [each.type for each in body.arguments]
        matched = preprocessing_transform.MatchCastCompatibleDagFromRootOp(values, values, handle)
        block = matched.regions[0].blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
        _copy(ops, dict(zip(body.arguments, block.arguments, strict=True)), ir.InsertionPoint(block))
        with ir.InsertionPoint(block):
            transform.YieldOp([])
    else:
        for op in above(ops[-1]):
            strip_discardable(op)  # the labels
            if op.name not in _VALUES:
                require_signature(_navigate(handle, path(ops[-1], op)), op)
    if unknown:
        exact = labels[unknown]
        strip_discardable(exact)
        require_signature(_navigate(handle, path(ops[-1], exact)), exact)
    marks = function.attributes.get("arg_attrs", ())
    origins = {value: ir.DictAttr(each) for value, each in zip(body.arguments, marks, strict=False)}
    for op in above(ops[-1]):
        for number, operand in enumerate(op.operands):
            origin = origins.pop(operand, {})
            if PRODUCER in origin:
                producer = _navigate(handle, [*path(ops[-1], op), number])
                name = ir.StringAttr(origin[PRODUCER])
                also = _BUFFERIZED.get(name.value)
                names = [name, ir.StringAttr.get(also)] if also else [name]
                transform.MatchOperationNameOp(producer, ir.ArrayAttr.get(names))
    return {label: _navigate(handle, path(ops[-1], op)) for label, op in labels.items()}


def above(sink: ir.Operation) -> list[ir.Operation]:
    """The ops of a DAG that its sink reaches through operands, without ops that only regions use."""
    return reachable([sink], _producers)


def path(sink: ir.Operation, target: ir.Operation) -> list[int]:
    """Operand numbers that lead from an op up to one of its producers. Raises ValueError if none do."""
    pending: list[tuple[ir.Operation, list[int]]] = [(sink, [])]
    seen: set[ir.Operation] = set()
    while pending:
        op, steps = pending.pop(0)
        if op == target:
            return steps
        for number, operand in enumerate(op.operands):
            producer = _member(operand)
            if producer is not None and producer not in seen:
                seen.add(producer)
                pending.append((producer, [*steps, number]))
    raise ValueError(f"{target.name} does not produce anything that {sink.name} uses")


def _origin(value: ir.Value) -> ir.DictAttr:
    op = defining_op(value)
    return ir.DictAttr.get({PRODUCER: ir.StringAttr.get(op.name)} if op is not None else {})


def _navigate(handle: ir.Value, steps: Sequence[int]) -> ir.Value:
    for number in steps:
        handle = transform.GetProducerOfOperand(matching.any_op(), handle, number).result
    return handle


def _copy(
    ops: Sequence[ir.Operation], values: dict[ir.Value, ir.Value], where: ir.InsertionPoint
) -> list[ir.Operation]:
    copies: list[ir.Operation] = []
    for op in ops:
        copy = clone(op, values, where)
        strip_discardable(copy)
        values.update(zip(op.results, copy.results, strict=True))
        copies.append(copy)
    return copies


def _member(value: ir.Value) -> ir.Operation | None:
    """The op that produces a value, if it belongs to the DAG; not one that gives a dynamic size to a tensor.

    A static size instead is matched as well.
    """
    op = defining_op(value)
    if op is None or not op.name.startswith(DIALECTS):
        return None
    return None if op.name == "tensor.empty" and len(op.operands) else op


def _producers(op: ir.Operation) -> list[ir.Operation]:
    return [each for each in map(_member, op.operands) if each is not None]


def _comparable(sink: ir.Operation) -> bool:
    """Walk as the match op does: regions are compared in reverse, so a captured value must come later."""
    order: dict[ir.Operation, int] = {}
    pending = [sink]
    while pending:
        op = pending.pop()
        if op in order:
            continue
        pending.extend(each for each in _producers(op) if each not in order)
        order[op] = len(order)
    for op, position in order.items():
        for value in captured(op):
            producer = _member(value)
            if producer is None or order.get(producer, -1) < position:
                return False
    return True


# Operations without what equal workloads may differ in.


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
