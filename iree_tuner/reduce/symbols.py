"""Edits that take out whole symbols: functions, globals, executables, sequences; and the entries of specs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from iree.compiler import ir

from iree_tuner.reduce.parts import attributes_of, parts_of
from iree_tuner.spec.grammar import pairs, symbol_name

Edit = Callable[[], object]
"""Changes the module that it was made for, or does nothing where it cannot.

A step is a function from a module to a list of edits. They are made in the order of the list; any may be left
out.
"""

_MODULE = "builtin.module"


def entries(module: ir.Module) -> list[Edit]:
    """Take matchers and their actions out of `foreach_match`; the op itself with its last pair."""
    edits: list[Edit] = []
    kept: dict[ir.Operation, set[int]] = {}
    for pair in pairs(module):
        kept.setdefault(pair.foreach_match, set()).add(pair.index)
        edits.append(partial(_drop_pair, pair.foreach_match, kept[pair.foreach_match], pair.index))
    return edits


def _drop_pair(op: ir.Operation, kept: set[int], index: int) -> None:
    position = sorted(kept).index(index)
    kept.remove(index)
    if kept:
        for name in ("matchers", "actions"):
            symbols = list(ir.ArrayAttr(op.attributes[name]))
            op.attributes[name] = ir.ArrayAttr.get([*symbols[:position], *symbols[position + 1 :]])
    elif len(op.results) == len(op.operands):
        for result, operand in zip(op.results, op.operands, strict=True):
            result.replace_all_uses_with(operand)
        op.erase()


@dataclass
class _Symbol:
    """An op that can be taken out as a whole.

    Attributes:
        op: a symbol, or another op next to symbols in a module.
        inside: the symbols that it is in, outermost first, by their numbers.
        held_by: for each reference to it, the symbols that the reference is in.
        erased: whether it is gone.
    """

    op: ir.Operation
    inside: tuple[int, ...]
    held_by: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    erased: bool = False


def top_level(module: ir.Module) -> list[Edit]:
    """Take out what is at the top of the module and nothing left refers to."""
    return _edits(module, lambda symbol: not symbol.inside)


def nested(module: ir.Module) -> list[Edit]:
    """Take out what is at the top of modules, executables and variants inside the module."""
    return _edits(module, lambda symbol: bool(symbol.inside))


def _edits(module: ir.Module, wanted: Callable[[_Symbol], bool]) -> list[Edit]:
    symbols = list[_Symbol]()
    _collect(module.operation, (), symbols)
    numbers = {symbol.op: number for number, symbol in enumerate(symbols)}
    _refer(module.operation, (), [], numbers, symbols)

    def erase(number: int) -> None:
        symbol = symbols[number]
        if any(symbols[outer].erased for outer in symbol.inside):
            return
        for holders in symbol.held_by:
            if number not in holders and not any(symbols[each].erased for each in holders):
                return
        symbol.op.erase()
        symbol.erased = True

    order = [number for number in _users_first(symbols) if wanted(symbols[number])]
    return [partial(erase, number) for number in order]


def _collect(op: ir.Operation, inside: tuple[int, ...], symbols: list[_Symbol]) -> None:
    """Find the symbols in an op, outer ones before inner ones."""
    for inner in _children(op):
        if op.name == _MODULE or (symbol_name(inner) and not inner.has_trait(ir.IsTerminatorTrait)):
            symbols.append(_Symbol(inner, inside))
            _collect(inner, (*inside, len(symbols) - 1), symbols)
        else:
            _collect(inner, inside, symbols)


def _refer(
    op: ir.Operation,
    inside: tuple[int, ...],
    scopes: list[Mapping[str, ir.Operation]],
    numbers: Mapping[ir.Operation, int],
    symbols: list[_Symbol],
) -> None:
    """Note each reference in an op at the symbols that it names."""
    if op in numbers:
        inside = (*inside, numbers[op])
    for path in _paths(attributes_of(op).values()):
        scope = next((each for each in reversed(scopes) if path[0] in each), {})
        for name in path:
            if (target := scope.get(name)) is None:
                break
            symbols[numbers[target]].held_by.append(inside)
            scope = _scope(target, numbers)
    scopes.append(_scope(op, numbers))
    for inner in _children(op):
        _refer(inner, inside, scopes, numbers, symbols)
    scopes.pop()


def _scope(op: ir.Operation, numbers: Mapping[ir.Operation, int]) -> dict[str, ir.Operation]:
    return {symbol_name(inner): inner for inner in _children(op) if inner in numbers}


def _children(op: ir.Operation) -> Iterator[ir.Operation]:
    return (inner.operation for region in op.regions for block in region for inner in block)


def _paths(attributes: Iterable[ir.Attribute]) -> Iterator[list[str]]:
    """The references in attributes, each as names from the outermost."""
    for attribute in attributes:
        if isinstance(attribute, ir.FlatSymbolRefAttr):
            yield [attribute.value]
        elif isinstance(attribute, ir.SymbolRefAttr):
            yield list(attribute.value)
        else:
            yield from _paths(parts_of(attribute).values())


def _users_first(symbols: list[_Symbol]) -> list[int]:
    """Their numbers, each after the numbers of symbols that refer to it, if there is no cycle."""
    order: dict[int, None] = {}
    entered: set[int] = set()
    for first in range(len(symbols)):
        way = [first]  # not by recursion: calls may be nested as deep as there are functions
        while way:
            number = way[-1]
            entered.add(number)
            holders = (holder for inside in symbols[number].held_by for holder in inside)
            user = next((holder for holder in holders if holder not in entered), None)
            if user is not None:
                way.append(user)
            else:
                order.setdefault(way.pop())
    return list(order)
