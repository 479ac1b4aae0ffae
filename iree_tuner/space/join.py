"""Joins the variables of a program one by one, and applies each assert as soon as it can be.

Asserts are relations between indices into domains, evaluated for many rows at once. A row gives some
variables a value each. Asserts, and parts of them, that concern few values are tabulated once and looked up
for each row, which is most of why enumeration is fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from iree_tuner.space.bounds import (
    Bounds,
    combinations,
    conditions,
    find_domains,
    grid,
    group,
    solve,
    tabulate,
)
from iree_tuner.space.interpreter import Array, ConstraintProgram, Expr

_SMALL = 1 << 10
"""A table with no more cells than this pays for any number of rows."""


class Rows:
    """Indices into domains, a column for each bound variable.

    Columns that are not given are gathered, when they are asked for, from the rows of `base` that `which`
    names.
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
        return frozenset(self._columns) | (self._base.names if self._base else frozenset())

    def column(self, name: str) -> Array:
        if name not in self._columns:
            assert self._base is not None, f"{name} is not bound"
            self._columns[name] = self._base.column(name)[self._which]
        return self._columns[name]

    def take(self, which: Array) -> Rows:
        if self._base is None or self._which is None:
            return Rows(len(which), {}, self, which)
        columns = {name: column[which] for name, column in self._columns.items()}
        return Rows(len(which), columns, self._base, self._which[which])

    def bind(self, name: str, column: Array) -> Rows:
        return Rows(self.length, self._columns | {name: column}, self._base, self._which)

    def only(self, names: Iterable[str]) -> Rows:
        """The same rows with only some of the variables, gathered, so that they do not refer to a base."""
        return Rows(self.length, {name: self.column(name) for name in names})


@dataclass(frozen=True, eq=False)
class Relation:
    """The conditions that depend on the same variables, among variables that have several values."""

    names: tuple[str, ...]
    parts: tuple[Expr, ...]
    cells: int


class Relations:
    """The conditions of a program, for evaluation on rows.

    `free` are the variables with several values; the others have no column in rows. It is not `possible` if
    it is known already that there is no member.
    """

    def __init__(self, program: ConstraintProgram) -> None:
        parts = conditions(program)
        self.domains = find_domains(program)
        self._fixed = grid((), self.domains)
        self.free = tuple(name for name, values in self.domains.items() if len(values) != 1)
        self._tables: dict[Expr | Relation, Array] = {}
        self.possible = all(len(values) for values in self.domains.values())
        self.all: list[Relation] = []
        for support, together in group(parts, self.domains).items() if self.possible else ():
            relation = Relation(tuple(sorted(support)), tuple(together), combinations(support, self.domains))
            if relation.cells > _SMALL or not self.table(relation).all():
                self.all.append(relation)
            self.possible &= relation.cells > _SMALL or bool(self.table(relation).any())
        self.all.sort(key=lambda relation: relation.cells)
        self._definitions: dict[str, list[tuple[Relation, Expr]]] = {}

    @cached_property
    def _bounds(self) -> Bounds:
        return Bounds({name: (int(values[0]), int(values[-1])) for name, values in self.domains.items()})

    def index_type(self, name: str) -> np.dtype[np.unsignedinteger]:
        """The smallest type for an index into a variable's domain."""
        return np.min_scalar_type(len(self.domains[name]))

    def needed(self, bound: frozenset[str], name: str) -> list[Relation]:
        """The relations that can be decided once `name` is bound, and could not before; small ones first."""
        return [r for r in self.all if name in r.names and bound.issuperset(n for n in r.names if n != name)]

    def definition(self, bound: frozenset[str], name: str) -> Expr | None:
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
        """Which of the rows, which bind the relation's variables, satisfy it."""
        if self._worth(relation, relation.cells, rows):
            return self.table(relation).ravel().take(self.key(relation.names, rows))
        cache: dict[Expr, Array] = {}
        held = np.ones(rows.length, dtype=bool)
        for part in relation.parts:
            held &= self._value(part, rows, cache)
        return held

    def value(self, node: Expr, rows: Rows) -> Array:
        return np.broadcast_to(self._value(node, rows, {}), (rows.length,))

    def key(self, names: tuple[str, ...], rows: Rows) -> Array:
        """The place of each row in a table with an axis for each of `names`."""
        key = np.zeros(rows.length, np.intp)
        for name in names:
            if len(self.domains[name]) != 1:
                key *= len(self.domains[name])
                key += rows.column(name)
        return key

    def _worth(self, what: Expr | Relation, cells: int, rows: Rows) -> bool:
        return what in self._tables or cells <= max(_SMALL, rows.length)

    def _value(self, node: Expr, rows: Rows, cache: dict[Expr, Array]) -> Array:
        if node in cache:
            return cache[node]
        names = tuple(sorted(node.support - self._fixed.keys()))
        if not names:
            found = node.evaluate(self._fixed)
        elif node.kind == "variable":
            found = self.domains[node.data].take(rows.column(node.data))
        elif self._worth(node, combinations(frozenset(names), self.domains), rows):
            if node not in self._tables:
                shape = tuple(len(self.domains[name]) for name in names)
                self._tables[node] = np.broadcast_to(node.evaluate(grid(names, self.domains)), shape).ravel()
            found = self._tables[node].take(self.key(names, rows))
        else:
            found = node.apply([self._value(operand, rows, cache) for operand in node.operands])
        cache[node] = found
        return found


