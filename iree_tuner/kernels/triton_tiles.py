"""A nest's value for each place of a tile, as the source of a function in Triton.

Kernels compute summands of the scores of an attention (`scores`) in this way, operands of a product that
are not arrays of the program (`operands`), and what follows its sums (`finish`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from iree_tuner.kernels.formula import CONSTANT, INPUT, FormulaTerm
from iree_tuner.kernels.nest import INSIDE, OUTSIDE, PLACE, SUMS, Access, Nest, Range, power_of_two
from iree_tuner.kernels.packed_bits import Bits, NotPackedError, of_bits, widened
from iree_tuner.kernels.triton_norms import IMPORTS, TYPES, function_from, runs_of, unknown_term, value_of
from iree_tuner.ops.element_type import NARROW_FLOATS, ElementType

MOST_UNROLLED = 8
"""The most values that are unpacked from one element."""

NAME = "values"

_NIBBLES, _NIBBLE_BITS = "i4", 4
_CHOICE = "arith.select"
_CONVERSIONS, _SMALL = ("arith.sitofp", "arith.uitofp"), ("i4", "i8")


def arrays_of(nest: Nest | None) -> tuple[int, ...]:
    """The numbers of the arrays that are read, in order."""
    return () if nest is None else tuple(sorted({each.input for each in nest.accesses} - {SUMS}))


def in_f32(nest: Nest, element: str) -> Nest:
    """The nest that computes numbers of 16 bits in f32, and rounds only its result to this type.

    Integers of 8 bits become bf16 before, which has all of them, and which takes fewer instructions.
    """
    terms, places = list[FormulaTerm](), list[int]()
    for term in nest.terms:
        narrow = term.element in NARROW_FLOATS
        of = tuple(places[each] for each in term.of)
        small = term.op in _CONVERSIONS and terms[of[0]].element in _SMALL
        kind = "bf16" if small else "f32"
        terms.append(replace(term, of=of, element=kind if narrow and term.op != INPUT else term.element))
        if narrow and (small or term.op == INPUT):
            terms.append(FormulaTerm("arith.extf", "f32", (len(terms) - 1,)))
        places.append(len(terms) - 1)
    found = replace(nest, terms=tuple(terms))
    return found.then("arith.truncf", element) if element in NARROW_FLOATS else found


def unknown_value(nest: Nest) -> str:
    """The first scalar op or type that the function cannot have; empty if it can have all."""
    return unknown_term(with_bytes(nest), integers=True)


def function_of_tile(
    nest: Nest, rows: int, columns: int, bm: int, bn: int, arrays: Sequence[int] = ()
) -> Any:  # noqa: ANN401 - Triton has no types
    """The function in Triton that computes a nest for a tile of `bm` rows and `bn` columns.

    Its loops are those of batches, then of rows and then of columns, whose numbers are `rows` and `columns`.
    The function's parameters: the tuple of the number of the batch, that of the tile's first row, and
    `arrays`, by default those that are read; the numbers of rows as a column, of columns as a row; that of
    the first column. It returns [bm, bn] values of the last term's type, or as many as differ; past the last
    row or column they mean nothing, and nothing is read for them.
    """
    return named_function(_writer(nest, rows, columns, bm, bn, arrays).source())


def function_of_places(
    nest: Nest, rows: int, columns: int, full: tuple[bool, bool], arrays: Sequence[int]
) -> Any:  # noqa: ANN401 - Triton has no types
    """The function that computes a nest of sums for any rows and columns, whatever their order.

    Parameters: the tile of the sums, which a nest may read as the input `SUMS`; the tuple as of the function
    above, whose second number means nothing; the numbers of rows and of columns, as a column and as a row.
    `full`: whether no rows are past the end, and no columns.
    """
    sides = zip((rows, columns), full, strict=True)
    bm, bn = (1 if whole else size + 1 for size, whole in sides)
    return named_function(_Writer(with_bytes(nest), rows, columns, bm, bn, arrays, True).source())


def functions_of_tile(
    nest: Nest, rows: int, columns: int, bm: int, bn: int, arrays: Sequence[int] = ()
) -> tuple[Any, Any]:
    """The same as two functions: one loads what is read, the other one has that as first parameter."""
    writer = _writer(nest, rows, columns, bm, bn, arrays)
    return named_function(writer.source(loads=True)), named_function(writer.source(loaded=True))


def _writer(
    nest: Nest, rows: int, columns: int, bm: int, bn: int, arrays: Sequence[int]
) -> _Writer:  # fmt: skip
    return _Writer(with_bytes(nest), rows, columns, bm, bn, arrays or arrays_of(nest))


def named_function(text: str) -> Any:  # noqa: ANN401 - Triton has no types
    """The function `NAME` in the text of a module."""
    # Triton tells functions that are constants apart by their names.
    name = f"{NAME}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return function_from(text.replace(f"def {NAME}(", f"def {name}("), name)


def run_of_tile(nest: Nest, rows: int, columns: int, bm: int, bn: int) -> tuple[bool, float]:
    """Whether the largest array of a tile's is contiguous along columns, and the bytes next to each other."""
    writer = _Writer(with_bytes(nest), rows, columns, bm, bn, arrays_of(nest))
    number = writer.widest
    element = next(each.element for each in writer.nest.terms if each.op == INPUT and each.input == number)
    strides, loop = writer.nest.accesses[number].strides, writer.unrolled
    contiguous = next((at for at in reversed(range(len(strides))) if strides[at] == 1), 0)
    along = contiguous >= writer.first_column
    unpacked = loop is not None and (loop >= writer.first_column) == along
    block = (bn if along else bm) // (writer.nest.sizes[loop] if loop is not None and unpacked else 1)
    return along, block * ElementType.named(element).bytes


