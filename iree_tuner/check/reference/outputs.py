"""A harness's outputs, as the reference has them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from iree.compiler import ir
from iree.compiler.dialects import hal

from iree_tuner.check.reference.interpreter import Interpreter
from iree_tuner.check.reference.values import Unsupported, UnsupportedError
from iree_tuner.compiler.context import new_context
from iree_tuner.device.data import values_in, written
from iree_tuner.ops.structure import fold
from iree_tuner.program.bindings import Harness
from iree_tuner.program.harness import find_function


def reference_outputs(
    harness: Harness, buffer: npt.NDArray[np.uint8]
) -> list[npt.NDArray[np.generic]] | Unsupported:
    """The dispatch's results for a buffer, in the order of `device.data.written`; or why that is not known.

    Args:
        harness: its module has the dispatch as the compiler got it.
        buffer: the harness's buffer before the run; it is not changed.
    """
    context = new_context()
    with context, ir.Location.unknown():
        # IR as text: harnesses are stored as bytecode
        module = ir.Module.parse(harness.module, context)
        memory = buffer.copy()
        try:
            function, constants = _dispatch(module)
            Interpreter(memory, harness.bindings, constants).run(function)
        except UnsupportedError as error:
            return Unsupported(str(error))
    return [values_in(memory, binding, tensor) for binding, tensor, _ in written(harness.bindings)]


def _dispatch(module: ir.Module) -> tuple[ir.Operation, list[int]]:
    """The function of the one dispatch that a harness runs, and the constants that it is given."""
    found: list[ir.OpView] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "hal.command_buffer.dispatch":
            found.append(op.opview)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    dispatch = found[0]
    assert isinstance(dispatch, hal.CommandBufferDispatchOp)
    lookup = dispatch.entry_point.owner
    assert not isinstance(lookup, ir.Block), "the entry point is looked up by an op"
    export = ir.SymbolRefAttr(lookup.attributes["entry_point"]).value
    constants: list[int] = []
    for value in dispatch.constants:
        constant = fold(value, [])
        if constant is None:
            raise UnsupportedError("a constant of unknown value")
        constants.append(constant)
    return find_function(module, export[-1]), constants
