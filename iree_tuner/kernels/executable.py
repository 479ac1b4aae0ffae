"""Build a `hal.executable` from a kernel's code, the form in which the compiler takes external code.

In a harness, it replaces a dispatch's executable, so that a kernel is timed and checked like a configuration.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import arith, func, hal, util

from iree_tuner.compiler.context import defining_op, to_bytecode, walk
from iree_tuner.compiler.session import CompileError, CompilerSession
from iree_tuner.compiler.unbound import hal_type
from iree_tuner.compiler.worker import session_for
from iree_tuner.kernels.kernel import Array, Code, Kernel, KernelError, Packed, Problem, WithTools
from iree_tuner.measure.candidate import Built
from iree_tuner.ops.dag import clone, strip_discardable
from iree_tuner.ops.element_type import ElementType
from iree_tuner.program.bindings import Binding, Harness, stride_of
from iree_tuner.program.extract import Extraction, extract_here
from iree_tuner.program.harness import STRIDE, find_dispatch
from iree_tuner.program.phases import compiled_to
from iree_tuner.spec.external import object_attribute
from iree_tuner.targets import Target

VARIANT = "variant"
_BAREPTR, _STATIC = "llvm.bareptr", "hal.import.static"
# Only functions "of bitcode" get fields of the dispatch's state as arguments. The linker finds either.
_BITCODE, _FIELDS, _WORKER = "hal.import.bitcode", "hal.import.fields", "processor_id"
_ALIGNMENT = 64


@dataclass(frozen=True)
class Ports:
    """The arrays of a kernel's bindings, in order: inputs, result, scratch memory.

    Attributes:
        inputs: arrays that are read.
        results: arrays that are written: the problem's result or the parts of its sums, and scratch memory as
            bytes if there is any.
    """

    inputs: tuple[Array, ...]
    results: tuple[Array, ...]

    @property
    def all(self) -> tuple[Array, ...]:
        return (*self.inputs, *self.results)


def ports_of(problem: Problem, code: Code) -> Ports:
    """The bindings of a kernel's code for a problem."""
    scratch = (Array((code.scratch_bytes,), "i8"),) if code.scratch_bytes else ()
    result = problem.result
    if code.parts:
        result = replace(result, shape=(*result.shape, code.parts))
    return Ports(problem.inputs, (result, *scratch))


def packed_ports(problem: Problem, packed: Packed) -> Ports:
    """The bindings of code that takes a packed input."""
    ports = ports_of(problem, packed.code)
    inputs = list(ports.inputs)
    inputs[packed.input] = replace(inputs[packed.input], shape=packed.shape)
    return replace(ports, inputs=tuple(inputs))


@dataclass(frozen=True)
class Export:
    """Code that an export calls, with the bindings of the code and the path of its file.

    Objects are linked from there, as compiler 3.13 writes an empty file for the linker if they are embedded.
    PTX is embedded.
    """

    code: Code
    ports: Ports
    path: str


def build_executable(name: str, parts: Sequence[Export], target: ir.Attribute) -> ir.Operation:
    """Build, at the current insertion point, `@name` with one variant `@variant` that exports each part.

    `target` is the executable target of the program; the variant must have an equal one.
    """
    executable = hal.ExecutableOp(name, sym_visibility="private")
    with ir.InsertionPoint(_block(executable.operation)):
        objects = ir.ArrayAttr.get([object_of(part.code, part.path) for part in parts])
        variant = hal.ExecutableVariantOp(VARIANT, target, sym_visibility="public", objects=objects)
        hal.ExecutableEndOp()
    with ir.InsertionPoint(_block(variant.operation)):
        fill_variant([(part.code, part.ports) for part in parts])
        hal.ExecutableVariantEndOp()
    return executable.operation


def export_of(code: Code) -> str:
    """Name of the export: the entry itself for PTX, the function that calls the entry for an object."""
    return code.entry if code.kind == "ptx" else f"call_{code.entry}"


