"""Numbers that a matcher compares and that differ: sizes by role, strides, counts of ops and operands."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from iree.compiler.dialects import transform

from iree_tuner.compiler.context import walk
from iree_tuner.ops.family import match_ops
from iree_tuner.ops.matching import ANY_SIZE
from iree_tuner.ops.structure import loop_sizes
from iree_tuner.spec.near.conditions import FailedCondition, number_of
from iree_tuner.spec.near.difference import (
    Comparisons,
    Difference,
    compare,
    compare_attributes,
)
from iree_tuner.spec.near.handles import MATCH, called_number, names_searched, of, searched_by

_PREDICATES = {
    "eq": "",
    "ne": "other than ",
    "lt": "less than ",
    "le": "at most ",
    "gt": "more than ",
    "ge": "at least ",
}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def listed_numbers(failure: FailedCondition) -> Comparisons:
    """Sizes of a role, strides or dilations that differ from the list of `dims_equal`."""
    param = failure.match.operands[0]
    wanted = list(ir.DenseI64ArrayAttr(failure.match.attributes["expected_values"]))
    what, found, is_size = _numbers(failure, param)
    if found is None:
        return
    known = {ANY_SIZE: "any", ir.ShapedType.get_dynamic_size(): "?", None: "?"}
    words = [[known.get(each, str(each)) for each in numbers] for numbers in (found, wanted)]
    one = len(found) == len(wanted) == 1
    given, asked = (each[0] if one else f"[{', '.join(each)}]" for each in words)
    if is_size:
        yield compare("size", f"size{'' if one else 's'} of {what.replace('_', ' ')}", given, asked)
    else:
        yield compare(what, what, given, asked)


def _numbers(failure: FailedCondition, param: ir.Value) -> tuple[str, Sequence[int | None] | None, bool]:
    """A parameter's contents, as a word and as numbers, and whether they are sizes; None if not found."""
    owner = param.owner
    if isinstance(owner, ir.Block):
        return "", None, True
    match = owner.operation
    kind = match.name.removeprefix(MATCH)
    known = match_ops().get(kind)
    if known is None:
        number = number_of(failure.condition, param, failure.op)
        return called_number(param)[1], None if number is None else [number], True
    family, described = known
    role = (*described.yields, *described.parameters)[ir.OpResult(param).result_number]
    (op,) = failure.ops(match.operands[0])
    if role in described.parameters:
        return role, family.parameters(op).get(role), False
    loops = family.roles(op)
    sizes = loop_sizes(op)
    return role, None if loops is None or sizes is None else [sizes[loop] for loop in loops[role]], True


def compared_numbers(failure: FailedCondition) -> Comparisons:
    """Two numbers, one of them usually a constant."""
    predicate = transform.MatchCmpIPredicate(ir.IntegerAttr(failure.match.attributes["predicate"]).value).name
    found, wanted = failure.match.operands
    if _constant(found) and not _constant(wanted):
        found, wanted, predicate = wanted, found, _MIRRORED.get(predicate, predicate)
    numbers = [number_of(failure.condition, each, failure.op) for each in (found, wanted)]
    if None in numbers:
        return
    kind, what = called_number(found)
    search = searched_by(found)
    if search is not None and predicate == "eq" and numbers == [0, 1]:
        yield from _not_found(failure, search)
    yield Difference(kind, what, str(numbers[0]), f"{_PREDICATES[predicate]}{numbers[1]}")


def _not_found(failure: FailedCondition, search: ir.Operation) -> Comparisons:
    """The difference in the only op of a name that is searched for, or that there is none."""
    names = names_searched(search)
    for op in failure.ops(search.operands[0]):
        named = [each for each in walk(op) if each.name in names]
        if not named:
            yield Difference("body", f"number of {' and '.join(names)}{of(search.operands[0])}", "0", "1")
        elif len(named) == 1:
            yield from _filtered(search, named[0])


def _filtered(search: ir.Operation, op: ir.Operation) -> Comparisons:
    """Compare an op with the attributes and operand types that `transform.structured.match` looks for."""
    if "op_attrs" in search.attributes:
        yield from compare_attributes(ir.DictAttr(search.attributes["op_attrs"]), op, op.name, exactly=False)
    if "filter_operand_types" in search.attributes:
        types = [ir.TypeAttr(each).value for each in ir.ArrayAttr(search.attributes["filter_operand_types"])]
        yield compare("operands", f"number of operands of {op.name}", len(op.operands), len(types))
        for number, (operand, wanted) in enumerate(zip(op.operands, types, strict=True)):
            yield compare("type", f"type of operand {number} of {op.name}", operand.type, wanted)


def _constant(param: ir.Value) -> bool:
    return not isinstance(param.owner, ir.Block) and param.owner.operation.name == "transform.param.constant"
