"""Functions that take the memory of their results and temporary values from their caller.

A compiled function allocates these in each call. The CUDA driver of runtime 3.13 then waits on the host for
the dispatches before it gives temporary memory back, so that no two calls are in flight at once
(docs/targets/cuda.md, Memory from the caller).
"""

from __future__ import annotations

from dataclasses import replace

from iree.compiler import ir
from iree.compiler.dialects import arith

from iree_tuner.compiler.context import new_context, ops_in, symbol_of, to_bytecode
from iree_tuner.compiler.session import parse_module
from iree_tuner.compiler.unbound import hal_type
from iree_tuner.errors import TunerError
from iree_tuner.program.entries import is_entry
from iree_tuner.program.source import Program
from iree_tuner.program.valid.bodies import constant, terminator

_OUTPUT, _TRANSIENTS = "iree.abi.output", "iree.abi.transients"  # attributes of arguments, IREE's ABI
_TYPE, _ATTRIBUTES = "function_type", "arg_attrs"
_LENGTH, _SIZE = "hal.buffer.length", "_transients_size"
"""An op, and the end of the names of functions that return how much memory is needed."""


def with_provided_memory(program: Program) -> Program:
    """The program with further arguments of each function: a tensor for each result, which is written to it,
    and a `!hal.buffer` for temporary values, whose size the function `NAME_transients_size` returns.

    Raises:
        CompileError: the program does not parse.
        TunerError: a function has a result that is not a tensor of known sizes.
    """
    module = parse_module(program.data, new_context(), program.name)
    with module.context, ir.Location.unknown():
        for op in filter(is_entry, ops_in(module.body)):
            _take_memory(op, program.name)
        return replace(program, data=to_bytecode(module))


def _take_memory(function: ir.Operation, program: str) -> None:
    kind = ir.FunctionType(ir.TypeAttr(function.attributes[_TYPE]).value)
    name = symbol_of(function)
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


def takes_memory(module: ir.Module) -> bool:
    """Whether a function of a program, before any phase, takes memory for temporary values."""
    return any(
        _TRANSIENTS in ir.DictAttr(own)
        for op in ops_in(module.body)
        if _ATTRIBUTES in op.attributes
        for own in ir.ArrayAttr(op.attributes[_ATTRIBUTES])
    )


def fix_sizes(module: ir.Module) -> None:
    """Let functions that take memory for temporary values use only the amount that they need.

    The module is after the phase `executable-sources`. With a constant size, the compiler makes one command
    buffer when the program is loaded, instead of a new one in each call, and the function refuses memory that
    is too small.
    """
    functions = {symbol_of(op): op for op in ops_in(module.body) if symbol_of(op)}
    with module.context, ir.Location.unknown():
        for name, function in functions.items():
            sizes = functions.get(f"{name}{_SIZE}")
            size = None if sizes is None else constant(terminator(sizes.regions[0]).operands[0])
            if size is None:
                continue
            # The memory is the last buffer among the arguments.
            arguments, kind = function.regions[0].blocks[0].arguments, hal_type("buffer")
            memory = [each for each in arguments if each.type == kind][-1]
            for use in [each for each in memory.uses if each.owner.operation.name == _LENGTH]:
                with ir.InsertionPoint(use.owner):
                    known = arith.constant(ir.IndexType.get(), size)
                use.owner.operation.results[0].replace_all_uses_with(known)
