"""Turn the compiler's benchmark modules into harnesses. Runs in workers.

The pass `iree-hal-dump-executable-benchmarks` writes, for each dispatch with static sizes, a module that
repeats it `n` times on a buffer of its own. Here the buffer becomes an argument, so that the caller chooses
its contents and can read the results; the same code then times and checks. The buffer holds copies of all
bindings, and each run takes the next one: with more of them than a cache holds, every run finds its data in
memory, as in a program that does other things in between.

Most bindings of a program's dispatches are the one buffer of all its intermediate values. A dispatch uses
small parts of it, at offsets that its code knows. Other bindings lie in the parts that it does not use.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import arith, hal
from iree.compiler.passmanager import PassManager

from iree_tuner.compiler.context import defining_op, ops_in, symbol_of, walk
from iree_tuner.compiler.session import CompileError, CompilerSession, Diagnostic
from iree_tuner.compiler.unbound import hal_type, held_by
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.structure import fold, shape_of
from iree_tuner.program.bindings import Access, Binding, TensorSlice, stride_of
from iree_tuner.program.valid.demand import Uses
from iree_tuner.program.valid.known import Ranges

STRIDE = "iree_tuner.stride"
"""The attribute that marks, in a harness, the constant by which copies of the bindings lie apart."""

_FILE_NAME = re.compile(r"[\w.$-]{1,128}")

_SUBSPAN = "hal.interface.binding.subspan"
_PAGE = 4096
_WORTH_PACKING = 0.9  # of its size: what has no gaps stays as the compiler lays it out

_ACCESS: dict[str, Access] = {"readonly": "read", "writeonly": "write"}


@dataclass(frozen=True)
class RawHarness:
    """A harness as IR: one executable with one export, and what runs it; see `dispatch.Harness`."""

    module: ir.Module
    export: str
    function: str
    buffer_bytes: int
    bindings: tuple[Binding, ...]
    constants: tuple[int, ...] = ()  # what the dispatch is given besides its buffers: sizes, offsets
    unclear: tuple[str, ...] = ()


def dump_benchmarks(module: ir.Module, session: CompilerSession) -> list[ir.Module]:
    """Benchmark modules of a program at `executable-sources`, one for each executable with static sizes."""
    _name_as_files(module)
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        # IR as text: a pipeline of passes is text for the pass manager too
        run_passes(module, session, f"builtin.module(iree-hal-dump-executable-benchmarks{{path={folder}}})")
        return [session.parse(path.read_bytes(), path.name) for path in sorted(Path(folder).iterdir())]


def _name_as_files(module: ir.Module) -> None:
    """Rename executables whose names are not valid for files: `a/b`, or too long."""
    for number, op in enumerate(ops_in(module.body)):
        if op.name != "hal.executable" or _FILE_NAME.fullmatch(old := symbol_of(op)):
            continue
        new = f"executable_{number}"
        op.attributes["sym_name"] = ir.StringAttr.get(new, module.context)
        ir.SymbolTable.replace_all_symbol_uses(old, new, module.operation)


def run_passes(module: ir.Module, session: CompilerSession, pipeline: str) -> None:
    """Run a textual pass pipeline on a module, in place. Raises CompileError."""
    manager = PassManager.parse(pipeline, session.context)
    try:
        manager.run(module.operation)
    except ir.MLIRError as error:  # which does not pickle
        found = [Diagnostic("error", info.message) for info in error.error_diagnostics]
        raise CompileError(found, "preparing a dispatch failed") from None


def take_buffer(benchmark: ir.Module) -> list[RawHarness]:
    """Rewrite every benchmark function of a module; one harness for each export, the first of its sizes."""
    found: dict[str, RawHarness] = {}
    top, buffer = ops_in(benchmark.body), hal_type("buffer", benchmark.context)
    sizes = _buffer_sizes(top)
    for function in filter(is_benchmark, top if functions_in(benchmark) else ()):  # an object has none
        harness = _take_buffer(benchmark, function, sizes)
        found.setdefault(harness.export, harness)
    for op in top:
        if op.name == "util.initializer" or (
            op.name == "util.global" and ir.TypeAttr(op.attributes["type"]).value == buffer
        ):
            op.erase()
    return list(found.values())


def _take_buffer(module: ir.Module, function: ir.Operation, sizes: dict[str, int]) -> RawHarness:
    entry = function.regions[0].blocks[0]
    buffer_type = hal_type("buffer", module.context)
    integer = entry.arguments[0].type
    copies, first = (entry.add_argument(integer, function.location) for _ in range(2))
    argument = entry.add_argument(buffer_type, function.location)
    signature = ir.FunctionType.get([integer] * 3 + [buffer_type], [], module.context)
    function.attributes["function_type"] = ir.TypeAttr.get(signature)
    size = 0
    for load in [op for op in ops_in(entry) if op.name == "util.global.load"]:
        size = max(size, sizes[ir.FlatSymbolRefAttr(load.attributes["global"]).value])
        load.result.replace_all_uses_with(argument)
        load.erase()
    dispatch = find_dispatch(function)
    export = dispatched_export(dispatch)
    ranges = zip(dispatch.binding_offsets, dispatch.binding_lengths, strict=True)
    constants = [_constant(value) for value in dispatch.constants]
    body = find_function(module, export)
    spans = [_subspan(op, constants) for op in walk(body) if op.name == _SUBSPAN]
    takes_integers = any(ElementType.of(each.kind).is_integer for each in spans)
    uses = Uses(body, Ranges(constants=constants)) if takes_integers else None
    tensors = _tensors(spans, uses)
    bindings = tuple(
        Binding(_constant(offset), _constant(length), tensors.get(index, ()))
        for index, (offset, length) in enumerate(ranges)
    )
    packed = _packed(bindings, _used(spans))
    packed_size = max((each.offset + each.length for each in packed), default=0)
    if packed_size < _WORTH_PACKING * size:
        bindings, size = packed, packed_size
        _place(dispatch, bindings)
    _rotate(dispatch, copies, first, stride_of(size))
    unclear = uses.unclear if uses else ()
    return RawHarness(module, export, symbol_of(function), size, bindings, tuple(constants), unclear)


def _packed(bindings: Sequence[Binding], used: Mapping[int, tuple[int, int]]) -> tuple[Binding, ...]:
    """Bindings at offsets at which the used ranges do not overlap, and up to the ends of these.

    `used` is the first byte of a binding that is used and the one behind the last; bindings that are not
    listed are used as a whole.
    """
    ranges = [used.get(number, (0, each.length)) for number, each in enumerate(bindings)]
    packed, end = dict[int, Binding](), 0
    for number in sorted(range(len(bindings)), key=lambda number: ranges[number][0]):
        first, last = ranges[number]
        offset = -(-max(0, end - first) // _PAGE) * _PAGE
        packed[number] = Binding(offset, last, bindings[number].tensors)
        end = offset + last
    return tuple(packed[number] for number in range(len(bindings)))


def _place(dispatch: hal.CommandBufferDispatchOp, bindings: Sequence[Binding]) -> None:
    """Set the offsets of a dispatch's bindings."""
    with ir.InsertionPoint(dispatch), dispatch.location:
        index = ir.IndexType.get()
        places = [arith.constant(index, each.offset) for each in bindings]
        places += [arith.constant(index, each.length) for each in bindings]
    operands = dispatch.operation.operands
    for number, value in enumerate(places, len(operands) - len(places)):  # the last two groups of operands
        operands[number] = value


