"""A matcher split into its conditions, of which the compiler's interpreter finds the first that fails.

For each op of a matcher that can fail there is a sequence with all of the matcher up to that op. The
interpreter runs such sequences on one op of a dispatch, as `foreach_match` would. Sequences that a matcher
includes are inlined, and the body of `transform.match.structured` is split as well.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import transform
from iree.compiler.dialects.transform import interpreter

from iree_tuner.compiler.context import ops_in, symbol_of, walk
from iree_tuner.ops.dag import clone
from iree_tuner.ops.matching import any_op
from iree_tuner.spec.grammar import is_sequence

_STRUCTURED = "transform.match.structured"
_NEVER_FAIL = {"transform.param.constant", "transform.num_associations", "transform.structured.match"}
_HERE = "iree_tuner_here"
_SAID = re.compile(r"^(?:Diagnostic message )?at loc\(.*?\): (.*)$", re.MULTILINE)
_PLACE = re.compile(r'"[^"]*":(\d+):\d+')


@dataclass(frozen=True)
class Condition:
    """One op of a matcher that can fail; `op` is a copy of it.

    `sequence` is a named sequence without results, with all of the matcher up to and with the op.
    """

    op: ir.Operation
    sequence: ir.Operation

    @property
    def root(self) -> ir.Value:
        """The handle to the op that is visited."""
        return self.sequence.regions[0].blocks[0].arguments[0]

    @property
    def line(self) -> int | None:
        """Line of the op in the text that the spec was parsed from, if it was text."""
        found = _PLACE.search(str(self.op.location))  # locations have no accessors
        return int(found[1]) if found else None


@dataclass(frozen=True)
class FailedCondition:
    """A condition, an op that it fails on though all before it hold, and the interpreter's message."""

    condition: Condition
    op: ir.Operation
    message: str

    @property
    def match(self) -> ir.Operation:
        """The op of the matcher."""
        return self.condition.op

    def ops(self, handle: ir.Value) -> list[ir.Operation]:
        return ops_of(self.condition, handle, self.op)


def conditions_of(matcher: ir.Operation) -> tuple[Condition, ...]:
    """The conditions of a matcher that takes one op, in order. Their sequences are put next to it."""
    with matcher.context, ir.Location.unknown(matcher.context):
        whole = _sequence_beside(matcher, "whole")
        block = whole.regions[0].blocks[0]
        ops, _ = _inline(matcher, list(block.arguments), ir.InsertionPoint.at_block_terminator(block))
        found: list[Condition] = []
        for index, op in enumerate(ops):
            if op.name not in _NEVER_FAIL:
                found.extend(_up_to(matcher, ops[:index], op, inner) for inner in range(_steps(op)))
        whole.erase()
    return tuple(found)


def first_failure(conditions: Sequence[Condition], op: ir.Operation) -> int | None:
    """The first of a matcher's conditions that fails on an op; None if all hold."""
    index = bisect.bisect_left(
        range(len(conditions)), True, key=lambda each: message_of(conditions[each], op) is not None
    )
    return index if index < len(conditions) else None


def message_of(condition: Condition, op: ir.Operation) -> str | None:
    """The interpreter's message if a condition, or one before it, fails on an op; None if all hold."""
    assert condition.sequence.parent is not None, "it stands in a module"
    try:
        interpreter.apply_named_sequence(op, condition.sequence, condition.sequence.parent)
    except ValueError as error:
        found = _SAID.search(str(error))
        return found[1] if found else str(error).splitlines()[0]
    return None


def ops_of(condition: Condition, handle: ir.Value, op: ir.Operation) -> list[ir.Operation]:
    """The ops that a handle stands for when the condition is reached on an op."""
    owner = handle.owner
    if isinstance(owner, ir.Block):
        outer = owner.owner.operation
        return [op] if is_sequence(outer) else ops_of(condition, outer.operands[0], op)
    _annotated(condition, op, handle, None)
    found = [each for each in walk(_around(op)) if _HERE in each.attributes]
    for each in found:
        del each.attributes[_HERE]
    return found


def number_of(condition: Condition, param: ir.Value, op: ir.Operation) -> int | None:
    """The number that a parameter holds when the condition is reached on an op; None for other contents."""
    _annotated(condition, op, condition.root, param)
    found = op.attributes.get(_HERE, None)
    if found is not None:
        del op.attributes[_HERE]
    return found.value if isinstance(found, ir.IntegerAttr) else None


