"""The summand of the scores of an attention (`scores`), as the source of a function in Triton."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from iree_tuner.kernels.formula import CONSTANT, INPUT, FormulaTerm
from iree_tuner.kernels.kernel import Problem
from iree_tuner.kernels.nest import INSIDE, OUTSIDE, PLACE, Access, Nest
from iree_tuner.kernels.triton_code import ELEMENTS
from iree_tuner.kernels.triton_norms import IMPORTS, function_from, runs_of, unknown_term, value_of

MOST_ADDED = 4
"""The most arrays that are read for it."""

NAME = "added"

_HIDDEN = -1e38  # finite: a query that sees no key weighs all of them equally


def arrays_of(nest: Nest | None) -> tuple[int, ...]:
    """The numbers of the arrays that are read, in order."""
    return () if nest is None else tuple(sorted({each.input for each in nest.accesses}))


def summand_of(read: Access, kind: str, sizes: tuple[int, ...]) -> Nest:
    """A bias as a summand, by its strides of these loops; or a mask, which hides keys where it is 0."""
    terms = [FormulaTerm(INPUT, kind, input=0)]
    if kind == "i1":
        terms += [FormulaTerm(CONSTANT, "f32", value=each) for each in (0.0, _HIDDEN)]
        terms.append(FormulaTerm("arith.select", "f32", (0, 1, 2)))
    return Nest(sizes, (read,), tuple(terms), (0,) * len(sizes))


def refused(problem: Problem) -> str:
    """Why what is added to scores cannot be computed; empty if it can, or if nothing is."""
    nest = problem.added
    if nest is None:
        return ""
    if unknown := unknown_term(nest, places=True):
        return f"it adds {unknown} to scores, which the kernel does not compute"
    kinds = [problem.inputs[each].element_type for each in arrays_of(nest)]
    if not {*kinds} <= {*ELEMENTS, "i1"}:
        return f"it adds {', '.join(kinds)} to scores"
    return "" if len(kinds) <= MOST_ADDED else f"it reads {len(kinds)} arrays for its scores"


def added_function(nest: Nest | None, queries: int, keys: int, bm: int, bk: int) -> Any:  # noqa: ANN401
    """The function in Triton that computes it for a tile of `bm` queries and `bk` keys; None without any.

    Its parameters: the tuple of the number of the head, that of the tile's first query, and the arrays in the
    order of `arrays_of`; the numbers of queries as a column, of keys as a row; that of the first key.
    """
    return None if nest is None else function_from(_Writer(nest, queries, keys, bm, bk).source(), NAME)


@dataclass
class _Writer:
    """Writes the function.

    A head's loop 2 is `h2`, the value of the term 3 `v3`. An index into a loop that a tile's queries or keys
    share is computed from the first of them, so that fewer elements are loaded.
    """

    nest: Nest
    queries: int
    keys: int
    bm: int
    bk: int
    lines: list[str] = field(default_factory=list[str])

    def source(self) -> str:
        arrays = arrays_of(self.nest)
        head = [*IMPORTS, "", "", "@triton.jit", f"def {NAME}(more, rows, keys, first):"]
        left = math.prod(self.nest.sizes[: self._first_row])
        for number, size in enumerate(self.nest.sizes[: self._first_row]):
            left //= size
            self._write(f"h{number} = more[0] // {left} % {size}")
        for number, term in enumerate(self.nest.terms):
            if term.op == INPUT:
                access = self.nest.accesses[term.input]
                place = arrays.index(access.input)
                value = self._load(f"more[{place + 2}]", access.offset, access.strides, term.of)
                if term.element == "i1":
                    value = f"{value} != 0"
            elif term.op in (INSIDE, OUTSIDE, PLACE):
                test = self.nest.ranges[term.input]
                index = value = " + ".join(["0", *self._parts(test.offset, test.strides)[0]])
                if term.op != PLACE:
                    value = f"({index} >= {test.first}) & ({index} < {test.end})"
                value = f"({value}) == 0" if term.op == OUTSIDE else value
            else:
                value = value_of(term, [f"v{each}" for each in term.of])
            self._write(f"v{number} = {value}")
        self._write(f"return v{len(self.nest.terms) - 1}.to(tl.float32)")
        return "\n".join([*head, *self.lines, ""])

    def _write(self, line: str) -> None:
        self.lines.append("    " + line)

    @property
    def _first_row(self) -> int:
        return self._first_key - _count_to(self.nest.sizes[: self._first_key], self.queries)

    @property
    def _first_key(self) -> int:
        return len(self.nest.sizes) - _count_to(self.nest.sizes, self.keys)

    def _parts(self, offset: int, strides: Sequence[int]) -> tuple[list[str], list[str]]:
        """The summands of an address, and the conditions under which it is inside."""
        found, inside = [str(offset)] if offset else [], list[str]()
        first_row, first_key = self._first_row, self._first_key
        found += [f"h{at} * {stride}" for at, stride in enumerate(strides[:first_row]) if stride]
        rows = slice(first_row, first_key), "rows", "more[1]", self.queries, self.bm
        keys = slice(first_key, None), "keys", "first", self.keys, self.bk
        for own, name, start, size, block in (rows, keys):
            parts = runs_of(zip(self.nest.sizes[own], strides[own], strict=True))
            for at, (count, stride) in enumerate(parts):
                inner = math.prod(each for each, _ in parts[at + 1 :])
                index = start if inner % block == 0 else name
                index = f"{index} // {inner}" if inner > 1 else index
                index = f"{index} % {count}" if at else index
                if stride:
                    found.append(f"({index}) * {stride}")
                    inside += [f"({name} < {size})"] if name in index and size % block else []
        return found, inside

    def _load(self, array: str, offset: int, strides: Sequence[int], where: Sequence[int]) -> str:
        parts, inside = self._parts(offset, strides)
        mask = " & ".join(dict.fromkeys([*inside, *(f"v{each}" for each in where)]))
        address = " + ".join([array, *parts])
        if where:  # the condition may be of all scores
            address += " + 0 * rows + 0 * keys"
        return f"tl.load({address}{f', mask={mask}, other=0.0' if mask else ''})"


def _count_to(sizes: Sequence[int], size: int) -> int:
    """How many of the last loops have so many iterations; at least those of one iteration do not count."""
    count, product = 0, 1
    while product < size:
        count += 1
        product *= sizes[-count]
    return count
