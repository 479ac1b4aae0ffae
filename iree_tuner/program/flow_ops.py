"""Questions about ops and values of a module at phase `flow`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from iree.compiler import ir
from iree.compiler.dialects import arith, flow, hal, stream

from iree_tuner.compiler.context import defining_op, ops_in, symbol_of, walk
from iree_tuner.compiler.unbound import staging_resource
from iree_tuner.ops.element_type import ElementType
from iree_tuner.program.entries import FILLED, is_public

if TYPE_CHECKING:
    _Index = ir.Value[ir.IndexType]

# Functions that fill the memory which they allocate, before anything is computed: results must not depend on
# it.
#
# The memory that a program allocates for its results, and for values between its dispatches, has arbitrary
# contents. Here each such allocation is filled with a byte that the caller gives, in the place where it is
# used first.


_ALLOCATIONS = ("stream.resource.alloc", "stream.resource.alloca")
_EXECUTE = "stream.cmd.execute"
_DECLARED = "iree.reflection"


def add_filled(module: ir.Module) -> None:
    """Give each public function that allocates a twin that fills; in place, at the end of phase `stream`."""
    with module.context, ir.Location.unknown():
        for function in ops_in(module.body):
            if not is_public_function(function) or not _fresh(function):
                continue
            twin = function.clone(ir.InsertionPoint(module.body))
            twin.attributes["sym_name"] = ir.StringAttr.get(symbol_of(function) + FILLED)
            if _DECLARED in twin.attributes:  # what the function itself takes
                del twin.attributes[_DECLARED]
            take_byte(twin)
            fill(twin)


def take_byte(function: ir.Operation) -> None:
    """Add an argument to a function, the byte."""
    byte = ir.IntegerType.get_signless(32)
    function.regions[0].blocks[0].add_argument(byte, ir.Location.unknown())
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    wider = ir.FunctionType.get([*kind.inputs, byte], kind.results)
    function.attributes["function_type"] = ir.TypeAttr.get(wider)


def fill(function: ir.Operation) -> None:
    """Fill the memory that a function allocates, at phase `stream`, with its last argument."""
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
    """The first uses of memory: an execution, the numbers of its arguments, and their sizes in bytes.

    In loops an allocation may be used in the next iteration; only sizes of the same block are used. Memory
    for transfers cannot be filled: it holds copies that the host reads.
    """
    staging = staging_resource(function.context)
    seen = set[ir.Value]()
    found: list[tuple[ir.Operation, list[tuple[int, ir.Value]]]] = []
    for op in walk(function):
        if op.name != _EXECUTE:
            continue
        places: list[tuple[int, ir.Value]] = []
        arguments = op.regions[0].blocks[0].arguments
        for place, operand in enumerate(list(op.operands)[: len(arguments)]):
            owner = defining_op(operand, *_ALLOCATIONS)
            if owner is None or operand in seen or arguments[place].type == staging:
                continue
            seen.add(operand)
            if owner.block == op.block:
                places.append((place, owner.operands[0]))
        if places:
            found.append((op, places))
    return found


def is_public_function(op: ir.Operation) -> bool:
    """Whether an op is a function that a user can call."""
    return op.name == "util.func" and is_public(op)


DISPATCH, IMPORT, EXPORT = "flow.dispatch", "hal.tensor.import", "hal.tensor.export"
LOAD, STORE, CALL = "util.global.load", "util.global.store", "util.call"
DIM = "hal.buffer_view.dim"

_BARRIER = "hal.tensor.barrier"
_ROUNDING = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "math.")
_NARROW = ("bf16", "f16")
_BOOLEAN = ElementType.named("i1")
_PASSED = (32, 64)  # bits of the floats that functions of a VM module take and give
_EXPORT_DEPTH = 2


def dispatches(op: ir.Operation) -> Iterator[ir.Operation]:
    """The dispatches inside an op."""
    return (each for each in walk(op) if each.name == DISPATCH and each != op)


def export_of(dispatch: ir.Operation) -> str:
    """The name of a dispatch's export, of the first one if there are several."""
    (entry,) = list(ir.ArrayAttr(dispatch.attributes["entry_points"]))[:1]
    names = ir.SymbolRefAttr(entry).value
    return names[-1] if len(names) == _EXPORT_DEPTH else names[0]  # external code's own name is that of all


