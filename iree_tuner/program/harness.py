"""Turn the compiler's benchmark modules into harnesses. Runs in workers.

The pass `iree-hal-dump-executable-benchmarks` writes, for each dispatch with static sizes, a module
that repeats it `n` times on a buffer of its own. Here the buffer becomes an argument, so that the
caller chooses what is in it and can read the results; the same code then times and checks.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import hal, util
from iree.compiler.passmanager import PassManager

from iree_tuner.compiler.session import CompilerSession
from iree_tuner.program.dispatch import Access, Binding, TensorSlice


@dataclass(frozen=True)
class RawHarness:
    """A harness as IR: one executable with one export that runs through `function(n, buffer)`."""

    module: ir.Module
    export: str
    function: str
    buffer_bytes: int
    bindings: tuple[Binding, ...]


def dump_benchmarks(module: ir.Module, session: CompilerSession) -> list[ir.Module]:
    """Benchmark modules of a program at `executable-sources`, one for each executable with static sizes."""
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        run_passes(module, session, f"builtin.module(iree-hal-dump-executable-benchmarks{{path={folder}}})")
        return [session.parse(path.read_bytes(), path.name) for path in sorted(Path(folder).iterdir())]


def run_passes(module: ir.Module, session: CompilerSession, pipeline: str) -> None:
    """Run a textual pass pipeline on a module, in place."""
    PassManager.parse(pipeline, session.context).run(module.operation)


def take_buffer(benchmark: ir.Module) -> list[RawHarness]:
    """Rewrite every benchmark function of a module; one harness for each export, the first of its sizes."""
    found: dict[str, RawHarness] = {}
    functions = [op for op in benchmark.body.operations if _is_benchmark(op.operation)]
    sizes = _buffer_sizes(benchmark)
    for function in functions:
        harness = _take_buffer(benchmark, function.operation, sizes)
        found.setdefault(harness.export, harness)
    for op in list(benchmark.body.operations):
        if isinstance(op, util.InitializerOp) or (isinstance(op, util.GlobalOp) and _is_buffer(op)):
            op.erase()
    return list(found.values())


def _take_buffer(module: ir.Module, function: ir.Operation, sizes: dict[str, int]) -> RawHarness:
    entry = function.regions[0].blocks[0]
    buffer_type = ir.Type.parse("!hal.buffer", module.context)
    integer = entry.arguments[0].type
    argument = entry.add_argument(buffer_type, function.location)
    signature = ir.FunctionType.get([integer, buffer_type], [], module.context)
    function.attributes["function_type"] = ir.TypeAttr.get(signature)
    loads = [op for op in entry.operations if op.operation.name == "util.global.load"]
    size = 0
    for load in loads:
        size = max(size, sizes[ir.FlatSymbolRefAttr(load.operation.attributes["global"]).value])
        load.operation.result.replace_all_uses_with(argument)
        load.operation.erase()
    dispatch = _find_dispatch(function)
    lookup = dispatch.entry_point.owner
    export = ir.SymbolRefAttr(lookup.attributes["entry_point"]).value
    ranges = zip(dispatch.binding_offsets, dispatch.binding_lengths, strict=True)
    tensors = _tensors(module, export[0], export[-1])
    bindings = tuple(
        Binding(_constant(offset), _constant(length), tensors.get(index, ()))
        for index, (offset, length) in enumerate(ranges)
    )
    return RawHarness(module, export[-1], _symbol(function), size, bindings)


def _find_dispatch(function: ir.Operation) -> hal.CommandBufferDispatchOp:
    found: list[ir.OpView] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "hal.command_buffer.dispatch":
            found.append(op.opview)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    (dispatch,) = found
    assert isinstance(dispatch, hal.CommandBufferDispatchOp)
    return dispatch


def _buffer_sizes(module: ir.Module) -> dict[str, int]:
    """Bytes of each buffer global, from its initializer."""
    sizes: dict[str, int] = {}
    for op in module.body.operations:
        if not isinstance(op, util.InitializerOp):
            continue
        allocated = 0
        for inner in op.operation.regions[0].blocks[0].operations:
            if inner.operation.name == "hal.allocator.allocate":
                operands = inner.operation.operands
                allocated = _constant(operands[len(operands) - 1])
            elif inner.operation.name == "util.global.store":
                sizes[ir.FlatSymbolRefAttr(inner.operation.attributes["global"]).value] = allocated
    return sizes


def find_function(module: ir.Module, export: str) -> ir.Operation:
    """The function of the executable that implements an export."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.func" and _symbol(op) == export:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found[0]


def _tensors(module: ir.Module, executable: str, export: str) -> dict[int, tuple[TensorSlice, ...]]:
    """The tensors in each binding, from the dispatch function's subspans."""
    del executable
    tensors: dict[int, list[TensorSlice]] = {}
    for op in find_function(module, export).regions[0].blocks[0].operations:
        if op.operation.name == "hal.interface.binding.subspan":
            binding = ir.IntegerAttr(op.operation.attributes["binding"]).value
            found = _tensor(op.operation)
            if found is not None:
                tensors.setdefault(binding, []).append(found)
    return {binding: tuple(found) for binding, found in tensors.items()}


def _tensor(subspan: ir.Operation) -> TensorSlice | None:
    """Read `!iree_tensor_ext.dispatch.tensor<readonly:tensor<..>>` or a memref; neither has a full binding."""
    text = str(subspan.result.type)
    offset = subspan.operands[0] if len(subspan.operands) else None
    start = 0 if offset is None else _constant_or_none(offset)
    if start is None:
        return None
    access: Access = "read_write"
    inner = text
    if "dispatch.tensor<" in text:
        mode, _, rest = text.partition("dispatch.tensor<")[2].partition(":")
        access = {"readonly": "read", "writeonly": "write"}.get(mode, "read_write")  # pyright: ignore
        inner = rest.removesuffix(">")
    elif "ReadOnly" in str(subspan.attributes["descriptor_flags"] if "descriptor_flags" in subspan.attributes else ""):
        access = "read"
    parsed = ir.Type.parse(inner, subspan.context)
    if not isinstance(parsed, ir.RankedTensorType | ir.MemRefType):
        return TensorSlice(start, (), str(parsed), access)
    if not parsed.has_static_shape:
        return None
    return TensorSlice(start, tuple(parsed.shape), str(parsed.element_type), access)


def _constant(value: ir.Value) -> int:
    found = _constant_or_none(value)
    assert found is not None, f"expected a constant, not {value}"
    return found


def _constant_or_none(value: ir.Value) -> int | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    return ir.IntegerAttr(owner.attributes["value"]).value


def _is_benchmark(op: ir.Operation) -> bool:
    return op.name == "util.func" and "iree.reflection" in op.attributes


def _is_buffer(op: util.GlobalOp) -> bool:
    return str(ir.TypeAttr(op.attributes["type"]).value) == "!hal.buffer"


def _symbol(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value