def fill_variant(parts: Sequence[tuple[Code, Ports]]) -> None:
    """Build exports and functions that call the codes, at the current insertion point in a variant."""
    inner = ir.Module.create()
    for number, (code, ports) in enumerate(parts):
        layout = layout_of(ports)
        _build_export(number, code, layout)
        if code.kind == "object":
            with ir.InsertionPoint(inner.body):
                _build_call(export_of(code), code, ports, layout)
    if list(inner.body.operations):
        ir.InsertionPoint.current.insert(inner.operation.clone().detach_from_parent())


def object_of(code: Code, path: str) -> ir.Attribute:
    """The object of a variant: its path and, for PTX, its embedded text."""
    fields: dict[str, ir.Attribute] = {"path": ir.StringAttr.get(path)}
    if code.kind == "ptx":
        fields["data"] = ir.DenseElementsAttr.get(np.frombuffer(code.data, dtype=np.int8))  # pyright: ignore
    return object_attribute(fields)


def layout_of(ports: Ports) -> ir.Attribute:
    """The pipeline layout with a storage buffer for each port. It is parsed: the attribute has no builder.

    Buffers are indirect, as those of the compiler's own dispatches are. If one is not, a program's commands
    are recorded in each call instead of when it is loaded.
    """
    reads = ['#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">'] * len(ports.inputs)
    writes = ["#hal.pipeline.binding<storage_buffer, Indirect>"] * len(ports.results)
    bindings = ", ".join([*reads, *writes])
    # IR as text: no builder (docs/upstream/bindings.md)
    return ir.Attribute.parse(f"#hal.pipeline.layout<bindings = [{bindings}], flags = Indirect>")


def _build_export(number: int, code: Code, layout: ir.Attribute) -> None:
    index = ir.IndexType.get()
    size = shared = None
    if code.kind == "ptx":
        size = ir.ArrayAttr.get([ir.IntegerAttr.get(index, each) for each in code.launch.threads])
        shared = ir.IntegerAttr.get(index, code.launch.shared_bytes) if code.launch.shared_bytes else None
    export = hal.ExecutableExportOp(
        export_of(code), layout, sym_visibility="public", ordinal=ir.IntegerAttr.get(index, number),
        workgroup_size=size, workgroup_local_memory=shared,
    )  # fmt: skip
    device = hal_type("device")
    counts = export.operation.regions[0].blocks.append(device, arg_locs=[ir.Location.unknown()])
    with ir.InsertionPoint(counts):
        values = [arith.constant(index, each) for each in code.launch.workgroups]
        ir.Operation.create("hal.return", operands=values)


def _build_call(name: str, code: Code, ports: Ports, layout: ir.Attribute) -> None:
    index = ir.IndexType.get()
    types = [
        ir.MemRefType.get(each.shape, ElementType.named(each.element_type).to_ir()) for each in ports.all
    ]
    # Compiler 3.13 rejects functions with such arguments that have no result.
    results: list[ir.Type] = [index] if code.takes_worker else []
    outside = ir.FunctionType.get([*types, index, index, index], results)
    called = func.FuncOp(code.entry, outside, visibility="private").operation
    called.attributes[_BAREPTR] = ir.BoolAttr.get(True)
    called.attributes[_BITCODE if code.takes_worker else _STATIC] = ir.UnitAttr.get()
    if code.takes_worker:
        called.attributes[_FIELDS] = ir.ArrayAttr.get([ir.StringAttr.get(_WORKER)])
    function = func.FuncOp(name, ir.FunctionType.get([], []))
    with ir.InsertionPoint(function.add_entry_block()):
        zero: ir.Value[Any] = arith.constant(index, 0)
        arguments: list[ir.Value] = [
            hal.InterfaceBindingSubspanOp(
                kind, layout, number, [], byte_offset=zero, alignment=ir.IntegerAttr.get(index, _ALIGNMENT)
            ).result
            for number, kind in enumerate(types)
        ]
        for dimension in range(3):
            number = ir.IntegerAttr.get(index, dimension)
            arguments.append(hal.InterfaceWorkgroupIDOp(number, results=[index]).result)
        func.CallOp(results, code.entry, arguments)
        func.ReturnOp([])


