"""Build a `hal.executable` from a kernel's code, the form in which the compiler takes external code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import arith, func, hal

from iree_tuner.compiler.unbound import hal_type
from iree_tuner.kernels.kernel import Code, Packed
from iree_tuner.kernels.problem import Array, Problem
from iree_tuner.ops.element_type import ElementType

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
        """The arrays of all bindings."""
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
class Part:
    """An export of an executable.

    Attributes:
        code: the code that the export calls.
        ports: the bindings of the code.
        path: the file with the code. Objects are linked from there: if they are embedded, compiler 3.13
            writes an empty file for the linker. PTX is embedded.
    """

    code: Code
    ports: Ports
    path: str


def build_executable(name: str, parts: Sequence[Part], target: ir.Attribute) -> ir.Operation:
    """Build, at the current insertion point, `@name` with one variant `@variant` that exports each part.

    Args:
        name: the symbol.
        parts: the exports.
        target: the executable target of the program; the variant must have an equal one.

    Returns:
        The executable.
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


def object_attribute(fields: Mapping[str, ir.Attribute]) -> ir.Attribute:
    """Make a `#hal.executable.object` by parsing; the attribute has no builder."""
    # IR as text: no builder (docs/upstream/bindings.md)
    return ir.Attribute.parse(f"#hal.executable.object<{ir.DictAttr.get(dict(fields))}>")


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
    """Build a function that calls the object's function with the bindings and the workgroup's number."""
    index = ir.IndexType.get()
    types = [_memref(each) for each in ports.all]
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


def _memref(array: Array) -> ir.Type:
    return ir.MemRefType.get(array.shape, ElementType.named(array.element_type).to_ir())


def _block(op: ir.Operation) -> ir.Block:
    region = op.regions[0]
    return region.blocks[0] if len(region.blocks) else region.blocks.append()
