"""Joins the variables of a program one by one, and applies each assert as soon as it can be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from iree_tuner.space.interpreter import Array, Program
from iree_tuner.space.relations import Relation, Relations, Rows

FRONTIER = 1 << 15
"""How many partial rows are held at once before what remains is done piece by piece, or drawn at random."""

_CHUNK = 1 << 18
"""Rows are extended in pieces that become no more than so many, so that little memory is needed at once."""

_PLACE = "#"  # stands among the columns, and is no variable


class Join:
    """Extends partial rows to rows of all variables.

    Args:
        program: what the rows have to satisfy.
    """

    def __init__(self, program: Program) -> None:
        self.relations = Relations(program)
        self._program = program
        self._lists: dict[tuple[Relation, str], tuple[Array, Array, Array]] = {}
        self._next: dict[tuple[frozenset[str], tuple[str, ...] | None], str | None] = {}
        self._frontiers: dict[int, Rows] = {}

    @property
    def knobs(self) -> tuple[str, ...]:
        """All knobs, in the order of declaration."""
        return self._program.knobs

    @property
    def auxiliaries(self) -> tuple[str, ...]:
        """The other variables that have several values."""
        return tuple(name for name in self._program.auxiliaries if name in self.relations.free)

    def column(self, rows: Rows, name: str) -> Array:
        """The indices of a variable, also of one with a single value."""
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
        """One row that binds nothing; none when there is no member."""
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
        """The values of all knobs in rows that bind them: a row a row."""
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
        """The rows with each value of one more variable, where the relations allow it."""
        needed = self.relations.needed(rows.names, name)
        if self.relations.definition(rows.names, name) is not None:
            return self.define(rows, name)
        source = self._source(needed, rows)
        if source is None:
            size = len(self.relations.domains[name])
            place = np.repeat(np.arange(rows.length), size)
            column = np.tile(np.arange(size, dtype=self.relations.index_type(name)), rows.length)
        else:
            place, column = self._partners(source, rows, name)
        return self.select(rows.take(place).bind(name, column), [r for r in needed if r is not source])

    def define(self, rows: Rows, name: str) -> Rows:
        """The rows with the one value that a variable can have, if it has one."""
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
        """The rows for which all of some relations hold."""
        for relation in relations:
            held = self.relations.holds(relation, rows)
            if not held.all():
                rows = rows.take(np.flatnonzero(held))
        return rows

    def extensible(self, rows: Rows) -> Rows:
        """Those of the rows that some values of the variables that they do not bind make members."""
        if self.next(rows.names) is None:
            return rows
        numbered = rows.bind(_PLACE, np.arange(rows.length))
        found = [np.unique(piece.column(_PLACE)) for piece in self.complete(numbered)]
        return rows.take(np.unique(np.concatenate(found)) if found else np.zeros(0, np.intp))

    def admit(self, rows: Rows) -> Rows:
        """Those of some rows, chosen at will, that are part of a member; with what follows from them."""
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

    def _partners(self, source: Relation, rows: Rows, name: str) -> tuple[Array, Array]:
        """Rows, and values of `name` that a relation allows with them."""
        counts, starts, values = self._list(source, name)
        keys = self._keys(source, rows, name)
        many = counts[keys]
        place = np.repeat(np.arange(rows.length), many)
        ends = np.cumsum(many)
        return place, values[np.arange(len(place)) + (starts[keys] - ends + many)[place]]

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
