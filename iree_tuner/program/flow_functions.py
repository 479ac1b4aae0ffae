"""The functions of a module at phase `flow`: calls are inlined, some are chosen, others removed."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from iree_tuner.compiler.session import CompilerSession
from iree_tuner.errors import TunerError
from iree_tuner.program.entries import ASYNC, FILLED, plain_name
from iree_tuner.program.fillings import is_public_function, symbol_of
from iree_tuner.program.flow_ops import CALL, callee_of, dispatches, executables_of, nested
from iree_tuner.program.harness import run_passes

_POLICY = "inlining_policy"


def inline(module: ir.Module, session: CompilerSession) -> None:
    """Put the bodies of private functions where they are called."""
    functions = [view.operation for view in module.body.operations if view.operation.name == "util.func"]
    private = {symbol_of(op): op for op in functions if not is_public_function(op) and _has_body(op)}
    called = {callee_of(op) for function in functions for op in nested(function) if op.name == CALL}
    for op in (private[symbol] for symbol in called & private.keys()):
        if _POLICY in op.attributes:
            del op.attributes[_POLICY]
    if called & private.keys():
        run_passes(module, session, "builtin.module(inline)")


def _has_body(function: ir.Operation) -> bool:
    return bool(list(function.regions[0].blocks))


def find_functions(module: ir.Module, name: str, functions: Sequence[str]) -> list[ir.Operation]:
    """The functions with these names, or all; of twins with and without fences the one that has code.

    Raises TunerError where none of them has dispatches.
    """
    every = {symbol_of(view.operation): view.operation
             for view in module.body.operations if is_public_function(view.operation)}  # fmt: skip
    own = {symbol: op for symbol, op in every.items() if not symbol.endswith(FILLED)}
    asked = functions or list(dict.fromkeys(map(plain_name, own)))
    found: list[ir.Operation] = []
    for each in asked:
        twins = [own[symbol] for symbol in (each, f"{each}{ASYNC}") if symbol in own]
        found += [op for op in twins if any(True for _ in dispatches(op))][:1] or twins[:1]
    if not any(True for op in found for _ in dispatches(op)):
        called = f" is called {', '.join(functions)}" if functions else ""
        raise TunerError(f"no function with dispatches{called}", location=name)
    return found


def erase_others(module: ir.Module, made: set[str]) -> None:
    """Remove code that is not needed: other functions, and executables that none of ours call."""
    used = set[str]()
    for view in list(module.body.operations):
        op = view.operation
        if op.name != "util.func":
            continue
        if symbol_of(op) in made:
            used |= _used_by(op)
        elif is_public_function(op):
            op.erase()
        else:
            used |= _used_by(op)
    for view in list(module.body.operations):
        op = view.operation
        if op.name == "util.initializer":
            used |= _used_by(op)
    for view in list(module.body.operations):
        op = view.operation
        if op.name == "flow.executable" and symbol_of(op) not in used:
            op.erase()


def _used_by(function: ir.Operation) -> set[str]:
    return {each for op in dispatches(function) for each in executables_of(op)}
