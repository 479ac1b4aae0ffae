"""An operation as a module with one function."""

from __future__ import annotations

from iree.compiler import ir
from iree.compiler.dialects import func

from iree_tuner.compiler.context import new_context
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.tensors import tensor_type

FUNCTION = "main"


def module_of(operation: Operation, context: ir.Context | None = None) -> ir.Module:
    """`main`, of the inputs as they lie in memory, verified; in a context of its own by default."""
    with context or new_context(), ir.Location.unknown():
        module = ir.Module.create()
        taken = [tensor_type(each) for each in operation.inputs]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp(FUNCTION, ir.FunctionType.get(taken, [tensor_type(operation.result)]))
        with ir.InsertionPoint(function.add_entry_block()):
            func.ReturnOp([operation.build(list(function.arguments))])
        module.operation.verify()
        return module
