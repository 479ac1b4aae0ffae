"""Dispatches that the compiler has dumped, as programs that call them.

`iree-compile` writes dispatches to files (`--iree-hal-dump-executable-sources-to`, `-configurations-to` and
`-benchmarks-to`): an executable for one target, and in a benchmark also the code that repeats it on a buffer
of its own. Nothing in such a file can be called with tensors, and in all but the sources the compiler has
chosen a configuration already. Here the executable becomes a `stream.executable` without configuration, as it
was before it was made for a target, and a function of its name calls it with tensors: a program like any
other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, flow, func, stream, tensor, util

from iree_tuner.compiler.context import defining_op, new_context, ops_in, symbol_of, to_bytecode, walk
from iree_tuner.compiler.session import CUT, CompileError, parse_module
from iree_tuner.errors import TunerError
from iree_tuner.ops.structure import fold
from iree_tuner.program.dump_body import (
    CONFIGURED,
    DUMPED_FOR,
    DispatchSignature,
    Number,
    Tensor,
    index,
    lift_body,
)
from iree_tuner.program.harness import find_dispatch, is_benchmark

_CONFIGURATIONS = (
    "compilation_info", "decomposition_config", "lowering_config", "root_op", "translation_info",
)  # fmt: skip
_END = "hal.executable.variant_end"


@dataclass(frozen=True)
class _DumpedCall:
    """How a dispatch is called; `workload` and `constants` are None if the dump does not contain them."""

    executable: ir.Operation
    export: str
    workload: tuple[int, ...] | None = None
    constants: tuple[int, ...] | None = None


def lifted(data: bytes, name: str) -> bytes:
    """The program that calls the dumped dispatches, as bytecode; the data itself if it is not a dump.

    Raises TunerError if a dispatch cannot be called: the dump lacks sizes that it takes, or it works on
    buffers.
    """
    try:
        module = parse_module(data, new_context(), name)
    except CompileError:
        return data  # the compiler reports it
    try:
        calls = _calls(module)
        return to_bytecode(_program(calls, module.context)) if calls else data
    except TunerError as error:
        message = f"the dumped dispatch cannot be run: {error.message}"
        raise TunerError(message, location=name, hint=error.hint) from None


def _program(calls: Sequence[_DumpedCall], context: ir.Context) -> ir.Module:
    with context, ir.Location.unknown():
        program = ir.Module.create()
        program.operation.attributes[CUT] = ir.UnitAttr.get()
        for call in calls:
            _add(program, call)
        try:
            program.operation.verify()
        except ir.MLIRError as error:
            raise TunerError(error.message) from None
        return program


def _calls(module: ir.Module) -> list[_DumpedCall]:
    """The dispatches that a dump calls, or has; none if the module is something else."""
    ops = ops_in(module.body)
    if ops and all(op.name == "builtin.module" for op in ops):  # files, as written to standard output
        parts = [_calls_of(ops_in(op.regions[0].blocks[0])) for op in ops]
        return [call for part in parts for call in part] if all(parts) else []
    return _calls_of(ops)


def _calls_of(ops: Sequence[ir.Operation]) -> list[_DumpedCall]:
    executables: dict[str, ir.Operation] = {}
    benchmarks: list[ir.Operation] = []
    for op in ops:
        if op.name == "hal.executable":
            executables[symbol_of(op)] = op
        elif is_benchmark(op):
            benchmarks.append(op)
        elif op.name not in ("util.global", "util.initializer"):
            return []
    if not benchmarks:
        return [_DumpedCall(op, export) for op in executables.values() for export in _parts(op)[1]]
    found: dict[tuple[str, ...], _DumpedCall] = {}
    for function in benchmarks:
        try:
            dispatch = find_dispatch(function)
        except ValueError:
            raise TunerError(f"@{symbol_of(function)} does not call one dispatch") from None
        lookup, counted = defining_op(dispatch.entry_point), defining_op(dispatch.workgroup_x)
        if lookup is None or counted is None:
            raise TunerError(f"the file lacks the function that @{symbol_of(function)} calls")
        symbols = tuple(ir.SymbolRefAttr(lookup.attributes["entry_point"]).value)
        if symbols[0] not in executables:
            raise TunerError(f"the file lacks the executable @{symbols[0]}")
        workload = _known(list(counted.operands)[1:])  # behind the device
        # As for programs, of several sizes the first.
        found.setdefault(
            symbols,
            _DumpedCall(executables[symbols[0]], symbols[-1], workload, _known(list(dispatch.constants))),
        )
    return list(found.values())


def _known(values: Sequence[ir.Value]) -> tuple[int, ...] | None:
    found = [fold(value, None) for value in values]
    return None if None in found else tuple(each for each in found if each is not None)


def _add(program: ir.Module, call: _DumpedCall) -> None:
    """Add an executable and a function that calls it."""
    variant, exports, source = _parts(call.executable)
    attributes = program.operation.attributes
    if attributes.get(DUMPED_FOR, variant.attributes["target"]) != variant.attributes["target"]:
        raise TunerError("the dispatches are for several targets", hint="pass them one by one")
    attributes[DUMPED_FOR] = variant.attributes["target"]
    if call.export not in exports:
        raise TunerError(f"its executable does not export @{call.export}")
    name = _free(program, symbol_of(call.executable))
    with ir.InsertionPoint(program.body):
        block = stream.ExecutableOp(name, sym_visibility="private").body.blocks.append()
    with ir.InsertionPoint(block):
        count = _add_export(exports[call.export])
        copy = source.clone().operation
        stream.ExecutableEndOp()
    function = _only_function(copy, call.export)
    _strip(copy, function)
    signature = lift_body(function, call.constants)
    with ir.InsertionPoint(program.body):
        _add_caller(
            _free(program, call.export), ir.SymbolRefAttr.get([name, call.export]), signature, call, count
        )


def _parts(executable: ir.Operation) -> tuple[ir.Operation, dict[str, ir.Operation], ir.Operation]:
    """The variant of an executable, its exports, and the module with its functions."""
    held = ops_in(executable.regions[0].blocks[0])
    variants = [op for op in held if op.name == "hal.executable.variant"]
    if len(variants) != 1:
        raise TunerError(f"its executable has {len(variants)} variants", hint="dump it for one target")
    inside = ops_in(variants[0].regions[0].blocks[0])
    exports = {symbol_of(op): op for op in inside if op.name == "hal.executable.export"}
    modules = [op for op in inside if op.name == "builtin.module"]
    others = sorted({op.name for op in inside} - {"hal.executable.export", "builtin.module", _END})
    if others or not modules or "objects" in variants[0].attributes:
        raise TunerError(
            f"the file lacks a part of the dispatch: the executable also has {', '.join(others) or 'objects'}"
        )
    return variants[0], exports, modules[0]


def _only_function(module: ir.Operation, name: str) -> ir.Operation:
    """A function of an executable; its configuration and functions of other exports are erased."""
    found: ir.Operation | None = None
    for op in ops_in(module.regions[0].blocks[0]):
        if op.name == "func.func" and symbol_of(op) == name:
            found = op
        elif op.name == "iree_codegen.dispatch_config" or (op.name == "func.func" and op.regions[0].blocks):
            op.erase()
    if found is None:
        raise TunerError("its function is already compiled: it is not a func.func")
    return found


def _strip(module: ir.Operation, function: ir.Operation) -> None:
    """Take the configuration out, with constraints on it, and mark a function that had one."""
    for op in [each for each in walk(module) if each.name == "iree_codegen.smt.constraints"]:
        op.erase()
    configured = False
    for op in walk(module):
        present = [name for name in _CONFIGURATIONS if name in op.attributes]
        for name in present:
            del op.attributes[name]
        configured |= bool(present) or op.name == "iree_codegen.load_from_buffer"
    if configured:
        function.attributes[CONFIGURED] = ir.UnitAttr.get()


def _add_export(export: ir.Operation) -> int:
    """Add an export with the same number of workgroups; returns the number of values it is computed from."""
    blocks = list(export.regions[0].blocks)
    if len(blocks) != 1:
        raise TunerError("the file lacks its number of workgroups")
    (block,) = blocks
    device = block.arguments[0]
    if list(device.uses):
        raise TunerError("its number of workgroups depends on the device")
    name = symbol_of(export)
    block.append_to(stream.ExecutableExportOp(name, name).workgroup_count)
    block.erase_argument(0)
    end = ops_in(block)[-1]
    with ir.InsertionPoint(end):
        stream.ReturnOp(list(end.operands))
    end.erase()
    return len(block.arguments)


def _add_caller(
    name: str, entry: ir.SymbolRefAttr, signature: DispatchSignature, call: _DumpedCall, workload_count: int
) -> None:
    """Add the function that calls a dispatch. Raises TunerError if the dump lacks a size."""
    tensors, numbers = signature.tensors, signature.numbers
    read = [place for place, each in enumerate(tensors) if each.read]
    written = [place for place, each in enumerate(tensors) if each.written]
    open_types = [each.type for each in numbers if _is_open(each)]
    results = [tensors[place].type for place in written]
    function = func.FuncOp(name, ([*(tensors[place].type for place in read), *open_types], results))
    block = function.add_entry_block()
    given, scalars = list(block.arguments)[: len(read)], iter(list(block.arguments)[len(read) :])
    with ir.InsertionPoint(block):
        values: list[ir.Value[Any]] = [
            next(scalars) if _is_open(each) else _value(each, given) for each in numbers
        ]
        pairs = list(zip(numbers, values, strict=True))
        sizes = {place: value for each, value in pairs for place in each.size_of}
        workload = {place: value for each, value in pairs for place in each.workload}
        if call.workload is not None:
            workload = {place: index(size) for place, size in enumerate(call.workload)}
        if len(workload) < workload_count:
            raise _unknown()
        tied = [
            ir.IntegerAttr.get(ir.IndexType.get(), place if tensors[place].read else -1) for place in written
        ]
        dispatch = flow.DispatchOp(
            results, [workload[place] for place in range(workload_count)], ir.ArrayAttr.get([entry]),
            [*given, *values], _dims(tensors, read, sizes), _dims(tensors, written, sizes),
            tied_operands=ir.ArrayAttr.get(tied),
        )  # fmt: skip
        func.ReturnOp(dispatch.operation.results)


def _is_open(number: Number) -> bool:
    """Whether the caller of the program chooses it, such as a factor; sizes follow from tensors."""
    return number.bits is None and not isinstance(number.type, ir.IndexType)


def _value(number: Number, given: Sequence[ir.Value]) -> ir.Value:
    """The argument that a dispatch gets for a number. Raises TunerError if it is not known."""
    of_inputs = [place for place in number.size_of if place[0] < len(given)]
    if number.bits is None:
        if not of_inputs:
            raise _unknown()
        tensor_number, dimension = of_inputs[0]
        return tensor.dim(given[tensor_number], index(dimension))
    if isinstance(number.type, ir.FloatType):
        bits = arith.constant(ir.IntegerType.get_signless(number.type.width), number.bits)
        value = arith.bitcast(number.type, bits)
    else:
        value = arith.constant(number.type, number.bits)
    hidden = util.optimization_barrier([number.type], [value])
    assert isinstance(hidden, ir.OpResult), "of one value"
    return hidden


def _dims(
    tensors: Sequence[Tensor], places: Sequence[int], sizes: Mapping[tuple[int, int], ir.Value[Any]]
) -> list[ir.Value[Any]]:
    """The sizes of some of the tensors that their types leave open, in order."""
    return [
        sizes[place, dimension]
        for place in places
        for dimension in range(tensors[place].type.rank)
        if tensors[place].type.is_dynamic_dim(dimension)
    ]


def _unknown() -> TunerError:
    return TunerError("the file lacks sizes that the dispatch takes", hint="tune the whole program instead")


def _free(program: ir.Module, name: str) -> str:
    """A symbol that is not taken: a dispatch may have the name of its executable."""
    taken = set(map(symbol_of, ops_in(program.body)))
    while name in taken:
        name += "_"
    return name
