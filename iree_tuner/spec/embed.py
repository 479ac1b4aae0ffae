"""A spec inside a program, so that plain `iree-compile` applies it, on every target.

The compiler's path flag is ignored on CUDA and Vulkan; the attribute is read everywhere.
"""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.compiler.session import parse_module
from iree_tuner.errors import TunerError
from iree_tuner.spec.grammar import ENTRYPOINT_NAME, IN_MEMORY
from iree_tuner.spec.io import to_attribute
from iree_tuner.spec.link import link_specs


def embed(program: ir.Module, spec: ir.Module | bytes, *, replace: bool = False) -> None:
    """Put a spec on a program's outermost module, in place. Their contexts may differ.

    Raises:
        TunerError: the program carries a spec already, and `replace` is not set.
    """
    if IN_MEMORY in program.operation.attributes and not replace:
        raise TunerError("the program carries a tuning spec already", hint="replace it, or link the two")
    data = _as_the_compiler_reads_it(spec if isinstance(spec, bytes) else to_bytecode(spec))
    with program.context, ir.Location.unknown(program.context):
        program.operation.attributes[IN_MEMORY] = to_attribute(data)


def _as_the_compiler_reads_it(spec: bytes) -> bytes:
    """In memory the compiler looks for an entry point of one name, and not for its attribute as in a file."""
    if ENTRYPOINT_NAME.encode() in spec:
        return spec
    return to_bytecode(link_specs([parse_module(spec, new_context(), "spec")]))


def embed_bytes(
    program: bytes | str, spec: bytes, *, name: str = "program.mlir", replace: bool = False
) -> bytes:
    """The same for a program's text or bytecode and a spec's bytecode; returns bytecode."""
    module = parse_module(program, new_context(), name)
    embed(module, spec, replace=replace)
    return to_bytecode(module)
