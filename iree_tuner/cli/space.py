"""`iree-tuner space`: what may be tried for a workload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.extract import chosen_target
from iree_tuner.cli.inputs import opened
from iree_tuner.cli.program_name import ProgramName
from iree_tuner.cli.space_compile import Compilation, compile_samples
from iree_tuner.cli.space_inputs import read_spaces
from iree_tuner.cli.space_show import Shown, show
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.targets.registry import DEFAULT_DEVICE
from iree_tuner.tuning.compiler_flags import CompilerFlags


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SpaceFlags:
    """Flags of `space`.

    Attributes
    ----------
    target
        `llvm-cpu:znver4`, `cuda:sm_80`, `hip:gfx942`, `vulkan:ampere`.
    device
        Take the target of this device instead. Without any, what the compiler has dumped is for what it was
        dumped for.
    dim
        A size that stands for dynamic dimensions of the inputs: 128 for all, 0.1=128 for dimension 1 of input
        0. May be given several times.
    pipeline
        Only spaces of this pipeline: `TileAndFuse`, `TileAndFuse:igemm`, `VectorDistribute`.
    count
        Print only how many assignments are legal.
    sample
        Print this many legal assignments and what they stand for.
    seed
        Decides which assignments are sampled.
    compile_
        Compile each sample to a VM module, and print how it ended. Exit status 1 unless all compile.
    why
        Print what is wrong with an assignment (`wg_0=64,wg_1=128`, or JSON), or `default` for the compiler's
        own choice. Exit status 1 when it is in none of the spaces.
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

    target: str | None = None
    device: str = DEFAULT_DEVICE
    dim: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    pipeline: str | None = None
    count: Annotated[bool, Parameter(negative="")] = False
    sample: int = 0
    seed: int = 0
    compile_: Annotated[bool, Parameter(name="--compile", negative="")] = False
    why: str | None = None
    smtlib: Annotated[bool, Parameter(negative="")] = False
    mlir: Annotated[bool, Parameter(name=("--mlir", "--ir"), negative="")] = False
    supplements: bool = True
    jobs: int | None = None
    timeout: float = 60.0
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False


_DEFAULTS = SpaceFlags()
_NO_FLAGS = CompilerFlags()


def space(
    source: ProgramName, /, *, flags: SpaceFlags = _DEFAULTS, compiling: CompilerFlags = _NO_FLAGS
) -> int:
    """Print the search spaces of each workload: sizes, knobs and samples; or try samples in the compiler.

    Example: `iree-tuner space model.mlir --target hip:gfx942 --sample 20 --compile`

    Parameters
    ----------
    source
        A program, whose dispatches are extracted; or workloads as JSON, one a line (as `extract --json`
        prints them, or bare), `-` for standard input. Spaces of CUDA and ROCm need a program.
    """
    if flags.sample < 0:
        raise UsageError(f"--sample must not be negative, but is {flags.sample}")
    if flags.timeout <= 0:
        raise UsageError(f"--timeout must be above 0, but is {flags.timeout:g}")
    if flags.compile_ and not flags.sample:
        raise UsageError("--compile needs samples to compile", hint="add --sample 20")
    program = opened(source)
    target = compiling.on(chosen_target(program, flags.target, flags.device))
    shown = Shown(
        count=flags.count,
        sample=flags.sample,
        seed=flags.seed,
        why=flags.why,
        smtlib=flags.smtlib,
        mlir=flags.mlir,
        as_json=flags.as_json,
    )
    compilation = Compilation(
        target, flags.sample, flags.seed, flags.jobs, flags.timeout, as_json=flags.as_json
    )
    answers: list[bool] = []
    for given in read_spaces(program, target, flags.dim, supplements=flags.supplements):
        own: list[bool] = []
        for built in given.spaces:
            if flags.pipeline in (None, built.pipeline, built.label):
                own.append(
                    compile_samples(given, built, compilation)
                    if flags.compile_
                    else show(given, built, shown)
                )
        # An assignment is meant for one of a workload's spaces; samples are taken from all of them.
        if own:
            answers.append(any(own) if flags.why is not None else all(own))
    if not answers:
        wanted = f" of the pipeline {flags.pipeline}" if flags.pipeline else ""
        raise TunerError(f"no workload has a space{wanted}", location=source)
    return 0 if all(answers) else 1
