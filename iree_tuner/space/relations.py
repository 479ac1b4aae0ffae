"""The asserts as relations between indices into domains, evaluated for many rows of them at once.

A row gives some variables a value each. Asserts, and parts of them, that concern few values are
tabulated once and looked up for each row. That is most of why enumeration is fast.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from iree_tuner.space.bounds import Bounds, combinations, conditions, find_domains, grid, group, tabulate
from iree_tuner.space.definitions import solve
from iree_tuner.space.interpreter import Array, Node, Program

_SMALL = 1 << 10
"""A table of so few cells is worth its while for any number of rows."""


class Rows:
    """Indices into domains, a column for each bound variable.

    Args:
        length: how many rows.
        columns: what is known already.
        base: rows to gather other columns from, when they are asked for.
        which: the places in `base` of these rows.
    """

    def __init__(
        self, length: int, columns: dict[str, Array], base: Rows | None = None, which: Array | None = None
    ) -> None:
        self.length = length
        self._columns = columns
        self._base = base
        self._which = which

    @property
    def names(self) -> frozenset[str]:
        """The bound variables."""
        return frozenset(self._columns) | (self._base.names if self._base else frozenset())

    def column(self, name: str) -> Array:
        """The indices of one variable."""
        if name not in self._columns:
            assert self._base is not None, f"{name} is not bound"
            self._columns[name] = self._base.column(name)[self._which]
        return self._columns[name]

    def take(self, which: Array) -> Rows:
        """Some of the rows, by their places."""
        if self._base is None or self._which is None:
            return Rows(len(which), {}, self, which)
        columns = {name: column[which] for name, column in self._columns.items()}
        return Rows(len(which), columns, self._base, self._which[which])

    def bind(self, name: str, column: Array) -> Rows:
        """The same rows with one more variable."""
        return Rows(self.length, self._columns | {name: column}, self._base, self._which)

    def only(self, names: Iterable[str]) -> Rows:
        """The same rows with some of the variables, gathered, so that they stand on their own."""
        return Rows(self.length, {name: self.column(name) for name in names})


@dataclass(frozen=True, eq=False)
class Relation:
    """The conditions that depend on the same variables, among variables that have several values."""

    names: tuple[str, ...]
    parts: tuple[Node, ...]
    cells: int


class Relations:
    """The conditions of a program, for evaluation on rows.

    Attributes:
        domains: the values of every variable, ascending.
        free: variables with several values; the others have no column in rows.
        possible: False when it is known already that there is no member.
    """

    def __init__(self, program: Program) -> None:
        parts = conditions(program)
        self.domains = find_domains(program)
        self._fixed = grid((), self.domains)
        self.free = tuple(name for name, values in self.domains.items() if len(values) != 1)
        self._tables: dict[Node | Relation, Array] = {}
        self.possible = all(len(values) for values in self.domains.values())
        self.all: list[Relation] = []
        for support, together in group(parts, self.domains).items() if self.possible else ():
            relation = Relation(tuple(sorted(support)), tuple(together), combinations(support, self.domains))
            if relation.cells > _SMALL or not self.table(relation).all():
                self.all.append(relation)
            self.possible &= relation.cells > _SMALL or bool(self.table(relation).any())
        self.all.sort(key=lambda relation: relation.cells)
        self._definitions: dict[str, list[tuple[Relation, Node]]] = {}

    @cached_property
    def _bounds(self) -> Bounds:
        return Bounds({name: (int(values[0]), int(values[-1])) for name, values in self.domains.items()})

    def index_type(self, name: str) -> np.dtype[np.unsignedinteger]:
        """The smallest type that an index into a variable's domain fits."""
        return np.min_scalar_type(len(self.domains[name]))

    def needed(self, bound: frozenset[str], name: str) -> list[Relation]:
        """The relations that can be decided once `name` is bound, and could not before; small ones first."""
        return [r for r in self.all if name in r.names and bound.issuperset(n for n in r.names if n != name)]

    def definition(self, bound: frozenset[str], name: str) -> Node | None:
        """An expression of bound variables that `name` equals in every member, if one is known."""
        if name not in self._definitions:
            solved = [(r, solve(p, name, self._bounds)) for r in self.all if name in r.names for p in r.parts]
            self._definitions[name] = [(r, node) for r, node in solved if node is not None]
        for relation, node in self._definitions[name]:
            if bound.issuperset(each for each in relation.names if each != name):
                return node
        return None

    def is_result(self, name: str) -> bool:
        """Whether an assert says `name == expression`, with the variable alone on its side."""
        parts = [p for r in self.all if name in r.names for p in r.parts if p.kind == "smt.eq"]
        return any(o.kind == "variable" and o.data == name for p in parts for o in p.operands)

    def table(self, relation: Relation) -> Array:
        """Whether the relation holds, with an axis for each of its variables."""
        if relation not in self._tables:
            self._tables[relation] = tabulate(list(relation.parts), relation.names, self.domains)
        return self._tables[relation]

    def holds(self, relation: Relation, rows: Rows) -> NDArray[np.bool_]:
        """For which rows, which bind the relation's variables."""
        if self._worth(relation, relation.cells, rows):
            return self.table(relation).ravel().take(self.key(relation.names, rows))
        cache: dict[Node, Array] = {}
        held = np.ones(rows.length, dtype=bool)
        for part in relation.parts:
            held &= self._value(part, rows, cache)
        return held

    def value(self, node: Node, rows: Rows) -> Array:
        """The value of an expression in each row."""
        return np.broadcast_to(self._value(node, rows, {}), (rows.length,))

    def key(self, names: tuple[str, ...], rows: Rows) -> Array:
        """The place of each row in a table with an axis for each of `names`."""
        key = np.zeros(rows.length, np.intp)
        for name in names:
            if len(self.domains[name]) != 1:
                key *= len(self.domains[name])
                key += rows.column(name)
        return key

    def _worth(self, what: Node | Relation, cells: int, rows: Rows) -> bool:
        return what in self._tables or cells <= max(_SMALL, rows.length)

    def _value(self, node: Node, rows: Rows, cache: dict[Node, Array]) -> Array:
        if node not in cache:
            cache[node] = self._compute(node, rows, cache)
        return cache[node]

    def _compute(self, node: Node, rows: Rows, cache: dict[Node, Array]) -> Array:
        names = tuple(sorted(node.support - self._fixed.keys()))
        if not names:
            return node.evaluate(self._fixed)
        if node.kind == "variable":
            return self.domains[node.data].take(rows.column(node.data))
        if self._worth(node, combinations(frozenset(names), self.domains), rows):
            if node not in self._tables:
                shape = tuple(len(self.domains[name]) for name in names)
                self._tables[node] = np.broadcast_to(node.evaluate(grid(names, self.domains)), shape).ravel()
            return self._tables[node].take(self.key(names, rows))
        return node.apply([self._value(operand, rows, cache) for operand in node.operands])
