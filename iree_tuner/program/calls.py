"""Count how often a program calls each dispatch, on IR at the phase `executable-sources`."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from iree_tuner.errors import TunerError
from iree_tuner.program.dispatch import CallCount
from iree_tuner.program.entries import ASYNC, plain_name

DISPATCH = "stream.cmd.dispatch"
_FUNCTIONS = ("util.func", "func.func")
_CALLS = ("util.call", "func.call")
_LOOPS = ("scf.for", "scf.while", "scf.forall", "scf.parallel")


def count_calls(module: ir.Module, entries: Sequence[str] = ()) -> dict[str, CallCount]:
    """Calls by export name, summed over the entry functions: the public ones that no other function calls.

    Sites in initializers run once, while the program is loaded, and count nothing.

    Args:
        module: at `executable-sources`.
        entries: names of the functions that count instead.

    Raises:
        TunerError: there is no such function.
    """
    functions = {_name(op): op for op in _top_level(module) if op.name in _FUNCTIONS}
    sites = {name: _sites(function) for name, function in functions.items()}
    called = {callee for found in sites.values() for callee, _, is_call in found if is_call}
    public = [name for name, op in functions.items() if _is_public(op) and name not in called]
    entries = [each if each in functions else each + ASYNC for each in entries]
    for entry in entries:
        if entry not in functions:
            raise TunerError(
                f"the program has no entry function '{plain_name(entry)}'",
                hint=f"one of: {', '.join(map(plain_name, public))}",
            )
    totals: dict[str, CallCount] = {}
    for entry in entries or public:
        for export, calls in _reach(entry, sites, in_loop=False, above=()).items():
            totals[export] = _add(totals.get(export), calls)
    return totals


def dispatched_exports(module: ir.Module) -> set[str]:
    """The exports that something in a module at `executable-sources` dispatches, called or not."""
    return {symbol for op in _top_level(module) for symbol, _, is_call in _sites(op) if not is_call}


Site = tuple[str, bool, bool]  # symbol, in a loop, whether it is a function


def _reach(
    entry: str, sites: dict[str, list[Site]], in_loop: bool, above: tuple[str, ...]
) -> dict[str, CallCount]:
    totals: dict[str, CallCount] = {}
    if entry in above:  # recursion: the sites below are counted once already
        return totals
    for symbol, loops, is_call in sites.get(entry, []):
        looped = in_loop or loops
        found = _reach(symbol, sites, looped, (*above, entry)) if is_call else {symbol: CallCount(1, looped)}
        for export, calls in found.items():
            totals[export] = _add(totals.get(export), calls)
    return totals


def _add(first: CallCount | None, second: CallCount) -> CallCount:
    if first is None:
        return second
    return CallCount(first.count + second.count, first.in_loop or second.in_loop)


def _sites(function: ir.Operation) -> list[Site]:
    found: list[Site] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == DISPATCH:
            for entry in ir.ArrayAttr(op.attributes["entry_points"]):
                found.append((ir.SymbolRefAttr(entry).value[-1], _in_loop(op, function), False))
        elif op.name in _CALLS:
            callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            found.append((callee, _in_loop(op, function), True))
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return found


def _in_loop(op: ir.Operation, function: ir.Operation) -> bool:
    current = op
    while current != function:
        if current.name in _LOOPS or _block_repeats(current.block):
            return True
        current = current.parent.operation
    return False


def _block_repeats(block: ir.Block) -> bool:
    """Whether control flow leads from the block back to it."""
    seen: list[ir.Block] = []
    pending = list(block.successors)
    while pending:
        current = pending.pop()
        if current == block:
            return True
        if current not in seen:
            seen.append(current)
            pending.extend(current.successors)
    return False


def _top_level(module: ir.Module) -> list[ir.Operation]:
    return [view.operation for view in module.body.operations]


def _name(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value


def _is_public(op: ir.Operation) -> bool:
    if "sym_visibility" not in op.attributes:
        return True
    return ir.StringAttr(op.attributes["sym_visibility"]).value == "public"
