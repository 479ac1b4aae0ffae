"""Equality of matchers: their bodies without names, annotations and the values that they yield to set."""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.compiler.context import defining_op, walk
from iree_tuner.spec.entry import ANNOTATION
from iree_tuner.spec.grammar import INCLUDE, Pair, resolve

_PARAM = "transform.param.constant"


@dataclass(frozen=True)
class Meaning:
    """The identity of a pair: canonical text of its matcher (with the sequences that it includes) and action.

    `sets` are the configurations that the matcher yields, printed.
    """

    matches: str
    sets: tuple[str, ...]
    does: str


def meaning(pair: Pair) -> Meaning:
    """Read a pair; the meaning of one whose sequences are missing, or only declared, is its names."""
    if pair.matcher_op is None or pair.action_op is None:
        return Meaning(f"@{pair.matcher}", (), f"@{pair.action}")
    values = yielded_constants(pair.matcher_op)
    sets = tuple(str(value.attributes["value"]) for value in values)
    return Meaning(canonical(pair.matcher_op, blank=True), sets, canonical(pair.action_op))


def yielded_constants(matcher: ir.Operation) -> list[ir.Operation]:
    """The constants that a matcher passes to its action, in order."""
    found = [defining_op(operand, _PARAM) for operand in _terminator(matcher).operands]
    return [each for each in found if each is not None]


def canonical(sequence: ir.Operation, *, blank: bool = False) -> str:
    """Text of a sequence that is equal for sequences that differ only in names.

    With `blank`, the constants that it yields are left out.
    """
    scratch = ir.Module.create(ir.Location.unknown(sequence.context))
    with sequence.context:
        copy = sequence.clone(ir.InsertionPoint(scratch.body))
        copy.attributes["sym_name"] = ir.StringAttr.get("sequence")
        if ANNOTATION in copy.attributes:
            del copy.attributes[ANNOTATION]
        if blank:
            for constant in yielded_constants(copy.operation):
                constant.attributes["value"] = ir.UnitAttr.get()
        included = [_included(op, sequence) for op in walk(copy.operation) if op.name == INCLUDE]
    text = copy.operation.get_asm(use_local_scope=True, enable_debug_info=False)
    return "\n".join((text, *included))


def _included(include: ir.Operation, sequence: ir.Operation) -> str:
    """Canonical text of an included sequence, whose name is then removed from the including copy."""
    target = include.attributes["target"]
    include.attributes["target"] = ir.FlatSymbolRefAttr.get("included")
    found = resolve(sequence, target)
    return str(target) if found is None or found == sequence else canonical(found)


def _terminator(sequence: ir.Operation) -> ir.Operation:
    operations = list(sequence.regions[0].blocks[0].operations)
    return operations[-1].operation