def _block(op: ir.Operation) -> ir.Block:
    region = op.regions[0]
    return region.blocks[0] if len(region.blocks) else region.blocks.append()


_NOT_SOURCES = ("__pycache__",)


def digest_of(kernel: Kernel) -> str:
    """Sixteen hexadecimal digits, which change whenever the kernel's code may change.

    The digest covers all files in the folders of the kernel's class and of its bases; for a module outside
    of packages, only its file. That is more than a kernel uses: some changes cause needless measurements, but
    none is missed. The digest also covers the kernel's tools (`WithTools`). The digest of a class without a
    file is random, so that it differs in each process.
    """
    found = hashlib.sha256(repr(kernel.name).encode())
    modules = dict.fromkeys(each.__module__ for each in type(kernel).__mro__)
    for name in modules:
        if name.partition(".")[0] in sys.stdlib_module_names:
            continue
        files = list(_files_of(sys.modules[name])) if name in sys.modules else []
        found.update(repr(name).encode())
        for relative, content in files or [("", secrets.token_bytes(16))]:
            found.update(repr((relative, hashlib.sha256(content).hexdigest())).encode())
    if tools := tools_of(kernel):
        found.update(repr(tools).encode())
    return found.hexdigest()[:16]


def tools_of(kernel: Kernel) -> tuple[str, ...]:
    """The tools of this machine that make a kernel's code, with their versions."""
    return kernel.tools() if isinstance(kernel, WithTools) else ()


def _files_of(module: ModuleType) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files of a module's package, in order; empty if there are none."""
    path = Path(module.__file__ or "")
    if not path.is_file():
        return
    if not module.__package__:
        yield path.name, path.read_bytes()
        return
    for each in sorted(path.parent.rglob("*")):
        relative = each.relative_to(path.parent)
        hidden = any(part.startswith(".") or part in _NOT_SOURCES for part in relative.parts)
        if each.is_file() and not hidden:
            yield str(relative), each.read_bytes()


# Move constants into the bodies that use them, so that the matcher finds the ops.
#
# The matcher of cases (`transform.iree.match.cast_compatible_dag_from_root`) follows operands. In 3.13, it
# does not follow values that only a body uses, and then never matches that body. For example, a gelu is not
# found, because the compiler hoists its constants. A spec therefore first moves constants into bodies: it
# matches scalar ops together with their constants, and replaces each by a function that contains the
# constants and is inlined at once.


@dataclass(frozen=True)
class Scalar:
    """A scalar op, in any module, with the ops of its constants and its other operands, each once."""

    op: ir.Operation
    constants: tuple[ir.Operation, ...]
    others: tuple[ir.Value, ...]

    @property
    def key(self) -> str:
        """A key that is equal for ops that the same function replaces."""
        place = {value: str(number) for number, value in enumerate(self.others)}
        place |= {op.result: str(op.attributes["value"]) for op in self.constants}
        operands = [place[each] for each in self.op.operands]
        attributes = {name: str(self.op.attributes[name]) for name in self.op.attributes}
        return f"{self.op.name}({', '.join(operands)}) {attributes} : {self.op.result.type}"

    def copy_to(self, values: Mapping[ir.Value, ir.Value]) -> ir.Operation:
        """Copy the constants and the op to the current insertion point."""
        where = ir.InsertionPoint.current
        own = {op.result: clone(op, {}, where).result for op in self.constants}
        copy = clone(self.op, {**values, **own}, where)
        for op in (*(each.owner for each in own.values()), copy):
            strip_discardable(op.operation)
        return copy


