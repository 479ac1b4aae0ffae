"""The whole program, with and without a spec."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait
from dataclasses import replace

from iree.compiler import ir

from iree_tuner.build.placement import STEP_BYTES
from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.compiler.session import parse_module
from iree_tuner.measure.program import ProgramComparison, compare_programs
from iree_tuner.program.dynamic import sizes_of
from iree_tuner.program.phases import submit_program
from iree_tuner.program.source import Program
from iree_tuner.spec.embed import embed_bytes
from iree_tuner.tuning.effort import Effort
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.result import WorkloadResult


def compare_whole(
    program: Program, spec: bytes, results: Sequence[WorkloadResult], lab: Lab, effort: Effort
) -> ProgramComparison:
    """Compile the program both ways and interleave them.

    Errors add up from one dispatch to the next: the tolerance is that of the longest reduction, times the
    number of dispatches.

    Raises:
        TunerError: the program cannot be compiled with the spec, or cannot be run here.
        WorkerCrashError, WorkerTimeoutError: the compiler or the program died or did not come back.
    """
    longest = max(result.task.workload.reduction_length for result in results)
    return compare_programs(
        _built(program, with_spec(program, spec), lab, effort.places(lab.target)), lab.measurer.device,
        lab.measurer.workers, effort.program_rounds, longest * len(results) ** 2, sizes_of(program),
        batch_s=effort.program_batch_s,
    )  # fmt: skip


def _built(program: Program, tuned: Program, lab: Lab, places: int) -> list[tuple[bytes, bytes]]:
    """Both compilations for each place of the code, side by side. Raises what `compile_program` raises."""
    compiling = [
        submit_program(placed_program(source, place), lab.target, lab.compilers)
        for place in range(places)
        for source in (program, tuned)
    ]
    wait(compiling)  # all of them, also after a failure: nothing may compile when something is timed
    made = [lab.compilers.wait(each).data for each in compiling]
    return list(zip(made[::2], made[1::2], strict=True))


def with_spec(program: Program, spec: bytes) -> Program:
    """The program with a spec inside, in the place of one that it may carry."""
    return replace(program, data=embed_bytes(program.data, spec, name=program.name, replace=True))


def placed_program(program: Program, placement: int) -> Program:
    """The program with its code at another address (see `build.placement`): its module has a longer name."""
    if placement == 0:
        return program
    module = parse_module(program.data, new_context(), program.name)
    attributes = module.operation.attributes
    name = ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else "module"
    attributes["sym_name"] = ir.StringAttr.get(name + "_" * (placement * STEP_BYTES), module.context)
    return replace(program, data=to_bytecode(module))
