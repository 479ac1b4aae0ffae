"""The facts about a program that calls dumped dispatches (`program.dump`), in a module that loads fast."""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.session import CompilerSession, parse_module
from iree_tuner.program.harness import run_passes
from iree_tuner.targets import Target, parse_target
from iree_tuner.targets.limits import target_name

CONFIGURED = "iree_tuner.configured"
"""On the function of a dispatch that the compiler had configured."""

DUMPED_FOR = "iree_tuner.dumped_for"
"""On a program: the `#hal.executable.target` of its dispatches."""


def dumped_for(module: ir.Module) -> str:
    """The target of a lifted program's dispatches, as `--target` takes it; empty for others."""
    attributes = module.operation.attributes
    return target_name(attributes[DUMPED_FOR]) if DUMPED_FOR in attributes else ""


def own_target(data: bytes, name: str) -> Target | None:
    """The target of a program's dumped dispatches; None where it is no dump. Raises UsageError if unknown."""
    if DUMPED_FOR.encode() not in data:
        return None
    return parse_target(dumped_for(parse_module(data, new_context(), name)))


def take_mark(function: ir.Operation) -> bool:
    """Whether the compiler had configured a dispatch when it was dumped; the mark of that is erased."""
    marked = CONFIGURED in function.attributes
    if marked:
        del function.attributes[CONFIGURED]
    return marked


def settle(module: ir.Module, session: CompilerSession) -> None:
    """Let what a lifted program hides from the compiler be the constants that they are, once it is split.

    A dispatch that takes its sizes would be made static otherwise, and another one than was dumped.
    """
    hidden: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "util.optimization_barrier":
            hidden.append(op)
        return ir.WalkResult.ADVANCE

    if DUMPED_FOR in module.operation.attributes:
        module.operation.walk(visit)
    for op in hidden:
        op.result.replace_all_uses_with(op.operands[0])
        op.erase()
    if hidden:
        run_passes(module, session, "builtin.module(util.func(canonicalize,cse))")