def localize(block: ir.Block) -> list[Scalar]:
    """Copy constants into the bodies of a block's ops, and erase constants without uses.

    Returns the scalar ops that use copied constants, each kind once.
    """
    ops = [each.operation for each in block.operations]
    constants = [each for each in ops if each.name == "arith.constant"]
    outside = {each.result: each for each in constants}
    found: dict[str, Scalar] = {}
    users = (each for op in ops for each in walk(op) if each != op)
    for scalar in [_of(each) for each in users if any(value in outside for value in each.operands)]:
        found.setdefault(scalar.key, scalar)
        with ir.InsertionPoint(scalar.op):
            own = {op.result: clone(op, {}, ir.InsertionPoint.current).result for op in scalar.constants}
        for number, operand in enumerate(scalar.op.operands):
            scalar.op.operands[number] = own.get(operand, operand)
    for each in constants:
        if not list(each.result.uses):
            each.erase()
    return [_of(each.op) for each in found.values()]


def _of(op: ir.Operation) -> Scalar:
    found = ((value, defining_op(value, "arith.constant")) for value in op.operands)
    constants = {value: each for value, each in found if each is not None}
    others = dict.fromkeys(value for value in op.operands if value not in constants)
    return Scalar(op, tuple(constants.values()), tuple(others))


def build_scalar_function(name: str, scalar: Scalar) -> None:
    """Build a function of a scalar op's other operands that contains its constants."""
    with private_function(name, [each.type for each in scalar.others], scalar.op.result.type) as arguments:
        util.ReturnOp([scalar.copy_to(dict(zip(scalar.others, arguments, strict=True))).result])


@contextmanager
def private_function(name: str, inputs: Sequence[ir.Type], *results: ir.Type) -> Generator[list[ir.Value]]:
    """Build a private function of the program, whose body is built in the block, from its arguments."""
    kind = ir.FunctionType.get(list(inputs), list(results))
    function = util.FuncOp(name, ir.TypeAttr.get(kind), sym_visibility="private")
    places = [ir.Location.unknown()] * len(inputs)
    block = function.operation.regions[0].blocks.append(*inputs, arg_locs=places)
    with ir.InsertionPoint(block):
        yield list(block.arguments)


_PAGE = 4096


def with_scratch(harness: Harness, size: int, flags: tuple[str, ...]) -> Harness:
    """Add `size` bytes of scratch memory behind the bindings of a harness; its dispatch stays as it is.

    All compared candidates need the same harness, also the ones without scratch memory. Runs in workers.
    """
    session = session_for(flags)
    offset = -(-harness.buffer_bytes // _PAGE) * _PAGE
    with session.context, ir.Location.unknown():
        module = session.parse(harness.module)
        (constant,) = (op for op in walk(module.operation) if STRIDE in op.attributes)
        constant.attributes["value"] = ir.IntegerAttr.get(ir.IndexType.get(), stride_of(offset + size))
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
    session, module = compiled_to("flow", case, name, target)
    with session.context, ir.Location.unknown():
        dispatches = [op for op in walk(module.operation) if op.name == "flow.dispatch"]
        return [_argument_behind(each) for op in dispatches for each in op.operands]


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
    single = [each.tensors[0] for each in harness.bindings if len(each.tensors) == 1]
    found = [
        (math.prod(each.shape), each.element_type, "read" if each.access == "read" else "write")
        for each in single  # results that are read are also written
    ]
    if len(found) < len(harness.bindings) or [found[each] for each in _order(harness)] != expected:
        return "the compiler's dispatch has other inputs or results than the problem"
    return ""


def _order(harness: Harness) -> list[int]:
    """The bindings in the order of the problem's inputs, then the other bindings."""
    return [*harness.inputs, *range(len(harness.inputs), len(harness.bindings))]


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
    old = ir.get_ops_of_type(variant, hal.ExecutableExportOp)[0].sym_name.value
    for op in walk(module.operation):
        entry = op.attributes.get("entry_point", None)
        if isinstance(entry, ir.SymbolRefAttr) and entry.value[-1] == old:
            op.attributes["entry_point"] = ir.SymbolRefAttr.get([*entry.value[:-1], export])
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
