"""Move constants into the bodies that use them, so that the matcher finds the ops.

The matcher of cases (`transform.iree.match.cast_compatible_dag_from_root`) follows operands. In 3.13, it does
not follow values that only a body uses, and then never matches that body. For example, a gelu is not found,
because the compiler hoists its constants. A spec therefore first moves constants into bodies: it matches
scalar ops together with their constants, and replaces each by a function that contains the constants and is
inlined at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import util

from iree_tuner.ops.canonical import clone, strip_discardable


@dataclass(frozen=True)
class Scalar:
    """A scalar op with its operands: constants and other values.

    Attributes:
        op: the scalar op, in any module.
        constants: the ops that make its constant operands.
        others: the other operands, each once.
    """

    op: ir.Operation
    constants: tuple[ir.Operation, ...]
    others: tuple[ir.Value, ...]

    @property
    def key(self) -> str:
        """A key that is equal for ops that the same function replaces."""
        place = {value: str(number) for number, value in enumerate(self.others)}
        place |= {op.result: str(op.attributes["value"]) for op in self.constants}
        operands = [place[each] for each in self.op.operands]
        attributes = {name: str(self.op.attributes[name]) for name in self.op.attributes}
        return f"{self.op.name}({', '.join(operands)}) {attributes} : {self.op.result.type}"

    def copy_to(self, values: Mapping[ir.Value, ir.Value]) -> ir.Operation:
        """Copy the constants and the op to the current insertion point."""
        where = ir.InsertionPoint.current
        own = {op.result: clone(op, {}, where).result for op in self.constants}
        copy = clone(self.op, {**values, **own}, where)
        for op in (*(each.owner for each in own.values()), copy):
            strip_discardable(op.operation)
        return copy


def localize(block: ir.Block) -> list[Scalar]:
    """Copy constants into the bodies of a block's ops, and erase constants without uses.

    Returns:
        The scalar ops that use copied constants, each kind once.
    """
    ops = [each.operation for each in block.operations]
    constants = [each for each in ops if each.name == "arith.constant"]
    outside = {each.result: each for each in constants}
    found: dict[str, Scalar] = {}
    for scalar in [each for op in ops for each in _users(op, outside)]:
        found.setdefault(scalar.key, scalar)
        with ir.InsertionPoint(scalar.op):
            own = {op.result: clone(op, {}, ir.InsertionPoint.current).result for op in scalar.constants}
        for number, operand in enumerate(scalar.op.operands):
            scalar.op.operands[number] = own.get(operand, operand)
    for each in constants:
        if not list(each.result.uses):
            each.erase()
    return [_of(each.op) for each in found.values()]


def _users(op: ir.Operation, constants: Mapping[ir.Value, ir.Operation]) -> list[Scalar]:
    """The ops in an op's regions that use these constants, which are outside of the op."""
    found: list[Scalar] = []

    def look(inner: ir.Operation) -> ir.WalkResult:
        if inner != op and any(operand in constants for operand in inner.operands):
            found.append(_of(inner))
        return ir.WalkResult.ADVANCE

    if len(op.regions):
        op.walk(look)
    return found


def _of(op: ir.Operation) -> Scalar:
    producers = {
        value: value.owner.operation for value in op.operands if not isinstance(value.owner, ir.Block)
    }
    constants = {value: each for value, each in producers.items() if each.name == "arith.constant"}
    others = dict.fromkeys(value for value in op.operands if value not in constants)
    return Scalar(op, tuple(constants.values()), tuple(others))


def build_scalar_function(name: str, scalar: Scalar) -> None:
    """Build a function of a scalar op's other operands that contains its constants."""
    inputs = [each.type for each in scalar.others]
    kind = ir.FunctionType.get(inputs, [scalar.op.result.type])
    function = util.FuncOp(name, ir.TypeAttr.get(kind), sym_visibility="private")
    block = function.operation.regions[0].blocks.append(*inputs, arg_locs=_unknown(inputs))
    with ir.InsertionPoint(block):
        util.ReturnOp([scalar.copy_to(dict(zip(scalar.others, block.arguments, strict=True))).result])


def _unknown(types: Sequence[ir.Type]) -> list[ir.Location]:
    return [ir.Location.unknown()] * len(types)