def _annotated(condition: Condition, op: ir.Operation, handle: ir.Value, param: ir.Value | None) -> None:
    """Run a condition with a note on the ops of a handle, made before the condition itself."""
    last = list(condition.sequence.regions[0].blocks[0])[-2].operation
    with ir.InsertionPoint(last), ir.Location.unknown(op.context):
        note = transform.AnnotateOp(handle, _HERE, param=param)
    message_of(condition, op)
    note.operation.erase()


def _around(op: ir.Operation) -> ir.Operation:
    """The executable that an op is in."""
    while op.name != "hal.executable" and op.parent is not None:
        op = op.parent.operation
    return op


def _sequence_beside(matcher: ir.Operation, name: str) -> ir.Operation:
    """A sequence that takes an op and does nothing, next to a matcher."""
    readonly = {"transform.readonly": ir.UnitAttr.get()}
    name = f"iree_tuner_{symbol_of(matcher)}_{name}"
    with ir.InsertionPoint(matcher):
        made = transform.NamedSequenceOp(name, [any_op()], [], arg_attrs=[readonly])
    with ir.InsertionPoint(made.body):
        transform.YieldOp([])
    return made.operation


def _inline(
    sequence: ir.Operation, given: Sequence[ir.Value], where: ir.InsertionPoint
) -> tuple[list[ir.Operation], list[ir.Value]]:
    """Copy the ops of a sequence, with included sequences inlined; also returns the yielded values."""
    block = sequence.regions[0].blocks[0]
    values = dict(zip(block.arguments, given, strict=True))
    *body, end = [op.operation for op in block]
    copies: list[ir.Operation] = []
    for op in body:
        callee = _included(op, sequence)
        if callee is None:
            copy = clone(op, values, where)
            copies.append(copy)
            results = list(copy.results)
        else:
            inner, results = _inline(callee, [values[operand] for operand in op.operands], where)
            copies += inner
        values.update(zip(op.results, results, strict=True))
    return copies, [values[operand] for operand in end.operands]


def _included(op: ir.Operation, sequence: ir.Operation) -> ir.Operation | None:
    """The sequence that an op includes, if the failure of one is the failure of the other."""
    if op.name != "transform.include" or not _propagates(op) or sequence.parent is None:
        return None
    target = op.attributes["target"]
    name = target.value if isinstance(target, ir.FlatSymbolRefAttr) else None
    beside = (each.operation for each in sequence.parent.operation.regions[0].blocks[0])
    return next((each for each in beside if is_sequence(each) and symbol_of(each) == name), None)


def _propagates(op: ir.Operation) -> bool:
    mode = op.attributes.get("failure_propagation_mode", None)  # the default is to propagate
    return mode is None or ir.IntegerAttr(mode).value == transform.FailurePropagationMode.Propagate.value


def _steps(op: ir.Operation) -> int:
    """The number of conditions in an op: itself, or the ops inside `transform.match.structured`."""
    return len(list(op.regions[0].blocks[0])) if op.name == _STRUCTURED and _propagates(op) else 1


def _up_to(matcher: ir.Operation, before: Sequence[ir.Operation], op: ir.Operation, inner: int) -> Condition:
    """The condition of an op, or of the op with this number inside it, counted from 1."""
    sequence = _sequence_beside(matcher, f"{len(before)}_{inner}")
    block = sequence.regions[0].blocks[0]
    where = ir.InsertionPoint.at_block_terminator(block)
    (root,) = before[0].block.arguments if before else op.block.arguments
    values: dict[ir.Value, ir.Value] = {root: block.arguments[0]}
    for each in before:
        copy = clone(each, values, where)
        values.update(zip(each.results, copy.results, strict=True))
    if _steps(op) == 1:
        return Condition(clone(op, values, where), sequence)
    with where:
        last = ir.Operation.create(_STRUCTURED, operands=[values[op.operands[0]]], regions=1, loc=op.location)
    (argument,) = op.regions[0].blocks[0].arguments
    block = last.regions[0].blocks.append(argument.type, arg_locs=[op.location])
    values = {argument: block.arguments[0]}
    for each in ops_in(op.regions[0].blocks[0])[:inner]:
        last = clone(each, values, ir.InsertionPoint(block))
        values.update(zip(each.results, last.results, strict=True))
    with ir.InsertionPoint(block):
        ir.Operation.create(f"{_STRUCTURED}.yield")
    return Condition(last, sequence)
