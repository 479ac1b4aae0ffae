"""Dispatches as the compiler has them at the moment at which it applies a spec."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import transform

from iree_tuner.compiler.context import to_bytecode, walk
from iree_tuner.compiler.session import CompileError, CompilerSession
from iree_tuner.spec.embed import embed
from iree_tuner.spec.grammar import DEFAULT_ENTRYPOINT, pairs, symbol_name

_REACHED = "iree_tuner_reached"
_NO_PASS = "iree-tuner-stop"


@dataclass(frozen=True)
class Stopped:
    """A program whose compilation was stopped at a `foreach_match`.

    Attributes:
        program: it holds the ops.
        ops: the ops that the `foreach_match` would visit, by executable, in its order; none for an executable
            that the spec is not applied to.
    """

    program: ir.Module
    ops: dict[str, list[ir.Operation]]


def stop_at(session: CompilerSession, sources: bytes, spec: bytes, index: int) -> Stopped:
    """Compile a program with a spec until the spec gets to the `foreach_match` of one of its pairs.

    All that the spec does before is done. A pass that does not exist ends the compilation of each dispatch
    there, and leaves its IR as it is.

    Args:
        session: to compile in.
        sources: the program at `executable-sources`.
        spec: its bytecode.
        index: of the pair, in `pairs`.
    """
    copy = session.parse(spec)
    match = pairs(copy)[index].foreach_match
    with ir.InsertionPoint(match), ir.Location.unknown(session.context):
        transform.AnnotateOp(match.operands[0], _REACHED)
        stop = transform.ApplyRegisteredPassOp(transform.AnyOpType.get(), match.operands[0], _NO_PASS)
    match.operands[0] = stop.result
    for module in [each for each in walk(copy.operation) if DEFAULT_ENTRYPOINT in each.attributes]:
        del module.attributes[DEFAULT_ENTRYPOINT]  # its grammar has no place for what was added
    program = session.parse(sources)
    embed(program, to_bytecode(copy), replace=True)
    with suppress(CompileError):  # that it stops is what is wanted
        session.run(program, start="executable-sources", stop="executable-configurations")
    inside = "restrict_root" not in match.attributes
    return Stopped(program, {name: _visited(each, inside=inside) for name, each in _executables(program)})


def _executables(program: ir.Module) -> list[tuple[str, ir.Operation]]:
    found = [op.operation for op in program.body.operations]
    return [(symbol_name(op), op) for op in found if op.name == "hal.executable"]


def _visited(executable: ir.Operation, *, inside: bool) -> list[ir.Operation]:
    """The ops that were handed to `foreach_match`, with all that is in them; the note is taken off."""
    roots = [op for op in walk(executable) if _REACHED in op.attributes]
    for root in roots:
        del root.attributes[_REACHED]
    found = [op for root in roots for op in (walk(root) if inside else (root,))]
    return list(dict.fromkeys(found))
