"""Apply a script to the functions of dispatches, as the compiler does, outside of its pipeline."""

from __future__ import annotations

from iree.compiler import ir
from iree.compiler.dialects.transform import interpreter

from iree_tuner.compiler.session import CompilerSession
from iree_tuner.program.extract import prepare
from iree_tuner.program.harness import run_passes
from iree_tuner.script.places import symbol_of, walk
from iree_tuner.script.script import ENTRY
from iree_tuner.targets import Target

# The compiler makes it when it begins to configure executables; scripts set the number of workgroups in it.
_DISPATCH_CONFIG = (
    "builtin.module(hal.executable(hal.executable.variant(iree-codegen-create-dispatch-config)))"
)


def prepare_for_scripts(module: ir.Module, session: CompilerSession, target: Target) -> None:
    """Bring a program at `executable-sources` to where the compiler applies scripts, in place."""
    run_passes(module, session, _DISPATCH_CONFIG)
    prepare(module, target.preparation, session)


def functions_of(module: ir.Module) -> list[ir.Operation]:
    """The functions of a program's executables."""
    inside = [op for op in walk(module) if op.name == "hal.executable.variant"]
    return [op for variant in inside for op in walk(variant) if op.name == "func.func"]


def apply(function: ir.Operation, script: ir.Module) -> str:
    """Apply a script to a function, in place; what the interpreter says where it fails, else nothing."""
    (entry,) = [op for op in script.body.operations if symbol_of(op.operation) == ENTRY]
    try:
        interpreter.apply_named_sequence(function, entry.operation, script.operation)
    except ValueError as error:
        return str(error)
    return ""
