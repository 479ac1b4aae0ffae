"""Functions that take the memory of their results and temporary values from their caller.

A compiled function allocates these in each call. The CUDA driver of runtime 3.13 then waits on the host for
the dispatches before it gives temporary memory back, so that no two calls are in flight at once
(docs/targets/cuda.md, Memory from the caller).
"""

from __future__ import annotations

from dataclasses import replace

from iree.compiler import ir

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.compiler.session import parse_module
from iree_tuner.compiler.unbound import hal_type
from iree_tuner.errors import TunerError
from iree_tuner.program.entries import is_entry
from iree_tuner.program.source import Program

_OUTPUT, _TRANSIENTS = "iree.abi.output", "iree.abi.transients"  # attributes of arguments, IREE's ABI
_TYPE, _ATTRIBUTES = "function_type", "arg_attrs"


def with_provided_memory(program: Program) -> Program:
    """The program with further arguments of each function: a tensor for each result, which is written to it,
    and a `!hal.buffer` for temporary values, whose size the function `NAME_transients_size` returns.

    Raises:
        CompileError: the program does not parse.
        TunerError: a function has a result that is no tensor of known sizes.
    """
    module = parse_module(program.data, new_context(), program.name)
    with module.context, ir.Location.unknown():
        for view in module.body.operations:
            if is_entry(view.operation):
                _take_memory(view.operation, program.name)
        return replace(program, data=to_bytecode(module))


def _take_memory(function: ir.Operation, program: str) -> None:
    kind = ir.FunctionType(ir.TypeAttr(function.attributes[_TYPE]).value)
    name = ir.StringAttr(function.attributes["sym_name"]).value
    for number, result in enumerate(kind.results):
        if not isinstance(result, ir.RankedTensorType) or not result.has_static_shape:
            message = f"memory cannot be provided for result {number} of @{name}"
            raise TunerError(message, location=program, hint="it must be a tensor of known sizes")
    own = list(ir.ArrayAttr(function.attributes[_ATTRIBUTES])) if _ATTRIBUTES in function.attributes else []
    attributes = own or [ir.DictAttr.get({}) for _ in kind.inputs]
    attributes += [
        ir.DictAttr.get({_OUTPUT: ir.IntegerAttr.get(ir.IndexType.get(), number)})
        for number in range(len(kind.results))
    ]
    attributes.append(ir.DictAttr.get({_TRANSIENTS: ir.UnitAttr.get()}))
    added = [*kind.results, hal_type("buffer")]
    for each in added:
        function.regions[0].blocks[0].add_argument(each, ir.Location.unknown())
    wider = ir.FunctionType.get([*kind.inputs, *added], kind.results)
    function.attributes[_TYPE] = ir.TypeAttr.get(wider)
    function.attributes[_ATTRIBUTES] = ir.ArrayAttr.get(attributes)