def with_bytes(nest: Nest) -> Nest:
    """The nest that reads bytes instead of pairs of integers of 4 bits, of which the first is the low one."""
    for number in range(len(nest.accesses)):
        reading = [at for at, each in enumerate(nest.terms) if each.op == INPUT and each.input == number]
        if nest.terms[reading[0]].element == _NIBBLES:
            return with_bytes(_byte_by_byte(nest, number, reading))
    return nest


def _byte_by_byte(nest: Nest, number: int, reading: Sequence[int]) -> Nest:
    """The nest in which an access of integers of 4 bits reads bytes, which these terms unpack."""
    access = nest.accesses[number]
    loop = next(at for at, each in enumerate(access.strides) if each == 1 and nest.sizes[at] % 2 == 0)

    def split(strides: tuple[int, ...]) -> tuple[int, ...]:
        return (*strides[:loop], 2 * strides[loop], *strides[loop:])

    sizes = (*nest.sizes[:loop], nest.sizes[loop] // 2, 2, *nest.sizes[loop + 1 :])
    accesses = [replace(each, strides=split(each.strides)) for each in nest.accesses]
    own = accesses[number].strides
    halves = tuple(0 if at == loop + 1 else each // 2 for at, each in enumerate(own))
    accesses[number] = replace(access, offset=access.offset // 2, strides=halves)
    low = Range(0, tuple(int(at == loop + 1) for at in range(len(sizes))), 0, 1)
    ranges = (*(replace(each, strides=split(each.strides)) for each in nest.ranges), low)
    terms, places = list[FormulaTerm](), list[int]()
    for at, term in enumerate(nest.terms):
        terms.append(replace(term, of=tuple(places[each] for each in term.of)))
        if at in reading:
            first = len(terms) - 1
            terms[first] = replace(terms[first], element="i8")
            terms += [
                FormulaTerm(CONSTANT, "i8", value=_NIBBLE_BITS),
                FormulaTerm("arith.shli", "i8", (first, first + 1)),
                FormulaTerm(INSIDE, "i1", input=len(ranges) - 1),
                FormulaTerm(_CHOICE, "i8", (first + 3, first + 2, first)),
                FormulaTerm("arith.shrsi", "i8", (first + 4, first + 1)),
            ]
        places.append(len(terms) - 1)
    return replace(
        nest, sizes=sizes, accesses=tuple(accesses), terms=tuple(terms), ranges=ranges,
        written=(0,) * len(sizes),
    )  # fmt: skip


@dataclass
class _Writer:
    """Writes the function.

    The batch's loop 2 is `h2`, the value of the term 3 `v3`. An index into a loop that a tile's rows or
    columns share is computed from the first of them, so that fewer elements are loaded. If several values are
    unpacked from one element, the term 3 of the second of them is `v3_1`. `anywhere`: rows and columns do not
    follow each other.
    """

    nest: Nest
    rows: int
    columns: int
    bm: int
    bn: int
    arrays: Sequence[int]
    anywhere: bool = False
    lines: list[str] = field(default_factory=list[str])

    def source(self, *, loads: bool = False, loaded: bool = False) -> str:
        """The text of the function; or of the one that only loads, or of the one of what is loaded."""
        self.lines.clear()
        given = "loaded, more, rows, columns, first" if loaded else "more, rows, columns, first"
        given = "sums, more, rows, columns" if self.anywhere else given
        head = [*IMPORTS, "", "", "@triton.jit", f"def {NAME}({given}):"]
        left = math.prod(self.nest.sizes[: self.first_row])
        for number, size in enumerate(self.nest.sizes[: self.first_row]):
            left //= size
            self._write(f"h{number} = more[0] // {left} % {size}")
        if self.unrolled is not None:
            self._write_packed(self.unrolled)
        last, read = len(self.nest.terms) - 1, list[str]()
        for number, term in enumerate(self.nest.terms):
            for place in self._places(number):
                name = self._name(number, place)
                first_use = term.op == INPUT and not term.of
                if not (loaded and first_use):
                    self._write(f"{name} = {self._value(number, place)}")
                else:
                    self._write(f"{name} = loaded[{len(read)}]")
                read += [name] if first_use else []
        found = [self._name(last, place) for place in self._places(last)]
        result = self._interleaved(found) if len(found) > 1 else found[0]
        self._write(f"return ({', '.join(read)},)" if loads else f"return {result}")
        return "\n".join([*head, *self.lines, ""])

    def _write(self, line: str) -> None:
        self.lines.append("    " + line)

    @cached_property
    def first_row(self) -> int:
        return self.first_column - _count_to(self.nest.sizes[: self.first_column], self.rows)

    @cached_property
    def first_column(self) -> int:
        return len(self.nest.sizes) - _count_to(self.nest.sizes, self.columns)

    @cached_property
    def unrolled(self) -> int | None:
        """The loop through the values that are unpacked from one element: the last one of rows or columns.

        The array of which most elements are read does not depend on it.
        """
        if self.anywhere:
            return None
        widest = self.nest.accesses[self.widest]
        end = len(self.nest.sizes)
        for first, last, block in (
            (self.first_column, end, self.bn),
            (self.first_row, self.first_column, self.bm),
        ):
            size = self.nest.sizes[last - 1] if last - 1 > first else 0
            packed = not widest.strides[last - 1] and any(widest.strides[first : last - 1])
            if packed and 1 < size <= min(MOST_UNROLLED, block) and size == power_of_two(size):
                return last - 1
        return None

    @cached_property
    def widest(self) -> int:
        """The number of the access by which most elements are read."""

        def elements(number: int) -> int:
            strides = zip(self.nest.sizes, self.nest.accesses[number].strides, strict=True)
            return math.prod(size for size, stride in strides if stride)

        return max(range(len(self.nest.accesses)), key=elements)

    @property
    def _of_rows(self) -> bool:
        """Whether the unrolled loop is one of rows."""
        return self.unrolled is not None and self.unrolled < self.first_column

    def _write_packed(self, loop: int) -> None:
        """Replace the indices of rows or columns by those of elements from which several are unpacked."""
        size = self.nest.sizes[loop]
        if self._of_rows:
            self._write(f"start = more[1] // {size}")
            self._write(f"rows = start + tl.arange(0, {self.bm // size})[:, None]")
        else:
            self._write(f"first = first // {size}")
            self._write(f"columns = first + tl.arange(0, {self.bn // size})[None, :]")

    @cached_property
    def _varying(self) -> frozenset[int]:
        """The terms that depend on the unrolled loop."""
        found, loop = set[int](), self.unrolled
        for number, term in enumerate(self.nest.terms):
            strides = self._strides(term)
            if loop is not None and ((strides and strides[loop]) or not found.isdisjoint(term.of)):
                found.add(number)
        return frozenset(found)

    def _strides(self, term: FormulaTerm) -> tuple[int, ...]:
        """The strides of what a term reads, tests or is; empty for other terms."""
        if term.op == INPUT:
            return self.nest.accesses[term.input].strides
        return self.nest.ranges[term.input].strides if term.op in (INSIDE, OUTSIDE, PLACE) else ()

    def _places(self, number: int) -> range:
        """The iterations of the unrolled loop for which a term has values of its own."""
        loop = self.unrolled
        return range(1 if loop is None or number not in self._varying else self.nest.sizes[loop])

    def _name(self, number: int, place: int) -> str:
        return f"v{number}_{place}" if number in self._varying else f"v{number}"

    def _value(self, number: int, place: int) -> str:
        """The expression of a term."""
        term = self.nest.terms[number]
        if term.op == INPUT and self.nest.accesses[term.input].input == SUMS:
            return f"sums.to({TYPES[term.element]})"
        if term.op == INPUT:
            value = self._load(self.nest.accesses[term.input], term.of, place)
            return f"{value} != 0" if term.element == "i1" else value
        if term.op in (INSIDE, OUTSIDE, PLACE):
            known = self._known(number, place)
            if known is not None:
                return f"tl.full((), {int(known)}, tl.int1)"
            test = self.nest.ranges[term.input]
            parts = self._parts(test.offset, test.strides, place)[0]
            index = value = " + ".join(["tl.full((), 0, tl.int32)", *parts])
            if term.op != PLACE:
                value = f"({index} >= {test.first}) & ({index} < {test.end})"
            return f"({value}) == 0" if term.op == OUTSIDE else value
        if term.op == _CHOICE and (known := self._known(term.of[0], place)) is not None:
            return self._name(term.of[1] if known else term.of[2], place)
        if term.op in _CONVERSIONS and term.element == "bf16":
            with suppress(NotPackedError):
                bits = self._bits(term.of[0], place)
                if isinstance(bits, Bits):
                    return widened(term.op, bits).of_byte()
        kinds = [self.nest.terms[each].element for each in term.of]
        return value_of(term, [self._name(each, place) for each in term.of], kinds)

    def _bits(self, number: int, place: int) -> Bits | int:
        """A term as a field of a byte, or a constant; raises NotPackedError if it is neither."""
        term = self.nest.terms[number]
        bits = ElementType.named(term.element).bits
        if term.op == CONSTANT:
            return int(term.value)
        if term.op == INPUT and not term.of and term.element == "i8":
            return Bits(self._name(number, place), 0, bits, 0, bits)
        if term.op == _CHOICE and (known := self._known(term.of[0], place)) is not None:
            return self._bits(term.of[1] if known else term.of[2], place)
        if term.op in (INPUT, INSIDE, OUTSIDE, PLACE, _CHOICE):
            raise NotPackedError
        of, *others = (self._bits(each, place) for each in term.of)
        if isinstance(of, int) or not all(isinstance(each, int) for each in others):
            raise NotPackedError
        return of_bits(term.op, of, bits, next((each for each in others if isinstance(each, int)), None))

    def _known(self, number: int, place: int) -> bool | None:
        """The truth of a term that tests the unrolled loop alone; None for others."""
        term, loop = self.nest.terms[number], self.unrolled
        if term.op not in (INSIDE, OUTSIDE) or loop is None:
            return None
        test = self.nest.ranges[term.input]
        if any(each for at, each in enumerate(test.strides) if at != loop):
            return None
        inside = test.first <= test.offset + place * test.strides[loop] < test.end
        return inside == (term.op == INSIDE)

    def _interleaved(self, values: Sequence[str]) -> str:
        """The tile of the values that are unpacked from each element."""
        count = len(values)
        shape = [self.bm // count, self.bn] if self._of_rows else [self.bm, self.bn // count]

        def joined(own: Sequence[str]) -> str:
            if len(own) == 1:
                return f"tl.broadcast_to({own[0]}, {shape})"
            return f"tl.join({joined(own[::2])}, {joined(own[1::2])})"

        steps = count.bit_length() - 1
        found = joined(values)
        if self._of_rows:
            found = f"tl.permute({found}, {[0, *range(2, 2 + steps), 1]})"
        return f"tl.reshape({found}, {[self.bm, self.bn]})"

    def _parts(self, offset: int, strides: Sequence[int], place: int) -> tuple[list[str], list[str]]:
        """The summands of an address, and the conditions under which it is inside."""
        first_row, first_column, loop = self.first_row, self.first_column, self.unrolled
        offset += 0 if loop is None else place * strides[loop]
        found, inside = [str(offset)] if offset else [], list[str]()
        found += [f"h{at} * {stride}" for at, stride in enumerate(strides[:first_row]) if stride]
        packed = 1 if loop is None else self.nest.sizes[loop]
        row, column = (packed, 1) if self._of_rows else (1, packed)
        for own, name, start, size, block in (
            ([*range(first_row, first_column)], "rows", "start" if row > 1 else "more[1]",
             self.rows // row, self.bm // row),
            ([*range(first_column, len(strides))], "columns", "first", self.columns // column,
             self.bn // column),
        ):  # fmt: skip
            parts = runs_of((self.nest.sizes[each], strides[each]) for each in own if each != loop)
            for at, (count, stride) in enumerate(parts):
                inner = math.prod(each for each, _ in parts[at + 1 :])
                index = start if inner % block == 0 and not self.anywhere else name
                index = f"{index} // {inner}" if inner > 1 else index
                index = f"{index} % {count}" if at else index
                if stride:
                    found.append(f"({index}) * {stride}")
                    inside += [f"({name} < {size})"] if name in index and size % block else []
        return found, inside

    def _load(self, access: Access, where: Sequence[int], place: int) -> str:
        parts, inside = self._parts(access.offset, access.strides, place)
        known = [self._known(each, place) for each in where]
        inside += [
            self._name(each, place) for each, is_known in zip(where, known, strict=True) if is_known is None
        ]
        if False in known:
            inside = ["tl.full((), 0, tl.int1)"]
        mask = " & ".join(dict.fromkeys(inside))
        address = " + ".join([f"more[{self.arrays.index(access.input) + 2}]", *parts])
        if where:  # the condition may be of the whole tile
            address += " + 0 * rows + 0 * columns"
        return f"tl.load({address}{f', mask={mask}, other=0' if mask else ''})"


def _count_to(sizes: Sequence[int], size: int) -> int:
    """How many of the last loops have so many iterations; at least those of one iteration do not count."""
    count, product = 0, 1
    while product < size:
        count += 1
        product *= sizes[-count]
    return count
