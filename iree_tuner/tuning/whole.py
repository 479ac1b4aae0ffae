"""The whole program, with and without a spec."""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.measure.program import ProgramComparison, compare_programs
from iree_tuner.program.phases import compile_program
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
    default = compile_program(program, lab.target, lab.compilers).data
    tuned = compile_program(with_spec(program, spec), lab.target, lab.compilers).data
    longest = max(result.task.workload.reduction_length for result in results)
    return compare_programs(
        default, tuned, lab.measurer.device, lab.measurer.workers, effort.program_rounds,
        longest * len(results) ** 2,
    )  # fmt: skip


def with_spec(program: Program, spec: bytes) -> Program:
    """The program with a spec inside, in the place of one that it may carry."""
    return Program(program.name, embed_bytes(program.data, spec, name=program.name, replace=True))
