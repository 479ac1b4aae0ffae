"""A matcher split into its conditions, of which the compiler's interpreter finds the first that fails.

The interpreter runs a copy of a matcher on one op of a dispatch, as `foreach_match` would. A note on that op,
made before a condition, says whether the condition is reached. In the copy, included sequences are inlined.
Ops inside `transform.match.structured` are conditions as well.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import transform
from iree.compiler.dialects.transform import interpreter

from iree_tuner.compiler.context import ops_around, ops_in, symbol_of, walk
from iree_tuner.ops.dag import clone
from iree_tuner.ops.matching import any_op
from iree_tuner.spec.grammar import is_sequence

_STRUCTURED = "transform.match.structured"
_NEVER_FAIL = {
    "transform.param.constant", "transform.num_associations", "transform.structured.match",
    f"{_STRUCTURED}.yield",
}  # fmt: skip
_HERE = "iree_tuner_here"
_SAID = re.compile(r"^(?:Diagnostic message )?at loc\(.*?\): (.*)$", re.MULTILINE)
_PLACE = re.compile(r'"[^"]*":(\d+):\d+')


@dataclass(frozen=True)
class Condition:
    """One op that can fail, in a copy of a matcher without results."""

    op: ir.Operation

    @property
    def sequence(self) -> ir.Operation:
        """The copy of the matcher."""
        return next(filter(is_sequence, ops_around(self.op)))

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
    """The conditions of a matcher that takes one op, in order. A copy of the matcher is put next to it."""
    readonly = {"transform.readonly": ir.UnitAttr.get(matcher.context)}
    with matcher.context, ir.Location.unknown(matcher.context):
        with ir.InsertionPoint(matcher):
            name = f"iree_tuner_{symbol_of(matcher)}"
            copy = transform.NamedSequenceOp(name, [any_op()], [], arg_attrs=[readonly])
        with ir.InsertionPoint(copy.body):
            end = transform.YieldOp([])
        ops, _ = _inline(matcher, list(copy.body.arguments), ir.InsertionPoint(end))
    every = (each for op in ops for each in (op, *_predicates(op)))
    return tuple(Condition(each) for each in every if each.name not in _NEVER_FAIL)


def first_failure(conditions: Sequence[Condition], op: ir.Operation) -> FailedCondition | None:
    """The first of a matcher's conditions that fails on an op; None if all hold."""
    message = _run(conditions[0], op) if conditions else ""
    if not message:
        return None
    reached = bisect.bisect_left(conditions, True, key=lambda each: not _noted(each, op, each.root))
    said = _SAID.search(message)
    return FailedCondition(conditions[reached - 1], op, said[1] if said else message.splitlines()[0])


def _run(condition: Condition, op: ir.Operation) -> str:
    """Run a condition's matcher on an op; returns the interpreter's message, empty if all holds."""
    sequence = condition.sequence
    assert sequence.parent is not None, "it stands in a module"
    try:
        interpreter.apply_named_sequence(op, sequence, sequence.parent)
    except ValueError as error:
        return str(error)
    return ""


def ops_of(condition: Condition, handle: ir.Value, op: ir.Operation) -> list[ir.Operation]:
    """The ops that a handle stands for when the condition is reached on an op."""
    owner = handle.owner
    if isinstance(owner, ir.Block):
        outer = owner.owner.operation
        return [op] if is_sequence(outer) else ops_of(condition, outer.operands[0], op)
    return list(_noted(condition, op, handle))


def number_of(condition: Condition, param: ir.Value, op: ir.Operation) -> int | None:
    """The number that a parameter holds when the condition is reached on an op; None for other contents."""
    (found,) = _noted(condition, op, condition.root, param).values()
    return found.value if isinstance(found, ir.IntegerAttr) else None


def _noted(
    condition: Condition, op: ir.Operation, handle: ir.Value, param: ir.Value | None = None
) -> dict[ir.Operation, ir.Attribute]:
    """Run a matcher with a note on the ops of a handle, made before the condition; returns ops and notes."""
    with ir.InsertionPoint(condition.op), ir.Location.unknown(op.context):
        note = transform.AnnotateOp(handle, _HERE, param=param)
    _run(condition, op)
    note.operation.erase()
    executable = next(each for each in ops_around(op) if each.name == "hal.executable" or each.parent is None)
    found = {each: each.attributes[_HERE] for each in walk(executable) if _HERE in each.attributes}
    for each in found:
        del each.attributes[_HERE]
    return found


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


def _predicates(op: ir.Operation) -> list[ir.Operation]:
    """The ops inside a `transform.match.structured` whose failure is its own."""
    return ops_in(op.regions[0].blocks[0]) if op.name == _STRUCTURED and _propagates(op) else []
