"""The programs of `programs/ops/`, and their spaces on a target: what the other `space_` scripts share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from iree.compiler import ir

from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.build import build_spaces
from iree_tuner.space.emitted import Emitted, emit
from iree_tuner.space.space import Space
from iree_tuner.targets import CpuLimits, Target

PROGRAMS = Path(__file__).parent.parent / "programs" / "ops"


def programs(names: list[str], target: str) -> list[Path]:
    """The files to run on a target: those with `cpu_` on llvm-cpu, the others on GPUs; or those named."""
    if names:
        return [path if (path := Path(name)).exists() else PROGRAMS / f"{name}.mlir" for name in names]
    cpu = target.startswith("llvm-cpu")
    return [path for path in sorted(PROGRAMS.glob("*.mlir")) if path.name.startswith("cpu_") == cpu]


def spaces_of(
    program: Path, target: Target, workers: Workers, context: ir.Context
) -> Iterator[tuple[Dispatch, tuple[Space, ...]]]:
    """Each dispatch with its spaces; prints why a dispatch has none."""
    for dispatch in extract(load_program(str(program)), target, workers).dispatches:
        if dispatch.workload is None or dispatch.harness is None:
            print(f"{program.stem:44} {target!s:14} no workload: {dispatch.reason}")
            continue
        is_cpu = isinstance(dispatch.limits, CpuLimits)
        emitted = Emitted() if is_cpu else emit(dispatch.harness, dispatch.workload, target, workers)
        try:
            yield dispatch, build_spaces(dispatch.workload, dispatch.limits, context, emitted.modules)
        except TunerError as error:
            print(f"{program.stem:44} {target!s:14} {error}")
