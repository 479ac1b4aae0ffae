"""The ops and values that the handles of a matcher stand for in a dispatch, and their names in messages."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from iree_tuner.spec.grammar import is_sequence
from iree_tuner.spec.near.conditions import Condition, ops_of
from iree_tuner.spec.near.difference import compare_dags, first_difference

MATCH = "transform.iree.match."
DAG = f"{MATCH}cast_compatible_dag_from_root"
STRUCTURED = "transform.match.structured"
_ASSOCIATIONS = "transform.num_associations"
_SEARCH = "transform.structured.match"

_POSITIONS = {"transform.get_operand": "operand", "transform.get_result": "result"}
_NUMBERS = {
    f"{STRUCTURED}.rank": ("rank", "number of loops"),
    f"{STRUCTURED}.num_inputs": ("operands", "number of inputs"),
    f"{STRUCTURED}.num_inits": ("operands", "number of inits"),
    f"{STRUCTURED}.elemental_bitwidth": ("element_type", "bit width of the element type"),
    _ASSOCIATIONS: ("structure", "number of ops"),
}
"""Ops that yield one number, and what that is a number of."""


def called(handle: ir.Value) -> str:
    """The name of a handle's op: `the producer of operand 0`."""
    owner = handle.owner
    if isinstance(owner, ir.Block):
        return "the op" if is_sequence(owner.owner.operation) else called(owner.owner.operation.operands[0])
    op = owner.operation
    if op.name == "transform.get_producer_of_operand":
        number = ir.IntegerAttr(op.attributes["operand_number"]).value
        return f"the producer of operand {number}{of(op.operands[0])}"
    if op.name == "transform.get_consumers_of_result":
        number = ir.IntegerAttr(op.attributes["result_number"]).value
        return f"the user of result {number}{of(op.operands[0])}"
    if op.name == "transform.get_parent_op":
        return f"the parent{of(op.operands[0])}"
    return f"what {op.name} finds"


def of(handle: ir.Value) -> str:
    """The same, to be put after something that belongs to the op; empty for the op that is visited."""
    name = called(handle)
    return "" if name == "the op" else f" of {name}"


def values_of(condition: Condition, handle: ir.Value, op: ir.Operation) -> list[tuple[str, ir.Value]]:
    """The values that a handle stands for when a condition is reached on an op, with their names."""
    owner = handle.owner
    if isinstance(owner, ir.Block):
        return []
    match = owner.operation
    if match.name == DAG:
        return _matched_by_dag(match, ops_of(condition, match.operands[0], op), ir.OpResult(handle))
    if match.name not in _POSITIONS:
        return []
    kind = _POSITIONS[match.name]
    found: list[tuple[str, ir.Value]] = []
    for each in ops_of(condition, match.operands[0], op):
        values = list(each.operands if kind == "operand" else each.results)
        positions = positions_in(match, "raw_position_list", len(values))
        found += [(f"{kind} {number}{of(match.operands[0])}", values[number]) for number in positions]
    return found


def positions_in(match: ir.Operation, name: str, count: int) -> list[int]:
    """Positions among `count` that an attribute lists: from the start or the end, all, or all but those."""
    if "is_all" in match.attributes:
        return list(range(count))
    listed = [each + count if each < 0 else each for each in ir.DenseI64ArrayAttr(match.attributes[name])]
    return (
        [each for each in range(count) if each not in listed] if "is_inverted" in match.attributes else listed
    )


def called_number(param: ir.Value) -> tuple[str, str]:
    """The kind of value in a parameter (`spec.difference`), and its name."""
    owner = param.owner
    if isinstance(owner, ir.Block):
        return "other", "number"
    op = owner.operation
    if op.name == STRUCTURED:
        end = list(op.regions[0].blocks[0])[-1].operation
        return called_number(end.operands[ir.OpResult(param).result_number])
    if op.name == f"{STRUCTURED}.dim":
        loops = list(ir.DenseI64ArrayAttr(op.attributes["raw_dim_list"]))
        return "size", f"size of loop {' '.join(map(str, loops))}"
    search = searched_by(param)
    if search is not None and names_searched(search):
        filtered = " with the matcher's attributes" if search.attributes.get("op_attrs", None) else ""
        return "body", f"number of {' and '.join(names_searched(search))}{of(search.operands[0])}{filtered}"
    return _NUMBERS.get(op.name, ("other", f"what {op.name} finds"))


def searched_by(param: ir.Value) -> ir.Operation | None:
    """The `transform.structured.match` whose ops a parameter is the number of; None for any other."""
    owner = param.owner
    if isinstance(owner, ir.Block) or owner.operation.name != _ASSOCIATIONS:
        return None
    search = owner.operation.operands[0].owner
    return None if isinstance(search, ir.Block) or search.operation.name != _SEARCH else search.operation


def names_searched(search: ir.Operation) -> list[str]:
    """Names of the ops that a `transform.structured.match` looks for; none where it looks for others."""
    names = search.attributes.get("ops", None)
    return [] if names is None else [ir.StringAttr(each).value for each in ir.ArrayAttr(names)]


def _matched_by_dag(
    match: ir.Operation, ops: Sequence[ir.Operation], result: ir.OpResult
) -> list[tuple[str, ir.Value]]:
    if result.result_number == 1:
        return [(f"result {number}", each) for op in ops for number, each in enumerate(op.results)]
    block = match.regions[0].blocks[0]
    found: list[tuple[str, ir.Value]] = []
    for op in ops:
        inputs: dict[ir.Value, ir.Value] = {}
        first_difference(compare_dags(last_of(match), op, inputs))
        known = [(number, each) for number, each in enumerate(block.arguments) if each in inputs]
        found += [(f"input {number}", inputs[each]) for number, each in known]
    return found


def last_of(match: ir.Operation) -> ir.Operation:
    """The op that a DAG in a matcher is compared from."""
    return list(match.regions[0].blocks[0])[-2].operation
