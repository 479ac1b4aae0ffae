"""An operation as a module with one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iree.compiler import ir
from iree.compiler.dialects import func

from iree_tuner.compiler.context import new_context
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.tensors import tensor_type

FUNCTION = "main"


def module_of(operation: Operation, context: ir.Context | None = None) -> ir.Module:
    """`main`, of the inputs as they lie in memory, verified; in a context of its own by default."""
    return _module({FUNCTION: operation}, context)


def module_of_all(operations: Sequence[Operation], context: ir.Context | None = None) -> ir.Module:
    """The same with a function for each of several operations, of its name."""
    return _module({each.name: each for each in operations}, context)


def _module(operations: Mapping[str, Operation], context: ir.Context | None) -> ir.Module:
    with context or new_context(), ir.Location.unknown():
        module = ir.Module.create()
        for name, operation in operations.items():
            taken = [tensor_type(each) for each in operation.inputs]
            with ir.InsertionPoint(module.body):
                function = func.FuncOp(name, ir.FunctionType.get(taken, [tensor_type(operation.result)]))
            with ir.InsertionPoint(function.add_entry_block()):
                func.ReturnOp([operation.build(list(function.arguments))])
        module.operation.verify()
        return module
