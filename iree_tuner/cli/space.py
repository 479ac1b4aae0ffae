"""`iree-tuner space`: what may be tried for a workload."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.space_compile import compile_samples
from iree_tuner.cli.space_inputs import read_spaces
from iree_tuner.cli.space_show import Shown, show
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.targets import parse_target, target_for_device


def space(
    source: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    target: str | None = None,
    device: str = "local-task",
    pipeline: str | None = None,
    count: Annotated[bool, Parameter(negative="")] = False,
    sample: int = 0,
    seed: int = 0,
    compile_: Annotated[bool, Parameter(name="--compile", negative="")] = False,
    why: str | None = None,
    smtlib: Annotated[bool, Parameter(negative="")] = False,
    mlir: Annotated[bool, Parameter(name=("--mlir", "--ir"), negative="")] = False,
    supplements: bool = True,
    jobs: int | None = None,
    timeout: float = 60.0,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Print the search spaces of each workload: sizes, knobs and samples; or try samples in the compiler.

    Example: `iree-tuner space model.mlir --target hip:gfx942 --sample 20 --compile`

    Parameters
    ----------
    source
        A program, whose dispatches are extracted; or workloads as JSON, one a line (as `extract --json`
        prints them, or bare), `-` for standard input. Spaces of CUDA and ROCm need a program.
    target
        `llvm-cpu:znver4`, `cuda:sm_80`, `hip:gfx942`, `vulkan:ampere`.
    device
        Take the target of this device instead.
    pipeline
        Only spaces of this pipeline: `TileAndFuse`, `TileAndFuse:igemm`, `VectorDistribute`.
    count
        Print only how many assignments are legal.
    sample
        Print this many legal assignments and what they stand for.
    seed
        Decides which assignments are sampled.
    compile_
        Compile each sample to a VM module, and print how it ended.
    why
        Print what is wrong with an assignment (`wg_0=64,wg_1=128`, or JSON), or `default` for the
        compiler's own choice. Exit status 1 when it is not legal.
    smtlib
        Print the constraints as SMT-LIB, as the compiler exports them.
    mlir
        Print the constraints as IR.
    supplements
        Without, the compiler's constraints are used as they are.
    jobs
        Compile workers; as many as there are cores by default.
    timeout
        Seconds that one compilation may take.
    as_json
        One JSON object a space (or, with `--compile`, a sample) on standard output.
    """
    if sample < 0:
        raise UsageError(f"--sample must not be negative, but is {sample}")
    if compile_ and not sample:
        raise UsageError("--compile needs samples to compile", hint="add --sample 20")
    chosen = parse_target(target) if target else target_for_device(device)
    shown = Shown(count=count, sample=sample, seed=seed, why=why, smtlib=smtlib, mlir=mlir, as_json=as_json)
    status = 0
    found = 0
    for given in read_spaces(source, chosen, supplements=supplements):
        for built in given.spaces:
            if pipeline is not None and pipeline not in (built.pipeline, built.label):
                continue
            found += 1
            if compile_:
                ok = compile_samples(given, built, chosen, sample, seed, jobs, timeout, as_json=as_json)
            else:
                ok = show(given, built, shown)
            status = max(status, 0 if ok else 1)
    if not found:
        raise TunerError(_nothing(pipeline), location=source)
    return status


def _nothing(pipeline: str | None) -> str:
    if pipeline is None:
        return "there is no workload to build a space for"
    return f"no workload has a space of the pipeline {pipeline}"