def _rotate(dispatch: hal.CommandBufferDispatchOp, copies: ir.Value, first: ir.Value, stride: int) -> None:
    """Make iteration i of the loop around a dispatch use copy `(first + i) mod copies` of its bindings."""
    loop = dispatch.operation.parent
    assert loop is not None
    assert loop.name == "scf.for", "benchmark functions repeat the dispatch in a loop"
    step = loop.regions[0].blocks[0].arguments[0]
    with ir.InsertionPoint(loop), dispatch.location:
        count, start = (arith.index_cast(ir.IndexType.get(), value) for value in (copies, first))
        stride_value = arith.constant(ir.IndexType.get(), stride)
        ir.OpResult(stride_value).owner.operation.attributes[STRIDE] = ir.UnitAttr.get()
    with ir.InsertionPoint(dispatch), dispatch.location:
        copy = arith.remui(arith.addi(start, step), count)
        base = arith.muli(copy, stride_value)
        offsets = [arith.addi(base, offset) for offset in dispatch.binding_offsets]
    operands = dispatch.operation.operands
    begin = len(operands) - len(dispatch.binding_lengths) - len(offsets)  # the last two groups of operands
    for index, offset in enumerate(offsets, begin):
        operands[index] = offset


def find_dispatch(function: ir.Operation) -> hal.CommandBufferDispatchOp:
    """The one dispatch of a benchmark function, or of a module that has only one."""
    (dispatch,) = (op.opview for op in walk(function) if op.name == "hal.command_buffer.dispatch")
    assert isinstance(dispatch, hal.CommandBufferDispatchOp)
    return dispatch


def dispatched_export(dispatch: hal.CommandBufferDispatchOp) -> str:
    """The name of the export that a dispatch of a benchmark runs."""
    lookup = defining_op(dispatch.entry_point)
    assert lookup is not None, "the entry point is looked up by an op"
    return ir.SymbolRefAttr(lookup.attributes["entry_point"]).value[-1]


