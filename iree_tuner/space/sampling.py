"""The members of a space in a random order, found as they are asked for.

The variables are joined until there are many partial rows (`FRONTIER`). In a small space these are
all members, and they are permuted. In a large one, a partial row is drawn, and a value for each of the
knobs that it does not bind; the result is taken if it is a member (rejection). Each member comes from exactly
one partial row and one choice of the other values, so that all are equally likely. Partial rows are kept
without the auxiliaries whose values are open, and values that follow from others by an equality are computed,
not drawn. Members that were drawn before are left out, which makes the order of first draws a uniformly
random one. Whether a draw is taken tells nothing about which member it is; therefore the order stays uniform
when, after many draws that were not taken, more variables are joined, or when the members that have not been
drawn yet are enumerated and permuted.

Variables are joined one by one, and each assert is applied as soon as it can be. Asserts are relations
between indices into domains, evaluated for many rows at once. A row gives some variables a value each.
Asserts, and parts of them, that concern few values are tabulated once and looked up for each row, which is
most of why enumeration is fast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from iree_tuner.errors import TunerError
from iree_tuner.space.interpreter import (
    Array,
    Bounds,
    ConstraintProgram,
    Domains,
    Expr,
    combinations,
    conditions,
    find_domains,
    grid,
    group,
    solve,
    tabulate,
)

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


# All members of a space, each packed into an integer; the integers are ordered as the members are.


MEMBER_LIMIT = 20_000_000
"""Spaces with more members are not enumerated."""

_WORD = 1 << 62


class Numbering:
    """Rows of indices as one integer each, or as several if one is too short; `sizes` of the columns."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self._words: list[list[tuple[int, int]]] = [[]]
        for column, size in enumerate(sizes):
            if math.prod(size for _, size in self._words[-1]) * size >= _WORD:
                self._words.append([])
            self._words[-1].append((column, size))

    def pack(self, columns: list[Array], length: int) -> NDArray[np.int64]:
        """One line a word, one column a row of indices."""
        packed = np.zeros((len(self._words), length), np.int64)
        for word, places in zip(packed, self._words, strict=True):
            for column, size in places:
                word *= size
                word += columns[column]
        return packed

    def unpack(self, packed: NDArray[np.int64]) -> list[Array]:
        found: list[Array] = []
        for word, places in zip(packed[::-1], self._words[::-1], strict=True):
            rest = word
            for _, size in places[::-1]:
                rest, index = np.divmod(rest, size)
                found.append(index)
        return found[::-1]


@dataclass(frozen=True, eq=False)
class Members:
    """The legal set, in the lexicographic order of the knobs' values.

    `names` are in the order in which the op declares them; `domains` are the values that occur in some
    member, ascending.
    """

    names: tuple[str, ...]
    domains: Domains
    _indexed: tuple[NDArray[np.int64], ...]
    _numbering: Numbering
    _packed: NDArray[np.int64]

    def __len__(self) -> int:
        return self._packed.shape[1]

    def values(self, which: Array) -> NDArray[np.int64]:
        """The knobs' values of some members, by their places: one line a member."""
        columns = self._numbering.unpack(self._packed[:, which])
        values = [indexed[column] for indexed, column in zip(self._indexed, columns, strict=True)]
        return np.stack(values, axis=1) if values else np.zeros((len(which), 0), np.int64)


def enumerate_members(join: Join) -> Members:
    """Every legal assignment. Raises TunerError if there are more than `MEMBER_LIMIT`."""
    domains = join.relations.domains
    numbering = Numbering(tuple(len(domains[name]) for name in join.knobs))
    used = {name: np.zeros(len(domains[name]), bool) for name in join.knobs}
    pieces: list[NDArray[np.int64]] = [numbering.pack([np.zeros(0, np.int64)] * len(used), 0)]
    total = 0
    for rows in join.complete(join.frontier(FRONTIER)):
        total += rows.length
        if total > MEMBER_LIMIT:
            raise TunerError(f"the space has more than {MEMBER_LIMIT} members, too many to enumerate")
        columns = [join.column(rows, name) for name in join.knobs]
        for name, column in zip(join.knobs, columns, strict=True):
            used[name][column] = True
        pieces.append(numbering.pack(columns, rows.length))
    packed = np.concatenate(pieces, axis=1)
    packed = np.sort(packed, axis=1) if len(packed) == 1 else packed[:, np.lexsort(packed[::-1])]
    if join.auxiliaries and packed.shape[1]:  # several values of an auxiliary make one member
        packed = packed[:, np.append(True, np.any(packed[:, 1:] != packed[:, :-1], axis=0))]
    occurring = {name: domains[name][mask] for name, mask in used.items()}
    return Members(join.knobs, occurring, tuple(domains[n] for n in join.knobs), numbering, packed)


