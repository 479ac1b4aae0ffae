"""Operations compiled for this machine's processor, and run on it."""

from __future__ import annotations

import iree.runtime as rt
import numpy as np
from iree.runtime.array_interop import map_dtype_to_element_type

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.device.numerics import compare
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program
from iree_tuner.suite.exact import reference
from iree_tuner.suite.programs import FUNCTION, module_of
from iree_tuner.suite.tensors import read_inputs, write_inputs
from iree_tuner.targets.runtime import device_for

DEVICE = "local-task"


def results_of(operation, inputs, target, compilers):
    """What the compiled operation gives."""
    program = Program(operation.name, to_bytecode(module_of(operation)))
    vmfb = compile_program(program, target, compilers).data
    config, hal = device_for(DEVICE)
    module = rt.VmModule.copy_buffer(config.vm_instance, vmfb)
    context = rt.VmContext(config.vm_instance, modules=[hal, module])
    arguments, results = rt.VmVariantList(len(inputs)), rt.VmVariantList(1)
    for each in inputs:
        arguments.push_ref(view_of(config.device, np.ascontiguousarray(each)))
    context.invoke(module.lookup_function(FUNCTION), arguments, results)
    view = results.get_variant(0).deref(rt.HalBufferView)
    return np.array(rt.DeviceArray(config.device, view, implicit_host_transfer=True).to_host())


def view_of(device, values):
    return device.allocator.allocate_buffer_copy(
        memory_type=rt.MemoryType.DEVICE_LOCAL,
        allowed_usage=rt.BufferUsage.DEFAULT,
        device=device,
        buffer=values,
        element_type=map_dtype_to_element_type(values.dtype),
    )


def agreement_of(operation, folder, target, compilers):
    """Whether the compiled operation gives what the reference gives."""
    inputs = read_inputs(operation, write_inputs(operation, folder))
    got, expected = results_of(operation, inputs, target, compilers), reference(operation, inputs)
    assert got.shape == expected.shape == operation.result.shape
    assert got.dtype == expected.dtype
    told = operation.tolerance
    return compare(
        got, expected, operation.result.element_type, told.accumulator_type, told.reduction_length,
        factors=(told.factor_type, told.factors),
    )  # fmt: skip
