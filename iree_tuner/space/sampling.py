"""The members of a space in a random order, found as they are asked for.

The variables are joined until there are many partial rows (`join.FRONTIER`). In a small space these are
all members, and they are permuted. In a large one, a partial row is drawn, and a value for each of the
knobs that it does not bind; the result is taken if it is a member (rejection). Each member comes from exactly
one partial row and one choice of the other values, so that all are equally likely. Partial rows are kept
without the auxiliaries whose values are open, and values that follow from others by an equality are computed,
not drawn. Members that were drawn before are left out, which makes the order of first draws a uniformly
random one. Whether a draw is taken tells nothing about which member it is; therefore the order stays uniform
when, after many draws that were not taken, more variables are joined, or when the members that have not been
drawn yet are enumerated and permuted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iree_tuner.errors import TunerError
from iree_tuner.space.bounds import Domains
from iree_tuner.space.interpreter import Array
from iree_tuner.space.join import FRONTIER, Join, Rows

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
