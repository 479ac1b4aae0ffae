"""Replace a dispatch's executable by a kernel, so that it is timed and checked like a configuration."""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, hal

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.session import CompileError, CompilerSession
from iree_tuner.compiler.worker import session_for
from iree_tuner.kernels.executable import export_of, fill_variant, object_of, packed_ports, ports_of
from iree_tuner.kernels.kernel import Code, KernelError, Packed, Problem
from iree_tuner.measure.candidate import Built
from iree_tuner.program.bindings import Binding, Harness, TensorSlice, stride_of
from iree_tuner.program.extract import Extraction, extract_here
from iree_tuner.program.harness import STRIDE, find_dispatch
from iree_tuner.program.phases import select_target
from iree_tuner.targets import Target

_PAGE = 4096


def with_scratch(harness: Harness, size: int, flags: tuple[str, ...]) -> Harness:
    """Add `size` bytes of scratch memory behind the bindings of a harness; its dispatch stays as it is.

    All compared candidates need the same harness, also the ones without scratch memory. Runs in workers.
    """
    session = session_for(flags)
    offset = -(-harness.buffer_bytes // _PAGE) * _PAGE
    with session.context, ir.Location.unknown():
        module = session.parse(harness.module)
        constant = _marked(module).opview
        assert isinstance(constant, arith.ConstantOp)
        constant.operation.attributes["value"] = ir.IntegerAttr.get(
            ir.IndexType.get(), stride_of(offset + size)
        )
        data = to_bytecode(module)
    room = Binding(offset, size, ())
    return replace(harness, module=data, buffer_bytes=offset + size, bindings=(*harness.bindings, room))


def extract_alone_here(case: bytes, name: str, target: Target) -> Extraction:
    """Extract the dispatches of a problem alone, a single one with each input's binding. Runs in workers.

    The compiler orders bindings as the ops that it fuses use them: a residual that is the left operand of its
    addition comes before a bias.
    """
    found = extract_here(case, name, target)
    if len(found.dispatches) != 1 or (harness := found.dispatches[0].harness) is None:
        return found
    read = _arguments_read(case, name, target)
    inputs = tuple(read.index(each) for each in range(len(read)) if each in read)
    if len(inputs) < len(read) or inputs == tuple(range(len(read))):
        return found
    (dispatch,) = found.dispatches
    return replace(found, dispatches=(replace(dispatch, harness=replace(harness, inputs=inputs)),))


def _arguments_read(case: bytes, name: str, target: Target) -> list[int | None]:
    """For each operand of the only dispatch, the function's argument behind it; None if it is none."""
    session = session_for(target.flags)
    found: list[int | None] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "flow.dispatch":
            found.extend(_argument_behind(each) for each in op.operands)
        return ir.WalkResult.ADVANCE

    with session.context, ir.Location.unknown():
        module = session.parse(case, name)
        select_target(module, target)
        session.run(module, stop="flow")
        module.operation.walk(visit)
    return found


def _argument_behind(value: ir.Value) -> int | None:
    """The number of the function's argument behind a tensor, which may be reshaped; None if it is none."""
    while isinstance(value.owner, (ir.OpView, ir.Operation)) and len(value.owner.operands) == 1:
        value = value.owner.operands[0]
    return ir.BlockArgument(value).arg_number if isinstance(value.owner, ir.Block) else None


def why_unfit(harness: Harness, problem: Problem) -> str:
    """Why a dispatch's bindings are not the inputs and the result of the problem; empty if they are.

    The compiler may have dropped dimensions of size 1 and joined others, which moves nothing in memory.
    """
    reads = [(math.prod(each.shape), each.element_type, "read") for each in problem.inputs]
    expected = [*reads, (math.prod(problem.result.shape), problem.result.element_type, "write")]
    found = [_size(each.tensors[0]) for each in harness.bindings if len(each.tensors) == 1]
    if len(found) < len(harness.bindings) or [found[each] for each in _order(harness)] != expected:
        return "the compiler's dispatch has other inputs or results than the problem"
    return ""


def _order(harness: Harness) -> list[int]:
    """The bindings in the order of the problem's inputs, then the other bindings."""
    return [*harness.inputs, *range(len(harness.inputs), len(harness.bindings))]


def _size(tensor: TensorSlice) -> tuple[int, str, str]:
    """A binding's number of elements, element type and access; `write` also for results that are read."""
    access = "read" if tensor.access == "read" else "write"
    return math.prod(tensor.shape), tensor.element_type, access


def build_kernel_here(
    harness: Harness, flags: tuple[str, ...], problem: Problem, code: Code, packed: Packed | None = None
) -> Built:
    """Compile a harness whose executable is replaced by a kernel's code. Runs in workers.

    Args:
        harness: of a dispatch that passes `why_unfit`; with scratch memory if the code needs it.
        flags: the target's flags.
        problem: the computation of the dispatch.
        code: the kernel's code for that problem.
        packed: the input that the code reads packed, for timing only: nothing packs it, so results are wrong.
    """
    start = time.perf_counter()
    session = session_for(flags)
    try:
        with session.context, ir.Location.unknown(), tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kernel.o"
            path.write_bytes(code.data)
            module = substituted(harness, session, problem, code, str(path), packed)
            built = Built("ok", session.to_vmfb(module, start="executable-sources"))
    except (CompileError, KernelError) as error:
        built = Built("compile_error", message=str(error))
    return replace(built, seconds=time.perf_counter() - start)


def has_room(harness: Harness, packed: Packed) -> bool:
    """Whether the zeros that packing adds to an input lie within the harness's memory."""
    binding = harness.bindings[_order(harness)[packed.input]]
    element = binding.length // max(1, math.prod(packed.matrix))
    return binding.offset + math.prod(packed.shape) * element <= harness.buffer_bytes


def substituted(
    harness: Harness, session: CompilerSession, problem: Problem, code: Code, path: str,
    packed: Packed | None = None,
) -> ir.Module:  # fmt: skip
    """The harness with its executable replaced by a kernel's object file at `path`, or by `packed`."""
    module = session.parse(harness.module)
    variant = ir.get_ops_of_type(module, hal.ExecutableVariantOp)[0].operation
    export = export_of(code)
    _rename(module, ir.get_ops_of_type(variant, hal.ExecutableExportOp)[0].sym_name.value, export)
    for op in list(variant.regions[0].blocks[0].operations)[:-1]:
        op.operation.erase()
    variant.attributes["objects"] = ir.ArrayAttr.get([object_of(code, path)])
    end = variant.regions[0].blocks[0].operations[0]
    with ir.InsertionPoint(end):
        ports = ports_of(problem, code) if packed is None else packed_ports(problem, packed)
        fill_variant([(code, ports)])
    if code.scratch_bytes or harness.inputs:
        _bind(module, harness, code.scratch_bytes)
    return module


def _rename(module: ir.Module, old: str, new: str) -> None:
    def visit(op: ir.Operation) -> ir.WalkResult:
        entry = op.attributes.get("entry_point", None)
        if isinstance(entry, ir.SymbolRefAttr) and entry.value[-1] == old:
            op.attributes["entry_point"] = ir.SymbolRefAttr.get([*entry.value[:-1], new])
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)


