"""`iree-tuner space`: print the search spaces of workloads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.extract import chosen_target
from iree_tuner.cli.inputs import opened
from iree_tuner.cli.program_name import ProgramName
from iree_tuner.cli.space_compile import SampleCompilation, compile_samples
from iree_tuner.cli.space_inputs import read_spaces
from iree_tuner.cli.space_show import Shown, show
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.targets.registry import DEFAULT_DEVICE
from iree_tuner.tuning.options import CompilerFlags


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SpaceFlags:
    """Options of `space`.

    Attributes
    ----------
    target
        Target: `llvm-cpu:znver4`, `cuda:sm_80`, `hip:gfx942`, `vulkan:ampere`.
    device
        Use the target of this device instead. A file that the compiler dumped names its own target, which is
        the default for it.
    dim
        Set the size of dynamic input dimensions: 128 sets all, 0.1=128 sets dimension 1 of input 0.
        Repeatable.
    pipeline
        Print only this pipeline's spaces: `TileAndFuse`, `TileAndFuse:igemm`, `VectorDistribute`.
    count
        Print only the number of legal assignments.
    sample
        Print this many random legal assignments and the configurations that they set.
    seed
        Seed of the sample.
    compile_
        Compile each sampled assignment and print the outcome. Exit status 1 unless all compile.
    why
        Explain why an assignment (`wg_0=64,wg_1=128`, or JSON) is illegal. `default` stands for the
        compiler's own choice. Exit status 1 if no space contains it.
    smtlib
        Print the constraints as SMT-LIB.
    mlir
        Print the constraints as IR.
    supplements
        Correct the compiler's constraints where they are known to be wrong.
    jobs
        Number of compile workers. Default: one per core.
    timeout
        Time limit for one compilation in seconds.
    as_json
        Print JSON, one object per space (with `--compile`, one per sample).
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
    """Print the search spaces of a program's workloads: size, knobs, constraints and samples.

    A space has the knobs of one compiler pipeline and the constraints between them.

    Example: `iree-tuner space model.mlir --target hip:gfx942 --sample 20 --compile`

    Parameters
    ----------
    source
        A program. Or workloads as JSON, one per line, as `extract --json` prints them. `-` reads standard
        input. Spaces for CUDA and ROCm require a program.
    """
    if flags.sample < 0:
        raise UsageError(f"--sample must not be negative, but is {flags.sample}")
    if flags.timeout <= 0:
        raise UsageError(f"--timeout must be above 0, but is {flags.timeout:g}")
    if flags.compile_ and not flags.sample:
        raise UsageError("--compile requires samples", hint="add --sample 20")
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
    compilation = SampleCompilation(
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
