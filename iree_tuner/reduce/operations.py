"""Edits that take ops out of bodies, with something of the same type instead of their results.

In each list users come before what they use, so that a chain of ops goes in one candidate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from iree.compiler import ir

from iree_tuner.compiler.context import walk
from iree_tuner.reduce.function import Function, functions
from iree_tuner.reduce.size import STAND_INS
from iree_tuner.reduce.symbols import Edit
from iree_tuner.spec.grammar import symbol_name

Make = Callable[[], ir.Value]

_MODULE = "builtin.module"


def unused(module: ir.Module) -> list[Edit]:
    """Erase ops whose results nothing uses, those with effects as well."""
    return [partial(_erase, op) for op in _ops(module)]


def returned_operands(module: ir.Module) -> list[Edit]:
    """Return the operands of an op instead of its results, so that the op can go."""
    return [
        partial(_return_operands, op, function)
        for op, function in _with_function(module)
        if op.parent == function.op and len(function.blocks) == 1
    ]


def by_operand(module: ir.Module) -> list[Edit]:
    """Use an operand of the same type instead of a result."""

    def stand_in(op: ir.Operation, result: ir.Value) -> Make | None:
        fitting = [each for each in op.operands if each.type == result.type and each.owner != op]
        return partial(fitting.__getitem__, 0) if fitting else None

    return [partial(_replace, op, stand_in) for op in _ops(module)]


def by_argument(module: ir.Module) -> list[Edit]:
    """Use a new argument of the function instead of a result."""

    def edit(op: ir.Operation, function: Function) -> None:
        if function.is_free:
            _replace(op, lambda _, result: partial(function.add_argument, result.type))

    return [partial(edit, op, function) for op, function in _with_function(module)]


def by_empty(module: ir.Module) -> list[Edit]:
    """Use a `tensor.empty` instead of a result."""
    return [partial(_replace, op, _empty) for op in _ops(module) if op.name not in STAND_INS]


def by_constant(module: ir.Module) -> list[Edit]:
    """Use a constant zero instead of a result."""
    return [partial(_replace, op, _zero) for op in _ops(module) if op.name not in STAND_INS]


def _ops(module: ir.Module) -> list[ir.Operation]:
    """The ops in bodies that end no block, the last first."""
    found = [
        op
        for op in walk(module.operation)
        if (parent := op.parent) is not None
        and parent.name != _MODULE
        and not symbol_name(op)
        and not op.has_trait(ir.IsTerminatorTrait)
    ]
    return found[::-1]


def _with_function(module: ir.Module) -> list[tuple[ir.Operation, Function]]:
    """Those ops that are in a function with a body of its own, each with the function."""
    known = {function.op: function for function in functions(module)}

    def enclosing(op: ir.Operation) -> Function | None:
        parent = op.parent
        while parent is not None and parent.operation not in known:
            parent = parent.operation.parent
        return None if parent is None else known[parent.operation]

    found = [(op, enclosing(op)) for op in _ops(module)]
    return [(op, function) for op, function in found if function is not None]


def _erase(op: ir.Operation) -> None:
    if not any(any(result.uses) for result in op.results):
        op.erase()


def _replace(op: ir.Operation, stand_in: Callable[[ir.Operation, ir.Value], Make | None]) -> None:
    """Erase an op where each of its results has a stand-in or is not used."""
    used = [result for result in op.results if any(result.uses)]
    makes = [stand_in(op, result) for result in used]
    if any(make is None for make in makes):
        return
    for result, make in zip(used, makes, strict=True):
        if make is not None:
            result.replace_all_uses_with(make())
    op.erase()


def _return_operands(op: ir.Operation, function: Function) -> None:
    """Have a function return an op's operands instead of its results, if only the return uses the results."""
    if not function.is_free or len(function.returns) != 1:
        return
    users = [use.owner for result in op.results for use in result.uses]
    if not users or any(user != function.returns[0] for user in users):
        return
    kept = [value for value in function.returns[0].operands if value.owner != op]
    instead = [each for each in op.operands if _is_data(each) and all(use.owner == op for use in each.uses)]
    if kept or instead:
        function.return_instead([*kept, *dict.fromkeys(instead)])
        op.erase()


def _is_data(value: ir.Value) -> bool:
    """Whether a value is an op's and data of the program: not a size, an offset or a scalar."""
    return isinstance(value, ir.OpResult) and not isinstance(
        value.type, ir.IndexType | ir.IntegerType | ir.FloatType
    )


def _empty(op: ir.Operation, result: ir.Value) -> Make | None:
    kind = result.type
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return None
    return partial(_made, "tensor.empty", kind, {}, op)


def _zero(op: ir.Operation, result: ir.Value) -> Make | None:
    value = _zero_of(result.type)
    return None if value is None else partial(_made, "arith.constant", result.type, {"value": value}, op)


def _made(name: str, kind: ir.Type, attributes: dict[str, ir.Attribute], before: ir.Operation) -> ir.Value:
    where = ir.InsertionPoint(before)
    return ir.Operation.create(name, results=[kind], attributes=attributes, ip=where).results[0]


def _zero_of(kind: ir.Type) -> ir.Attribute | None:
    """The attribute of a constant zero; None for types that `arith.constant` does not make."""
    if isinstance(kind, ir.IndexType) or (isinstance(kind, ir.IntegerType) and kind.is_signless):
        return ir.IntegerAttr.get(kind, 0)
    if isinstance(kind, ir.FloatType):
        return ir.FloatAttr.get(kind, 0.0)
    if isinstance(kind, ir.RankedTensorType | ir.VectorType) and kind.has_static_shape:
        element = _zero_of(kind.element_type)
        return None if element is None else ir.DenseElementsAttr.get_splat(kind, element)
    return None
