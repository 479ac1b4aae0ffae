"""Functions that fill the memory which they allocate, before anything is computed: results must not depend on
it.

The memory that a program allocates for its results, and for values between its dispatches, has arbitrary
contents. Here each such allocation is filled with a byte that the caller gives, in the place where it is used
first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from iree.compiler import ir
from iree.compiler.dialects import arith, stream

from iree_tuner.compiler.unbound import staging_resource
from iree_tuner.program.entries import FILLED

if TYPE_CHECKING:
    _Index = ir.Value[ir.IndexType]

_ALLOCATIONS = ("stream.resource.alloc", "stream.resource.alloca")
_EXECUTE = "stream.cmd.execute"
_NOT_THE_TWINS = ("iree.reflection",)  # it declares what the function itself takes


def add_filled(module: ir.Module) -> None:
    """Give each public function that allocates a twin that fills.

    Args:
        module: at the end of phase `stream`; changed in place.
    """
    with module.context, ir.Location.unknown():
        for view in list(module.body.operations):
            function = view.operation
            if not is_public_function(function) or not _fresh(function):
                continue
            twin = function.clone(ir.InsertionPoint(module.body))
            twin.attributes["sym_name"] = ir.StringAttr.get(symbol_of(function) + FILLED)
            for name in _NOT_THE_TWINS:
                if name in twin.attributes:
                    del twin.attributes[name]
            take_byte(twin)
            fill(twin)


def take_byte(function: ir.Operation) -> None:
    """Let a function take one more argument, the byte."""
    byte = ir.IntegerType.get_signless(32)
    function.regions[0].blocks[0].add_argument(byte, ir.Location.unknown())
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    wider = ir.FunctionType.get([*kind.inputs, byte], kind.results)
    function.attributes["function_type"] = ir.TypeAttr.get(wider)


def fill(function: ir.Operation) -> None:
    """Fill what a function allocates, at phase `stream`, with its last argument."""
    block = function.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block):
        last = block.arguments[len(block.arguments) - 1]
        byte = arith.trunci(ir.IntegerType.get_signless(8), last)
        zero = arith.constant(ir.IndexType.get(), 0)
    for execute, places in _fresh(function):
        inside = execute.regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(inside):
            for argument, size in ((inside.arguments[place], size) for place, size in places):
                length, start = cast("_Index", size), cast("_Index", zero)
                stream.CmdFillOp(argument, length, start, length, byte)


def _fresh(function: ir.Operation) -> list[tuple[ir.Operation, list[tuple[int, ir.Value]]]]:
    """Where memory is used first: an execution, the numbers of its arguments, and their sizes in bytes.

    In loops an allocation may be used in the next iteration; only sizes of the same block are used. Memory
    for transfers cannot be filled: what is read from it was copied there.
    """
    staging = staging_resource(function.context)
    seen = set[ir.Value]()
    found: list[tuple[ir.Operation, list[tuple[int, ir.Value]]]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name != _EXECUTE:
            return ir.WalkResult.ADVANCE
        places: list[tuple[int, ir.Value]] = []
        arguments = op.regions[0].blocks[0].arguments
        for place, operand in enumerate(list(op.operands)[: len(arguments)]):
            if isinstance(operand.owner, ir.Block) or operand in seen or arguments[place].type == staging:
                continue
            seen.add(operand)
            owner = operand.owner.operation
            if owner.name in _ALLOCATIONS and owner.block == op.block:
                places.append((place, owner.operands[0]))
        if places:
            found.append((op, places))
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return found


def is_public_function(op: ir.Operation) -> bool:
    """Whether an op is a function that a user can call."""
    if op.name != "util.func":
        return False
    visibility = "sym_visibility"
    return visibility not in op.attributes or ir.StringAttr(op.attributes[visibility]).value == "public"


def symbol_of(op: ir.Operation) -> str:
    """An op's symbol."""
    return ir.StringAttr(op.attributes["sym_name"]).value
