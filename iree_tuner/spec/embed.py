"""A spec inside a program, so that plain `iree-compile` applies it, on every target.

The compiler's path flag is ignored on CUDA and Vulkan; the attribute is read everywhere.
"""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.compiler.session import parse_module
from iree_tuner.program.carried import IN_MEMORY
from iree_tuner.spec.grammar import entry_sequence, runs_by_name
from iree_tuner.spec.io import from_attribute, load_spec, to_attribute
from iree_tuner.spec.link import link_specs


def embed(program: ir.Module, spec: ir.Module | bytes, *, replace: bool = False) -> None:
    """Put a spec on a program's outermost module, in place. Their contexts may differ.

    A spec that the program carries keeps what it configures: the two are linked, unless it is to be replaced.

    Raises:
        TunerError: both configure the same op, differently.
    """
    data = _as_the_compiler_reads_it(spec, program.context)
    if IN_MEMORY in program.operation.attributes and not replace:
        own = load_spec(from_attribute(program.operation.attributes[IN_MEMORY]), program.context, nested=True)
        added = parse_module(data, program.context, "spec")
        data = to_bytecode(link_specs([own, added], labels=["the program's spec", "the spec"]))
    with program.context, ir.Location.unknown(program.context):
        program.operation.attributes[IN_MEMORY] = to_attribute(data)


def _as_the_compiler_reads_it(spec: ir.Module | bytes, context: ir.Context) -> bytes:
    """Bytecode in which the entry point has the name that the compiler looks for in memory.

    In a file it looks for the attribute, and runs all sequences that have it.
    """
    module = parse_module(spec, context, "spec") if isinstance(spec, bytes) else spec
    if runs_by_name(module) or entry_sequence(module) is None:
        return spec if isinstance(spec, bytes) else to_bytecode(spec)
    return to_bytecode(link_specs([module]))


def embed_bytes(
    program: bytes | str, spec: bytes, *, name: str = "program.mlir", replace: bool = False
) -> bytes:
    """The same for a program's text or bytecode and a spec's bytecode; returns bytecode."""
    module = parse_module(program, new_context(), name)
    embed(module, spec, replace=replace)
    return to_bytecode(module)