_FIRST_BATCH = 1 << 12
_BATCH = 1 << 15
_PATIENCE = 1 << 20
"""After this number of draws, or all that there are, the members are enumerated: it takes no longer."""
_HOPELESS = 1 << 10
"""More draws than this for one that is taken are too many."""
_WIDER = (1, 8, 64)
"""How many more partial rows are tried when draws are hopeless."""
_BLOCK = 1 << 10


@dataclass(frozen=True, eq=False)
class Proposal:
    """How members are drawn: partial `rows` without repeats, and how what they leave open is chosen.

    `steps` are the variables that are bound then, in order, each with whether it follows from the others.
    There are `draws` different draws. If `complete`, the rows are members already.
    """

    rows: Rows
    steps: tuple[tuple[str, bool], ...]
    draws: float
    complete: bool


def shuffled(
    join: Join, members: Callable[[], Members], seed: int, frontier: int = FRONTIER
) -> Iterator[tuple[int, ...]]:
    """The knobs' values of each member, in a random order that depends on the seed alone.

    `members` enumerates the space, and is called when drawing is not, or no longer, the quicker way. Draws
    start from about `frontier` partial rows. Raises TunerError if the space is too large to enumerate, and
    draws find hardly any member.
    """
    seen: set[tuple[int, ...]] = set()
    for block in _blocks(join, members, np.random.default_rng(seed), frontier):
        for values in map(tuple, block.tolist()):
            if values not in seen:
                seen.add(values)
                yield values


def propose(join: Join, limit: int) -> Proposal:
    """All partial rows of as many variables as `limit` candidates allow, and how to complete them."""
    rows = join.frontier(limit)
    complete = join.next(rows.names) is None
    knobs = [name for name in join.knobs if name in join.relations.free]
    bound = rows.names.intersection(knobs)
    bound = bound.union(join.following(bound, [name for name in join.auxiliaries if name in rows.names]))
    if bound != rows.names:
        rows = _distinct(rows.only(sorted(bound)), join)
    steps: list[tuple[str, bool]] = []
    draws = float(rows.length)
    while True:
        steps.extend((name, True) for name in join.following(bound, join.relations.free))
        bound = bound.union(name for name, _ in steps)
        name = join.next(bound, tuple(knobs))
        if name is None:
            return Proposal(rows, tuple(steps), draws, complete)
        steps.append((name, False))
        bound = bound.union((name,))
        draws *= len(join.relations.domains[name])


def draw(join: Join, proposal: Proposal, count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """The members among `count` independent draws: the values of all knobs, one line a member."""
    rows = proposal.rows.take(generator.integers(proposal.rows.length, size=count))
    for name, follows in proposal.steps:
        if follows:
            rows = join.define(rows, name)
            continue
        kind = join.relations.index_type(name)
        column = generator.integers(len(join.relations.domains[name]), size=rows.length, dtype=kind)
        needed = join.relations.needed(rows.names, name)
        rows = join.select(rows.bind(name, column), needed)
    return join.values(join.extensible(rows))


def _blocks(
    join: Join, members: Callable[[], Members], generator: np.random.Generator, frontier: int
) -> Iterator[NDArray[np.int64]]:
    for wider in _WIDER:
        proposal = propose(join, frontier * wider)
        if proposal.complete or (yield from _draws(join, proposal, generator)):
            break
    everyone = members()
    order = generator.permutation(len(everyone))
    for start in range(0, len(order), _BLOCK):
        yield everyone.values(order[start : start + _BLOCK])


def _draws(
    join: Join, proposal: Proposal, generator: np.random.Generator
) -> Generator[NDArray[np.int64], None, bool]:
    """Members, one batch of draws after the other. Returns whether it is time to enumerate."""
    drawn = taken = 0
    patience = min(_PATIENCE, proposal.draws)
    while drawn < patience or proposal.draws * taken / drawn > MEMBER_LIMIT / 2:
        size = min(_FIRST_BATCH + drawn, _BATCH)
        found = draw(join, proposal, size, generator)
        yield found
        drawn, taken = drawn + size, taken + len(found)
        if drawn >= _BATCH and taken * _HOPELESS < drawn:
            return False
    return True


def _distinct(rows: Rows, join: Join) -> Rows:
    names = sorted(rows.names)
    numbering = Numbering(tuple(len(join.relations.domains[name]) for name in names))
    packed = numbering.pack([rows.column(name) for name in names], rows.length)
    return rows.take(np.sort(np.unique(packed, axis=1, return_index=True)[1])).only(names)
