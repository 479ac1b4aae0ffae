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
from iree_tuner.suite.programs import module_with
from iree_tuner.suite.tensors import read_inputs, write_inputs
from iree_tuner.targets.runtime import device_for

DEVICE = "local-task"


class Compiled:
    """Operations as functions of one program: to compile a program takes half a second whatever is in it."""

    def __init__(self, operations, target, compilers):
        program = Program(
            "operations.mlir", to_bytecode(module_with({each.name: each for each in operations}))
        )
        vmfb = compile_program(program, target, compilers).data
        self._config, hal = device_for(DEVICE)
        self._module = rt.VmModule.copy_buffer(self._config.vm_instance, vmfb)
        self._context = rt.VmContext(self._config.vm_instance, modules=[hal, self._module])

    def results(self, operation, inputs):
        """What the compiled operation gives."""
        arguments, results = rt.VmVariantList(len(inputs)), rt.VmVariantList(1)
        for each in inputs:
            arguments.push_ref(view_of(self._config.device, np.ascontiguousarray(each)))
        self._context.invoke(self._module.lookup_function(operation.name), arguments, results)
        view = results.get_variant(0).deref(rt.HalBufferView)
        return np.array(rt.DeviceArray(self._config.device, view, implicit_host_transfer=True).to_host())

    def agreement(self, operation, folder):
        """Whether the compiled operation gives what the reference gives."""
        inputs = read_inputs(operation, write_inputs(operation, folder))
        got, expected = self.results(operation, inputs), reference(operation, inputs)
        assert got.shape == expected.shape == operation.result.shape
        assert got.dtype == expected.dtype
        told = operation.tolerance
        return compare(got, expected, operation.result.element_type, told)


def view_of(device, values):
    return device.allocator.allocate_buffer_copy(
        memory_type=rt.MemoryType.DEVICE_LOCAL,
        allowed_usage=rt.BufferUsage.DEFAULT,
        device=device,
        buffer=values,
        element_type=map_dtype_to_element_type(values.dtype),
    )