def _buffer_sizes(top: Sequence[ir.Operation]) -> dict[str, int]:
    """Bytes of each buffer global of a module, from its initializer."""
    sizes: dict[str, int] = {}
    for op in top:
        allocated = 0
        for inner in ops_in(op.regions[0].blocks[0]) if op.name == "util.initializer" else ():
            if inner.name == "hal.allocator.allocate":
                allocated = _constant(list(inner.operands)[-1])
            elif inner.name == "util.global.store":
                sizes[ir.FlatSymbolRefAttr(inner.attributes["global"]).value] = allocated
    return sizes


def find_function(module: ir.Module, export: str) -> ir.Operation:
    """The function of the executable that implements an export."""
    return next(op for op in functions_in(module) if symbol_of(op) == export)


def functions_in(module: ir.Module) -> list[ir.Operation]:
    """The functions of all executables."""
    return [op for op in walk(module.operation) if op.name == "func.func"]


@dataclass(frozen=True)
class _Subspan:
    """A place in a binding where a dispatch finds something; no `tensor` if place or shape are not known."""

    value: ir.Value
    binding: int
    kind: ir.Type
    tensor: TensorSlice | None

    @property
    def bytes(self) -> tuple[int, int] | None:
        """The range of its bytes; None if they are not known, as for tensors that get a layout later."""
        if self.tensor is None or not isinstance(self.kind, ir.RankedTensorType | ir.MemRefType):
            return None
        if isinstance(self.kind, ir.RankedTensorType):
            plain = self.kind.encoding is None
        else:
            plain = self.kind.layout == ir.AffineMapAttr.get(ir.AffineMap.get_identity(self.kind.rank))
        element = ElementType.of(self.kind)
        if not plain or element.kind not in ("integer", "float", "complex"):
            return None
        size = math.prod(self.tensor.shape) * -(-element.bits // 8)
        return self.tensor.offset, self.tensor.offset + size


def _subspan(op: ir.Operation, constants: list[int]) -> _Subspan:
    view = op.opview
    assert isinstance(view, hal.InterfaceBindingSubspanOp)
    binding = ir.IntegerAttr(op.attributes["binding"]).value
    access, kind = held(op)
    offset = fold(view.byte_offset, constants) if view.byte_offset is not None else 0
    sizes = iter([fold(size, constants) for size in view.dynamic_dims])
    shape = [next(sizes) if size is None else size for size in shape_of(kind)]
    known = tuple(size for size in shape if size is not None)
    if offset is None or len(known) < len(shape):
        return _Subspan(op.result, binding, kind, None)
    element = kind.element_type if isinstance(kind, ir.ShapedType) else kind
    return _Subspan(op.result, binding, kind, TensorSlice(offset, known, str(element), access))


def _tensors(spans: Sequence[_Subspan], uses: Uses | None) -> dict[int, tuple[TensorSlice, ...]]:
    """The tensors in each binding, and the values that the dispatch's uses of them allow."""
    tensors: dict[int, tuple[TensorSlice, ...]] = {}
    for each in spans:
        if each.tensor is not None:
            found = replace(each.tensor, values=None if uses is None else uses.of(each.value))
            tensors[each.binding] = (*tensors.get(each.binding, ()), found)
    return tensors


def _used(spans: Sequence[_Subspan]) -> dict[int, tuple[int, int]]:
    """The range of each binding that a dispatch uses, in bytes, if all of its uses are known."""
    ranges: dict[int, list[tuple[int, int] | None]] = {}
    for each in spans:
        ranges.setdefault(each.binding, []).append(each.bytes)
    known = {binding: [each for each in found if each] for binding, found in ranges.items() if all(found)}
    return {binding: (min(found)[0], max(end for _, end in found)) for binding, found in known.items()}


def held(subspan: ir.Operation) -> tuple[Access, ir.Type]:
    """The use of a subspan in a dispatch, and the type of its contents."""
    mode, kind = held_by(subspan.result.type)
    access = _ACCESS.get(mode, "read_write")
    if not mode and "descriptor_flags" in subspan.attributes:
        # IR as text: no accessor that reads descriptor flags
        access = "read" if "ReadOnly" in str(subspan.attributes["descriptor_flags"]) else access
    return access, kind


def _constant(value: ir.Value) -> int:
    found = fold(value, [])
    assert found is not None, f"expected a constant, not {value}"
    return found


def is_benchmark(op: ir.Operation) -> bool:
    """Whether it is a function of the compiler's that repeats a dispatch."""
    if op.name != "util.func" or "iree.reflection" not in op.attributes:
        return False
    return "iree.benchmark" in ir.DictAttr(op.attributes["iree.reflection"])