FRONTIER = 1 << 15
"""How many partial rows are held at once before what remains is done piece by piece, or drawn at random."""

_CHUNK = 1 << 18
"""The most rows that a piece is extended to, which limits the memory needed at once."""

_PLACE = "#"  # stands among the columns, and is no variable


class Join:
    """Extends partial rows to rows of all variables of a program."""

    def __init__(self, program: ConstraintProgram) -> None:
        self.relations = Relations(program)
        self._program = program
        self._lists: dict[tuple[Relation, str], tuple[Array, Array, Array]] = {}
        self._next: dict[tuple[frozenset[str], tuple[str, ...] | None], str | None] = {}
        self._frontiers: dict[int, Rows] = {}

    @property
    def knobs(self) -> tuple[str, ...]:
        return self._program.knobs

    @property
    def auxiliaries(self) -> tuple[str, ...]:
        """The other variables that have several values."""
        return tuple(name for name in self._program.auxiliaries if name in self.relations.free)

    def column(self, rows: Rows, name: str) -> Array:
        """Indices of a variable, also of one with a single value."""
        if name in self.relations.free:
            return rows.column(name)
        return np.zeros(rows.length, np.uint8)

    @cached_property
    def leaders(self) -> tuple[str, ...]:
        """The knobs to choose; an assert makes each other one equal to an expression of these."""
        chosen = [name for name in self.knobs if name in self.relations.free]
        for name in chosen[::-1]:
            rest = frozenset(chosen) - {name}
            if self.relations.is_result(name) and name in self.following(rest, self.relations.free):
                chosen.remove(name)
        return tuple(chosen)

    def start(self) -> Rows:
        """One row that binds nothing; no row if the space has no member."""
        return Rows(int(self.relations.possible), {})

    def next(self, bound: frozenset[str], among: tuple[str, ...] | None = None) -> str | None:
        """The variable to bind next, of some or of all: the one that is expected to multiply rows least."""
        if (bound, among) not in self._next:
            free = [name for name in (self.relations.free if among is None else among) if name not in bound]
            self._next[bound, among] = min(free, key=lambda name: self._growth(bound, name), default=None)
        return self._next[bound, among]

    def following(self, bound: frozenset[str], among: Iterable[str]) -> tuple[str, ...]:
        """Those of some variables whose values follow from the bound ones, in an order to define them in."""
        found: list[str] = []
        rest = [name for name in among if name not in bound]
        while ready := [name for name in rest if self.relations.definition(bound, name) is not None][:1]:
            found.extend(ready)
            rest.remove(ready[0])
            bound = bound.union(ready)
        return tuple(found)

    def values(self, rows: Rows) -> NDArray[np.int64]:
        """The values of all knobs: one line a row."""
        columns = [self.relations.domains[name][self.column(rows, name)] for name in self.knobs]
        return np.stack(columns, axis=1) if columns else np.zeros((rows.length, 0), np.int64)

    def frontier(self, limit: int) -> Rows:
        """All partial rows of as many variables as can be bound with at most `limit` candidates each."""
        if limit not in self._frontiers:
            rows = self.start()
            while (name := self.next(rows.names)) and self._candidates(rows, name) <= limit:
                rows = self.extend(rows, name)
                rows = rows.only(rows.names)
            self._frontiers[limit] = rows
        return self._frontiers[limit]

    def complete(self, rows: Rows) -> Iterator[Rows]:
        """All rows of all variables that extend some rows, in pieces."""
        name = self.next(rows.names)
        if name is None:
            yield rows
            return
        pieces = -(-self._candidates(rows, name) // _CHUNK)
        for which in np.array_split(np.arange(rows.length), pieces) if pieces > 1 else (None,):
            piece = rows if which is None else rows.take(which)
            extended = self.extend(piece, name)
            if extended.length:
                yield from self.complete(extended.only(extended.names))

    def extend(self, rows: Rows, name: str) -> Rows:
        """The rows with each value of one more variable that the relations allow."""
        needed = self.relations.needed(rows.names, name)
        if self.relations.definition(rows.names, name) is not None:
            return self.define(rows, name)
        source = self._source(needed, rows)
        if source is None:
            size = len(self.relations.domains[name])
            place = np.repeat(np.arange(rows.length), size)
            column = np.tile(np.arange(size, dtype=self.relations.index_type(name)), rows.length)
        else:
            counts, starts, values = self._list(source, name)
            keys = self._keys(source, rows, name)
            many = counts[keys]
            place = np.repeat(np.arange(rows.length), many)
            column = values[np.arange(len(place)) + (starts[keys] - np.cumsum(many) + many)[place]]
        return self.select(rows.take(place).bind(name, column), [r for r in needed if r is not source])

    def define(self, rows: Rows, name: str) -> Rows:
        """The rows with the value of a variable that follows from the others, if it is in its domain."""
        definition = self.relations.definition(rows.names, name)
        assert definition is not None, f"{name} does not follow from {sorted(rows.names)}"
        wanted = self.relations.value(definition, rows)
        domain = self.relations.domains[name]
        place = np.minimum(np.searchsorted(domain, wanted), len(domain) - 1)
        needed = self.relations.needed(rows.names, name)
        kept = np.flatnonzero(domain[place] == wanted)
        column = place[kept].astype(self.relations.index_type(name))
        return self.select(rows.take(kept).bind(name, column), needed)

    def select(self, rows: Rows, relations: list[Relation]) -> Rows:
        for relation in relations:
            held = self.relations.holds(relation, rows)
            if not held.all():
                rows = rows.take(np.flatnonzero(held))
        return rows

    def extensible(self, rows: Rows) -> Rows:
        """Those of the rows that can be completed to members."""
        if self.next(rows.names) is None:
            return rows
        numbered = rows.bind(_PLACE, np.arange(rows.length))
        found = [np.unique(piece.column(_PLACE)) for piece in self.complete(numbered)]
        return rows.take(np.unique(np.concatenate(found)) if found else np.zeros(0, np.intp))

    def admit(self, rows: Rows) -> Rows:
        """Those of some arbitrary rows that are part of a member, with the values that follow from them."""
        rows = self.select(rows, [r for r in self.relations.all if rows.names.issuperset(r.names)])
        for name in self.following(rows.names, self.relations.free):
            rows = self.define(rows, name)
        return self.extensible(rows)

    def _candidates(self, rows: Rows, name: str) -> int:
        if self.relations.definition(rows.names, name) is not None:
            return rows.length
        source = self._source(self.relations.needed(rows.names, name), rows)
        if source is None:
            return rows.length * len(self.relations.domains[name])
        counts, _, _ = self._list(source, name)
        return int(counts[self._keys(source, rows, name)].sum())

    def _source(self, needed: list[Relation], rows: Rows) -> Relation | None:
        """The relation that leaves the fewest values, among the ones that may be tabulated."""
        tabulated = [r for r in needed if r.cells <= max(1 << 12, rows.length)]
        return min(tabulated, key=lambda r: self.relations.table(r).mean(), default=None)

    def _list(self, source: Relation, name: str) -> tuple[Array, Array, Array]:
        """For each combination of the relation's other variables: how many values of `name`, and which."""
        if (source, name) not in self._lists:
            table = np.moveaxis(self.relations.table(source), source.names.index(name), -1)
            flat = table.reshape(-1, table.shape[-1])
            counts = flat.sum(axis=1)
            values = np.nonzero(flat)[1].astype(self.relations.index_type(name))
            self._lists[source, name] = (counts, np.cumsum(counts) - counts, values)
        return self._lists[source, name]

    def _keys(self, source: Relation, rows: Rows, name: str) -> Array:
        return self.relations.key(tuple(other for other in source.names if other != name), rows)

    def _growth(self, bound: frozenset[str], name: str) -> tuple[float, float]:
        if self.relations.definition(bound, name) is not None:
            return (0.0, 0.0)
        size = len(self.relations.domains[name])
        needed = [r for r in self.relations.needed(bound, name) if len(r.names) > 1]
        ties = sum(name in r.names for r in self.relations.all)
        return (size / (1 + len(needed)), size / (1 + ties))
