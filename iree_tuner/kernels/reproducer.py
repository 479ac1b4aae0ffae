"""Write a folder that reproduces a kernel's failure with IREE's own tools: see docs/failures.md."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from iree.compiler import ir

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.session import CompileError
from iree_tuner.compiler.versions import installed
from iree_tuner.compiler.worker import session_for
from iree_tuner.device.outcome import Outcome
from iree_tuner.kernels.alone import substituted
from iree_tuner.kernels.kernel import Kernel, Knobs
from iree_tuner.kernels.problem import KernelError, Problem
from iree_tuner.measure.reproducer import FailedCandidate, write_reproducer
from iree_tuner.program.bindings import Harness
from iree_tuner.targets import Target

_OBJECT = "kernel.o"


def write_reproducer_here(
    folder: Path, kernel: Kernel, problem: Problem, target: Target, knobs: Knobs, harness: Harness,
    outcome: Outcome, message: str,
) -> str:  # fmt: skip
    """Write the dispatch with the kernel in it, and a script; returns the path. Runs in workers.

    The path is empty if no code can be made: then IREE's tools cannot reproduce the failure.
    """
    session = session_for(target.flags)
    try:
        code = kernel.make(problem, target, knobs)
        with session.context, ir.Location.unknown():
            module = to_bytecode(substituted(harness, session, problem, code, _OBJECT))
    except (KernelError, CompileError):
        return ""
    failure = FailedCandidate(
        workload=f"{problem.name}-{kernel.name}",
        harness=replace(harness, module=module),
        configuration=None,
        flags=target.flags,
        outcome=outcome,
        message=message,
        device=target.device or "",
        versions=installed(),
        default=harness,
        files={_OBJECT: code.data},
    )
    return write_reproducer(folder, failure)[0]
