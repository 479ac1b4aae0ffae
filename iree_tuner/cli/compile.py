"""`iree-tuner compile`: compile a program with a spec in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from iree.compiler import ir

from iree_tuner.cli.inputs import NO_FLAGS, ProgramName, opened
from iree_tuner.cli.output import Json, people, print_json
from iree_tuner.cli.spec import tell_calls, tell_hits, with_own_flags
from iree_tuner.cli.tuned import with_kernels
from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import UsageError
from iree_tuner.files import planned_output, write
from iree_tuner.program.phases import submit_program
from iree_tuner.program.provided_memory import with_provided_memory
from iree_tuner.program.source import Program
from iree_tuner.spec.check import MatcherHits, check_against_program
from iree_tuner.spec.external import SPEC_FLAG, KernelUse, count_calls_here
from iree_tuner.spec.io import load_spec
from iree_tuner.targets import Target, parse_target
from iree_tuner.tuning.options import CompilerFlags
from iree_tuner.tuning.versions import with_spec


def compile_(
    program: ProgramName,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    spec: Path | None = None,
    kernels: Path | None = None,
    target: str = "llvm-cpu:host",
    compiling: CompilerFlags = NO_FLAGS,
    provided_memory: Annotated[bool, Parameter(negative="")] = False,
    strict: Annotated[bool, Parameter(negative="")] = False,
    as_json: Json = False,
) -> int:
    """Compile a program with a tuning spec and with the compiler flags that the spec records.

    The command prints how many of the spec's matchers hit a dispatch of the program, and how many dispatches
    run kernels.

    Example: `iree-tuner compile model.mlir --spec model.spec.mlir -o tuned.vmfb`

    Parameters
    ----------
    output
        Write the compiled program to this file, .vmfb.
    spec
        Apply this spec, written by `iree-tuner tune`. Default: compile without a spec.
    kernels
        Use the external kernels of this spec, written by `iree-tuner kernel` or `tune --kernels`.
    target
        Compile for this target: llvm-cpu:host, cuda:sm_80, hip:gfx942, vulkan:ampere.
    provided_memory
        Let functions take the memory of their results and temporary values as further arguments: a tensor per
        result, and a `!hal.buffer` of `FUNCTION_transients_size` bytes. On a GPU calls then overlap.
    strict
        Fail if none of the spec's matchers hit a dispatch of the program, or if no dispatch runs a kernel of
        `--kernels`. Default: warn.
    as_json
        Print the flags, the size and the numbers of hits and of dispatches that run kernels in JSON form.
    """
    source, chosen = opened(program), compiling.on(parse_target(target))
    if provided_memory:
        source = with_provided_memory(source)
    if strict and spec is None and kernels is None:
        raise UsageError("--strict requires --spec or --kernels")
    module = None if spec is None else load_spec(spec, new_context())
    if module is not None:
        chosen = with_own_flags(chosen, module)
    flags = [*chosen.flags, *([] if kernels is None else [f"{SPEC_FLAG}={kernels}"])]
    planned_output(output, ".vmfb")
    with with_kernels(chosen, kernels) as chosen, people.status("compiling"):
        vmfb, matchers, calls = _compiled(source, module, chosen, counted=kernels is not None)
    hits = {} if spec is None else tell_hits(spec, matchers, strict=strict)
    hits |= {} if kernels is None else tell_calls(kernels, calls, strict=strict)
    write(output, vmfb)
    record = {"program": program, "output": str(output), "flags": flags, "bytes": len(vmfb), **hits}
    if as_json:
        print_json(record)
    people.print(f"{output}: {len(vmfb)} bytes, {' '.join(flags)}", soft_wrap=True)
    return 0


def _compiled(
    source: Program, spec: ir.Module | None, target: Target, *, counted: bool
) -> tuple[bytes, tuple[MatcherHits, ...], KernelUse]:
    """Compile the program with the spec, and count at the same time what hits: matchers, and kernels."""
    tuned, matchers = source, ()
    if spec is not None:
        tuned = with_spec(source, to_bytecode(spec))
    with Workers(2) as workers:
        compiling = submit_program(tuned, target, workers)
        counting = workers.submit(count_calls_here, source.data, source.name, target) if counted else None
        if spec is not None:
            found = check_against_program(spec, source.data, target, name=source.name, workers=workers)
            matchers = found.matchers
        vmfb = workers.wait(compiling).data  # first: what it refuses is what the user needs to know
        return vmfb, matchers, workers.wait(counting) if counting else KernelUse(0, 0)