def executables_of(dispatch: ir.Operation) -> list[str]:
    """Its executables, one of which is chosen."""
    return [ir.SymbolRefAttr(entry).value[0] for entry in ir.ArrayAttr(dispatch.attributes["entry_points"])]


def global_of(op: ir.Operation) -> str:
    """The global that an op loads or stores."""
    return ir.FlatSymbolRefAttr(op.attributes["global"]).value


def callee_of(op: ir.Operation) -> str:
    """The function that an op calls."""
    return ir.FlatSymbolRefAttr(op.attributes["callee"]).value


def mutable_globals(module: ir.Module) -> dict[str, ir.Type]:
    """The globals that a program changes, and their types."""
    return {
        symbol_of(op): ir.TypeAttr(op.attributes["type"]).value
        for op in ops_in(module.body)
        if op.name == "util.global" and "is_mutable" in op.attributes
    }


def dims_of(value: ir.Value) -> list[ir.Value] | None:
    """The sizes of a tensor's dynamic dimensions; None if the module does not contain them."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType) or kind.has_static_shape:
        return []
    found = None if isinstance(value.owner, ir.Block) else _made_with(value)
    for use in value.uses if found is None else ():
        found = found or _read_with(use.owner.operation, value)
    return found


def _open(value: ir.Value) -> int:
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType):
        return 0
    return sum(kind.is_dynamic_dim(index) for index in range(kind.rank))


def _of(value: ir.Value, values: Sequence[ir.Value], dims: Sequence[ir.Value]) -> list[ir.Value]:
    """The sizes of one of several values, whose sizes follow one another."""
    before = list(values)[: list(values).index(value)]
    start = sum(map(_open, before))
    return list(dims)[start : start + _open(value)]


def _made_with(value: ir.Value) -> list[ir.Value] | None:
    owner = ir.OpResult(value).owner.operation
    view = owner.opview
    if isinstance(view, flow.DispatchOp):
        return _of(value, list(view.operation.results), list(view.result_dims))
    if isinstance(view, hal.TensorImportOp | flow.TensorUpdateOp):
        return list(view.target_dims)
    if isinstance(view, flow.TensorReshapeOp | flow.TensorSliceOp | flow.TensorSplatOp | flow.TensorEmptyOp):
        return list(view.result_dims)
    if owner.name == _BARRIER:
        return dims_of(owner.operands[ir.OpResult(value).result_number])
    return None


def _read_with(op: ir.Operation, value: ir.Value) -> list[ir.Value] | None:
    view = op.opview
    if isinstance(view, flow.DispatchOp):
        return _of(value, list(view.arguments), list(view.argument_dims))
    if isinstance(view, hal.TensorExportOp | flow.TensorReshapeOp | flow.TensorSliceOp | flow.TensorLoadOp):
        return list(view.source_dims)
    if isinstance(view, flow.TensorUpdateOp) and view.target == value:
        return list(view.target_dims)
    return None


def narrow(executable: ir.Operation) -> str:
    """The narrow float type that bodies compute in with more than one op, if any."""
    found = ""
    for op in walk(executable):
        if op.name.startswith("linalg.") and op.regions:
            kinds = [
                str(each.results[0].type)
                for each in ops_in(op.regions[0].blocks[0])
                if each.name.startswith(_ROUNDING)
            ]
            found = next((each for each in _NARROW if kinds.count(each) > 1), found)
    return found


def exported(value: ir.Value) -> ir.Value | None:
    """The tensor that a function returns as a buffer view, or the scalar that it returns; else None."""
    if is_scalar(value.type):
        return value
    export = defining_op(value, EXPORT)
    if export is None:
        return None
    source = export.operands[0]
    while (barrier := defining_op(source, _BARRIER)) is not None:
        source = barrier.operands[ir.OpResult(source).result_number]
    return source


def is_scalar(kind: ir.Type) -> bool:
    """Whether it is a type of numbers."""
    return isinstance(kind, ir.IntegerType | ir.FloatType | ir.IndexType)


def can_be_handed_over(kind: ir.Type) -> bool:
    """Whether a caller can take a value of a type and pass it on."""
    if is_scalar(kind):
        own = ElementType.of(kind)
        return not own.is_float or own.bits in _PASSED
    if not isinstance(kind, ir.RankedTensorType) or kind.encoding is not None:
        return False
    element = ElementType.of(kind)
    known = element.is_integer or element.is_float or element.kind == "complex"
    return element == _BOOLEAN or (known and element.bits > 0 and element.bits % 8 == 0)
