"""Wrong kernels: a right dispatch, its function replaced by a wrong one, compiled by the real compiler."""

from dataclasses import replace
from pathlib import Path

from iree.compiler import ir

from iree_tuner.check.check import Check
from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.device.bench import Bench
from iree_tuner.device.memory import LoadedDispatch, StagedMemory
from iree_tuner.measure.candidate import build_here
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.targets.runtime import device_for

DEFECTS = Path(__file__).parent / "defects"
DEVICE = "local-task"


def bench_of(folder, target, workers):
    """The right program of a folder, with the compiler's own choice as the default."""
    program = load_program(str(DEFECTS / folder / "right.mlir"))
    (dispatch,) = extract(program, target, workers).dispatches
    return bench_for(dispatch, target, workers)


def bench_for(dispatch, target, workers):
    harness, workload = dispatch.harness, dispatch.workload
    tolerance = Tolerance(str(workload.types[-1]), workload.reduction_length) if workload else Tolerance()
    return Bench(harness, DEVICE, built(harness.module, target, workers), tolerance)


def wrong(bench, folder, name, target, workers):
    """The executable of a defect, which runs as the bench's own."""
    source = (DEFECTS / folder / f"{name}.mlir").read_text()
    return built(with_function(bench.harness.module, source), target, workers)


def with_function(harness, text):
    """A harness with its dispatch's function replaced by the one of a module."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.parse(harness)
        source = ir.Module.parse(text)  # a variable: its ops go with it
        (replacement,) = source.body.operations
        old = function_of(module)
        new = replacement.operation.clone(ip=ir.InsertionPoint(old))
        new.attributes["sym_name"] = old.attributes["sym_name"]
        old.erase()
        return to_bytecode(module)


def without_reference(bench):
    """The bench with an op that the reference does not know: the default's numbers alone decide."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.parse(bench.harness.module)
        with ir.InsertionPoint.at_block_begin(function_of(module).regions[0].blocks[0]):
            ir.Operation.create("hal.interface.workgroup.id", results=[ir.IndexType.get()], attributes={
                "dimension": ir.IntegerAttr.get(ir.IndexType.get(), 0)
            })  # fmt: skip
        return replace(bench, harness=replace(bench.harness, module=to_bytecode(module)))


def function_of(module):
    found = []

    def visit(op):
        if op.name == "func.func":
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    (function,) = found
    return function


def built(module, target, workers):
    found = workers.call(build_here, module, target.flags, None)
    assert found.outcome == "ok", found.message
    return found.vmfb


def check_here(vmfb, bench):
    """Both checks of an executable, in a GPU's memory where the bench has a program for it; in a worker."""
    opened = device_for(bench.device)[0].device
    memory = StagedMemory(bench.harness, opened) if bench.check else None
    check, loaded = Check(bench, memory), LoadedDispatch(vmfb, bench.harness, bench.device, memory)
    return check.quick(loaded), check.thorough(loaded)
