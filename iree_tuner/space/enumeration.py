"""All members of a space: variables are joined one by one, and each assert is applied as soon as it can be.

A member is a row of indices into the variables' domains, two bytes each. Asserts over few values are
tabulated once and looked up for each row. Rows are extended in chunks, so that memory is bounded by
the members themselves, and by `MEMBER_LIMIT`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iree_tuner.errors import TunerError
from iree_tuner.space.domains import Domains, conditions, find_domains
from iree_tuner.space.interpreter import Array, Node, Program

MEMBER_LIMIT = 20_000_000
"""Spaces with more members are not enumerated."""

_CHUNK = 1 << 20
_TABLE = 1 << 22
Index = np.uint32


@dataclass(frozen=True, eq=False)
class Members:
    """The legal set: `rows[i, j]` is the index, in `domains[names[j]]`, of knob j's value in member i."""

    names: tuple[str, ...]
    domains: Domains
    rows: NDArray[np.uint32]

    def values(self, rows: Array) -> NDArray[np.int64]:
        """The knobs' values for some rows of indices."""
        columns = [self.domains[name][rows[:, j]] for j, name in enumerate(self.names)]
        return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), np.int64)


def enumerate_members(program: Program) -> Members:
    """Every legal assignment, in the lexicographic order of the knobs' values.

    Raises TunerError when a domain is not finite, or there are more than `MEMBER_LIMIT` members.
    """
    domains = find_domains(program)
    join = _Join(domains, conditions(program))
    rows, order = join.run()
    position = {name: column for column, name in enumerate(order)}
    knob_rows = rows[:, [position[name] for name in program.knobs]]
    used = {name: np.unique(knob_rows[:, j]) for j, name in enumerate(program.knobs)}
    # Domains become those values that occur in a member: what a reader means by a knob's domain.
    compact = np.empty_like(knob_rows)
    for j, name in enumerate(program.knobs):
        compact[:, j] = np.searchsorted(used[name], knob_rows[:, j])
    final = {name: domains[name][used[name]] for name in program.knobs}
    ranks = np.lexsort(compact.T[::-1]) if compact.shape[1] else np.arange(len(compact))
    compact = compact[ranks]
    if program.auxiliaries and len(compact):  # several values of an auxiliary make one member
        different = np.concatenate([[True], np.any(compact[1:] != compact[:-1], axis=1)])
        compact = compact[different]
    return Members(program.knobs, final, compact)


class _Join:
    def __init__(self, domains: Domains, parts: list[Node]) -> None:
        self._domains = domains
        self._fixed = {name: values for name, values in domains.items() if len(values) == 1}
        self._parts = [part for part in parts if part.support.difference(self._fixed)]
        self._impossible = any(len(values) == 0 for values in domains.values()) or not all(
            np.all(part.evaluate(self._fixed)) for part in parts if not part.support.difference(self._fixed)
        )
        self._tables: dict[frozenset[str], tuple[tuple[str, ...], Array]] = {}

    def run(self) -> tuple[NDArray[np.uint32], list[str]]:
        order = list(self._fixed)
        free = [name for name in self._domains if name not in self._fixed]
        rows = np.zeros((0 if self._impossible else 1, len(order)), Index)
        while free:
            name = self._next(order, free)
            free.remove(name)
            rows = self._extend(rows, order, name)
            order.append(name)
        return rows, order

    def _needed(self, order: list[str], name: str) -> list[Node]:
        """The conditions that can be decided once `name` is joined, and could not before."""
        bound = {*order, name}
        return [part for part in self._parts if name in part.support and part.support <= bound]

    def _next(self, order: list[str], free: list[str]) -> str:
        """The variable that multiplies the rows least: determined by others, then most constrained."""

        def growth(name: str) -> tuple[float, int]:
            needed = self._needed(order, name)
            if self._definition(name, needed) is not None:
                return (0.0, 0)
            size = len(self._domains[name])
            return (size / (1 + len([p for p in needed if len(p.support) > 1])), size)

        return min(free, key=growth)

    def _definition(self, name: str, needed: list[Node]) -> Node | None:
        """An expression of joined variables that `name` must equal."""
        for part in needed:
            if part.kind == "smt.eq" and len(part.operands) == 2:
                for this, other in (part.operands, part.operands[::-1]):
                    if this.kind == "variable" and this.data == name and name not in other.support:
                        return other
        return None

    def _extend(self, rows: NDArray[np.uint32], order: list[str], name: str) -> NDArray[np.uint32]:
        needed = self._needed(order, name)
        definition = self._definition(name, needed)
        size = len(self._domains[name])
        step = max(1, _CHUNK if definition is not None else _CHUNK // max(1, size))
        kept: list[NDArray[np.uint32]] = []
        total = 0
        for start in range(0, len(rows), step):
            chunk = rows[start : start + step]
            if definition is not None:
                chunk = self._define(chunk, order, name, definition)
            else:
                column = np.tile(np.arange(size, dtype=Index), len(chunk))
                chunk = np.column_stack([np.repeat(chunk, size, axis=0), column])
            chunk = self._select(chunk, [*order, name], needed)
            total += len(chunk)
            if total > MEMBER_LIMIT:
                raise TunerError(f"the space has more than {MEMBER_LIMIT} members, too many to enumerate")
            kept.append(chunk)
        return np.concatenate(kept) if kept else np.zeros((0, len(order) + 1), Index)

    def _define(
        self, chunk: NDArray[np.uint32], order: list[str], name: str, definition: Node
    ) -> NDArray[np.uint32]:
        wanted = np.broadcast_to(definition.evaluate(self._values(chunk, order)), (len(chunk),))
        domain = self._domains[name]
        place = np.minimum(np.searchsorted(domain, wanted), len(domain) - 1)
        return np.column_stack([chunk, place.astype(Index)])[domain[place] == wanted]

    def _select(self, chunk: NDArray[np.uint32], order: list[str], needed: list[Node]) -> NDArray[np.uint32]:
        groups: dict[frozenset[str], list[Node]] = {}
        for part in needed:
            groups.setdefault(part.support.difference(self._fixed), []).append(part)
        for support, parts in sorted(groups.items(), key=lambda group: len(group[0])):
            chunk = chunk[self._holds(chunk, order, support, parts)]
        return chunk

    def _holds(
        self, chunk: NDArray[np.uint32], order: list[str], support: frozenset[str], parts: list[Node]
    ) -> Array:
        names = tuple(sorted(support))
        if np.prod([len(self._domains[name]) for name in names], dtype=float) > _TABLE:
            values = self._values(chunk, order)
            return _all(parts, values, (len(chunk),))
        if support not in self._tables:
            self._tables[support] = (names, self._tabulate(names, parts))
        names, table = self._tables[support]
        return table[tuple(chunk[:, order.index(name)] for name in names)]

    def _tabulate(self, names: tuple[str, ...], parts: list[Node]) -> Array:
        shape = tuple(len(self._domains[name]) for name in names)
        grid = np.meshgrid(*(self._domains[name] for name in names), indexing="ij", sparse=True)
        return _all(parts, dict(self._fixed) | dict(zip(names, grid, strict=True)), shape)

    def _values(self, chunk: NDArray[np.uint32], order: list[str]) -> dict[str, Array]:
        return {name: self._domains[name][chunk[:, j]] for j, name in enumerate(order)}


def _all(parts: list[Node], values: dict[str, Array], shape: tuple[int, ...]) -> Array:
    cache: dict[Node, Array] = {}
    holds = np.ones(shape, dtype=bool)
    for part in parts:
        holds &= part.evaluate(values, cache)
    return holds
