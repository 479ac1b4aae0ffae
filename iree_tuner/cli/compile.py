"""`iree-tuner compile`: a program with the result of a tuning run, in one command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from iree.compiler import ir

from iree_tuner.cli.output import people, print_json
from iree_tuner.cli.program_name import ProgramName
from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError
from iree_tuner.files import note_input, planned_output, write
from iree_tuner.kernels.bench import SPEC_FLAG, with_flags
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import load_program
from iree_tuner.spec.embed import embed_bytes
from iree_tuner.spec.entry import read_flags
from iree_tuner.spec.io import load_spec
from iree_tuner.targets import Target, parse_target


def compile_(
    program: ProgramName,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    spec: Path | None = None,
    kernels: Path | None = None,
    target: str = "llvm-cpu:host",
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Compile a program with a tuning spec, and with the compiler flags that the spec was made with.

    Example: `iree-tuner compile model.mlir --spec model.spec.mlir -o tuned.vmfb`

    Parameters
    ----------
    program
        MLIR text or bytecode in any input dialect of the compiler, or an ONNX model; - is standard input.
    output
        The compiled program, .vmfb.
    spec
        What `iree-tuner tune` wrote; without one the program is compiled as the compiler makes it.
    kernels
        What `iree-tuner kernel` wrote.
    target
        What to compile for: llvm-cpu:host, cuda:sm_80, hip:gfx942, vulkan:ampere.
    as_json
        Print what was done as JSON.
    """
    source, chosen = load_program(program), parse_target(target)
    if spec is not None:
        module = load_spec(spec, new_context())
        chosen = with_own_flags(chosen, module)
        source = replace(source, data=embed_bytes(source.data, to_bytecode(module), name=source.name))
    if kernels is not None:
        if not kernels.is_file():
            raise TunerError("no such file", location=str(kernels))
        note_input(kernels)
        chosen = with_flags(chosen, (f"{SPEC_FLAG}={kernels.resolve()}",))
    planned_output(output, ".vmfb")
    with Workers(1) as workers, people.status("compiling"):
        vmfb = compile_program(source, chosen, workers).data
    write(output, vmfb)
    record = {"program": program, "output": str(output), "flags": list(chosen.flags), "bytes": len(vmfb)}
    if as_json:
        print_json(record)
    people.print(f"{output}: {len(vmfb)} bytes, {' '.join(chosen.flags)}", soft_wrap=True, markup=False)
    return 0


def with_own_flags(target: Target, spec: ir.Module) -> Target:
    """The target with the flags that a spec was made with."""
    flags = tuple(flag for flag in read_flags(spec) if flag not in target.flags)
    return replace(target, flags=(*target.flags, *flags))