def _bind(module: ir.Module, harness: Harness, scratch_bytes: int) -> None:
    """Bind the dispatch's buffers in the problem's order; scratch memory is the harness's last binding."""
    dispatch = find_dispatch(module.operation)
    order = [each for each in _order(harness) if each < len(dispatch.binding_buffers)]
    buffers: list[ir.Value[Any]] = [dispatch.binding_buffers[each] for each in order]
    offsets: list[ir.Value[Any]] = [dispatch.binding_offsets[each] for each in order]
    lengths: list[ir.Value[Any]] = [dispatch.binding_lengths[each] for each in order]
    constants: list[ir.Value[Any]] = list(dispatch.constants)
    with ir.InsertionPoint(dispatch), dispatch.location:
        if scratch_bytes:
            room, index = harness.bindings[-1], ir.IndexType.get()
            if room.tensors or room.length < scratch_bytes:
                raise KernelError(f"the harness has no space for {scratch_bytes} bytes of scratch memory")
            distance = arith.constant(index, room.offset - harness.bindings[0].offset)
            offsets.append(arith.addi(dispatch.binding_offsets[0], distance))
            lengths.append(arith.constant(index, room.length))
            buffers.append(dispatch.binding_buffers[0])
        hal.CommandBufferDispatchOp(
            dispatch.command_buffer, dispatch.executable, dispatch.entry_point, dispatch.workgroup_x,
            dispatch.workgroup_y, dispatch.workgroup_z, constants, buffers, offsets, lengths,
            dispatch.attributes["flags"],
        )  # fmt: skip
    dispatch.operation.erase()


def _marked(module: ir.Module) -> ir.Operation:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if STRIDE in op.attributes:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    (constant,) = found
    return constant
