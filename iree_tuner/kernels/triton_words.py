"""Products of one row by weights of few bits, which are taken from whole words of 32 bits.

A bit field becomes a number in two instructions, without a conversion of integers: it is put into the
mantissa of a large power of two, which is then subtracted. What many places of the depth share, such as the
scale and the zero point of a group, is applied to their sum: `sum(x (w + z)) s` is `sum(x w) s + sum(x) z s`.
Weights are not rounded as the program rounds them, so that sums are more exact than the program's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

from iree_tuner.kernels.formula import CONSTANT, INPUT, FormulaTerm
from iree_tuner.kernels.nest import INSIDE, OUTSIDE, PLACE, Access, LoopPart, Nest, common_parts
from iree_tuner.kernels.packed_bits import (
    WORD_BITS,
    Bits,
    NotPackedError,
    Number,
    folded,
    of_bits,
    widened,
)
from iree_tuner.kernels.product_shape import LEFT, RIGHT, ProductShape
from iree_tuner.kernels.triton_norms import IMPORTS, runs_of, value_of
from iree_tuner.kernels.triton_tiles import MOST_UNROLLED, NAME, in_f32, named_function, with_bytes
from iree_tuner.ops.element_type import ElementType

_CHOICE = "arith.select"
_CONVERSIONS = ("arith.sitofp", "arith.uitofp")
MOST_HELD = 128
"""The most weights of a thread that are read before one is used."""

MOST_STEPS = 4
"""The most steps of the depth that are added at once: all of them are read before one is used."""

_WIDEST = 64  # bits of a word of other arrays
_WIDENED = ("f16", "bf16", "f32")

_Static = Mapping[int, int]
"""The iterations of loops that are written out, by the loop's number."""


@dataclass(frozen=True)
class PackedProduct:
    """A product of one row whose right operand is taken from words.

    Attributes:
        nest: of the right operand, in f32. Its loops are those of batches, of columns, and of the depth.
        row: how these loops read the left operand.
        columns, depth: the numbers of the first loops of columns and of the depth.
        packed: the numbers of the accesses that read words.
        per: the number of elements in a word.
        static: the loops through what is in a word, which are written out.
    """

    nest: Nest
    row: Access
    columns: int
    depth: int
    packed: frozenset[int]
    per: int
    static: tuple[int, ...]

    @cached_property
    def unpacked(self) -> tuple[int, int]:
        """How many columns and places of the depth are written out."""
        sizes = self.nest.sizes
        wide = [sizes[each] for each in self.static if each < self.depth]
        deep = [sizes[each] for each in self.static if each >= self.depth]
        return math.prod(wide), math.prod(deep)

    def fits(self, bn: int, bk: int) -> bool:
        """Whether a tile has whole words."""
        return bn % self.unpacked[0] == 0 and bk % self.unpacked[1] == 0

    def sharing(self, bn: int, bk: int, threads: int) -> int:
        """How many of the steps that are added at once read the same, except words and the row."""
        most = steps_at_once(bn, bk, threads)
        return next(
            (each for each in (4, 2) if each <= most and self._shared(each * bk // self.unpacked[1])), 1
        )

    def _shared(self, size: int) -> bool:
        """Whether so many iterations of the depth read the same, except words and the row."""
        others = [each.strides for at, each in enumerate(self.nest.accesses) if at not in self.packed]
        deep = [each for each in range(self.depth, len(self.nest.sizes)) if each not in self.static]
        for strides in (*others, *(each.strides for each in self.nest.ranges)):
            runs = runs_of((self.nest.sizes[each], strides[each]) for each in deep)
            inner = [math.prod(each for each, _ in runs[at + 1 :]) for at in range(len(runs))]
            if any(stride and within % size for (_, stride), within in zip(runs, inner, strict=True)):
                return False
        return True


def steps_at_once(bn: int, bk: int, threads: int) -> int:
    """How many steps are added at once."""
    return max(1, min(MOST_STEPS, MOST_HELD * threads // (bn * bk)))


def packed_product(shape: ProductShape) -> PackedProduct | None:
    """The product of one row by weights that are taken from words; None if it is none."""
    nest = shape.computed.get(RIGHT)
    if nest is None or LEFT in shape.computed or shape.m != 1:
        return None
    nest = in_f32(with_bytes(nest), "f32")
    loops = [(role, at) for role in ("batch", "n", "k") for at in range(len(shape.sizes[role]))]
    parts = common_parts(nest.sizes, [shape.sizes[role][at] for role, at in loops])
    packed = _packed(nest)
    if parts is None or not packed:
        return None
    roles = [loops[each.of][0] for each in parts]
    steps = [shape.steps[LEFT][role][at] for role, at in loops]
    row = tuple(
        steps[each.of] * math.prod(other.size for other in parts[at + 1 :] if other.of == each.of)
        for at, each in enumerate(parts)
    )
    found = _in_words(nest.in_parts(parts), Access(shape.sources[0], 0, row), roles, packed)
    if found is None:
        return None
    try:
        _Writer(found, *found.unpacked, 1, 1, range(_MOST_ARRAYS), "f32").block()
    except NotPackedError:
        return None
    return found


def _packed(nest: Nest) -> frozenset[int]:
    """The accesses of the array of integers of which most elements are read."""

    def elements(access: Access) -> int:
        return math.prod(size for size, step in zip(nest.sizes, access.strides, strict=True) if step)

    kinds = {each.input: each.element for each in nest.terms if each.op == INPUT}
    widest = max(nest.accesses, key=elements).input
    own = [at for at, each in enumerate(nest.accesses) if each.input == widest]
    integers = all(ElementType.named(kinds[each]).kind == "integer" for each in own)
    return frozenset(own if integers and ElementType.named(kinds[own[0]]).bits in (8, 16, 32) else ())


def _in_words(
    nest: Nest, row: Access, roles: Sequence[str], packed: frozenset[int]
) -> PackedProduct | None:  # fmt: skip
    """The product with a loop through the elements of a word, if they have one."""
    kind = next(each.element for each in nest.terms if each.op == INPUT and each.input in packed)
    per, word = WORD_BITS // ElementType.named(kind).bits, -1
    if per > 1:
        own = [nest.accesses[each].strides for each in packed]
        word = next(
            (at for at, size in enumerate(nest.sizes) if size > 1 and all(each[at] == 1 for each in own)), -1
        )
        if word < 0 or nest.sizes[word] % per:
            return None
        whole = [LoopPart(size, at, 1, 0) for at, size in enumerate(nest.sizes)]
        cut = [LoopPart(nest.sizes[word] // per, word, per, 0), LoopPart(per, word, 1, 0)]
        parts = [*whole[:word], *cut, *whole[word + 1 :]]
        row = replace(row, strides=tuple(row.strides[each.loop] * each.factor for each in parts))
        nest, roles, word = nest.in_parts(parts), [roles[each.loop] for each in parts], word + 1
    own = [nest.accesses[each] for each in packed]
    if any(step % per for each in own for at, step in enumerate((*each.strides, each.offset)) if at != word):
        return None
    columns, depth = roles.count("batch"), len(roles) - roles.count("k")
    static = tuple(
        at for at, size in enumerate(nest.sizes)
        if at >= columns and (at == word or (size > 1 and not any(each.strides[at] for each in own)))
    )  # fmt: skip
    last = depth - sum(each < depth for each in static)  # of columns, the innermost ones
    if any(nest.sizes[each] > MOST_UNROLLED or columns <= each < last for each in static):
        return None
    found = PackedProduct(nest, row, columns, depth, packed, per, static)
    return found if all(each & (each - 1) == 0 for each in found.unpacked) else None


_MOST_ARRAYS = 8


def functions_of_words(
    found: PackedProduct, bn: int, bk: int, threads: int, sharing: int, left: str
) -> tuple[tuple[Any, Any, Any, Any], int]:
    """Functions in Triton that add a product of one row, and how many places of the depth they add at once.

    They return the first sums, a tuple of tiles; add a part of the depth to such a tuple; add one that goes
    past the end; and return a tuple's sums, one for each column of a tile. Parameters of the second and
    third: the tuple; the tuple of the number of the batch, that of a tile's first column, and arrays; the
    first place of the depth; the one after the last; and 2^23 as f32, as an integer that the compiler does
    not know, because an instruction takes but one constant. `left` is the type of the row. For `sharing` see
    `PackedProduct`.
    """
    steps = steps_at_once(bn, bk, threads)
    writer = _Writer(found, bn, bk, steps, sharing, range(_MOST_ARRAYS), left)
    texts = (
        writer.start(),
        writer.block(),
        replace(writer, masked=True, loads={}, values={}, known={}).block(),
        writer.total(),
    )
    begin, block, last, total = map(named_function, texts)
    return (begin, block, last, total), steps * bk


_Value = Bits | Number | int | str


@dataclass
class _Writer:
    """Writes the functions.

    A tile has an element for each word: `bn` and `bk` are its columns and depth in weights. Of the `steps`
    that are added at once, so many are `sharing` all that is read except words and the row. `masked`: places
    of the depth from `end` on count as 0.
    """

    found: PackedProduct
    bn: int
    bk: int
    steps: int
    sharing: int
    arrays: Sequence[int]
    left: str
    masked: bool = False
    loads: dict[str, str] = field(default_factory=dict[str, str])
    values: dict[str, str] = field(default_factory=dict[str, str])
    known: dict[tuple[object, ...], _Value] = field(default_factory=dict[tuple[object, ...], _Value])

    @property
    def shape(self) -> list[int]:
        wide, deep = self.found.unpacked
        return [self.bn // wide, self.bk // deep]

    def start(self) -> str:
        """The text of the function that returns the first sums."""
        zeros = f"tl.zeros({self.shape}, tl.float32)"
        return _text("", [f"return ({f'{zeros}, ' * self.found.unpacked[0]})"])

    def total(self) -> str:
        """The text of the function that returns the sums of columns."""
        count = self.found.unpacked[0]

        def joined(own: Sequence[int]) -> str:
            if len(own) == 1:
                return f"tl.sum(sums[{own[0]}], 1)"
            return f"tl.join({joined(own[::2])}, {joined(own[1::2])})"

        return _text("sums", [f"return tl.reshape({joined(range(count))}, [{self.bn}])"])

    def block(self) -> str:
        """The text of a function that adds a part of the depth."""
        self.loads.clear()
        self.values.clear()
        self.known.clear()
        nest, found = self.found.nest, self.found
        wide, deep = found.unpacked
        lines = [f"start = more[1] // {wide}", f"rows = start + tl.arange(0, {self.shape[0]})[:, None]"]
        left = math.prod(nest.sizes[: found.columns])
        for number, size in enumerate(nest.sizes[: found.columns]):
            left //= size
            lines.append(f"h{number} = more[0] // {left} % {size}")
        for step in range(self.steps):
            lines.append(f"at{step} = first // {deep} + {step * self.shape[1]}")
            lines.append(f"columns{step} = at{step} + tl.arange(0, {self.shape[1]})[None, :]")
        sums = [
            line for number, own in enumerate(self._places(deep=False)) for line in self._added(number, own)
        ]
        named = [f"{name} = {value}" for each in (self.loads, self.values) for name, value in each.items()]
        result = f"return ({''.join(f'a{each}, ' for each in range(wide))})"
        return _text("sums, more, first, end, large", [*lines, *named, *sums, result])

    def _places(self, *, deep: bool) -> Iterator[dict[int, int]]:
        """The iterations of the loops of columns that are written out, or of those of the depth."""
        own = [each for each in self.found.static if (each >= self.found.depth) == deep]
        for each in product(*(range(self.found.nest.sizes[loop]) for loop in own)):
            yield dict(zip(own, each, strict=True))

    def _added(self, number: int, own: _Static) -> Iterator[str]:
        """The lines that add to the sums of a column. Weights with the same scale and summand are summed."""
        groups = dict[tuple[str, str], list[tuple[str, str]]]()
        for step in range(self.steps):
            for place in self._places(deep=True):
                value = self._of(len(self.found.nest.terms) - 1, {**own, **place}, step)
                if not isinstance(value, Number):
                    raise NotPackedError
                shared = self._inside(value.scale, step), self._inside(value.add, step)
                groups.setdefault(shared, []).append((self._row(place, step), self._number(value)))
        yield f"a{number} = sums[{number}]"
        for (scale, add), weights in groups.items():
            if not scale and not add:
                yield from (f"a{number} += {row} * {weight}" for row, weight in weights)
                continue
            yield f"p{number} = {' + '.join(f'{row} * {weight}' for row, weight in weights)}"
            yield f"a{number} += p{number}{f' * ({scale})' if scale else ''}"
            if add:
                own_rows = [row for row, _ in weights]
                rows = self._named("q_" + "_".join(own_rows), " + ".join(own_rows))
                yield f"a{number} += {rows} * ({add})"

    def _inside(self, value: str, step: int) -> str:
        """A value, but 0 past the end: it may be infinite there."""
        step = step // self.sharing * self.sharing
        deep = self.found.unpacked[1]
        masked = self.masked and value
        return f"tl.where(columns{step} < end // {deep}, {value}, 0.0)" if masked else value

    def _number(self, value: Number) -> str:
        word, shift, text = value.written()
        return text.format(self._named(f"{word}_{shift}", f"{word} >> {shift}") if shift else word)

    def _named(self, name: str, value: str) -> str:
        self.values.setdefault(name, value)
        return name

    def _row(self, place: _Static, step: int) -> str:
        """The element of the left operand."""
        return self._read(self.found.row, self.left, place, step, "x")

    def _of(self, number: int, place: _Static, step: int) -> _Value:
        """The value of a term: of fields of words, a number that is known, or a name."""
        key = number, step, *place.items()
        if key not in self.known:
            self.known[key] = self._found(number, place, step)
        return self.known[key]

    def _found(self, number: int, place: _Static, step: int) -> _Value:
        term = self.found.nest.terms[number]
        if term.op == CONSTANT:
            whole = term.element[0] == "i"
            return int(term.value) if whole else self._named(f"v{number}", value_of(term, ()))
        if term.op == INPUT:
            return self._input(number, place, step)
        if term.op in (INSIDE, OUTSIDE, PLACE):
            return self._tested(number, place, step)
        of = [self._of(each, place, step) for each in term.of]
        if term.op == _CHOICE and isinstance(of[0], int):
            return of[1] if of[0] else of[2]
        if all(isinstance(each, int) for each in of):
            known = folded(term.op, [each for each in of if isinstance(each, int)], int(term.value))
            if known is not None and term.element[0] == "i":
                return known
        if isinstance(of[0], Bits):
            if term.op in _CONVERSIONS:
                return widened(term.op, of[0])
            by = of[1] if len(of) > 1 else None
            if by is not None and not isinstance(by, int):
                raise NotPackedError
            return of_bits(term.op, of[0], ElementType.named(term.element).bits, by)
        if any(isinstance(each, Bits | Number) for each in of):
            return self._linear(term, of)
        return self._computed(number, of, place, step)

    def _linear(self, term: FormulaTerm, of: Sequence[_Value]) -> _Value:
        """A linear function of a number that is one."""
        one, other = of[0], of[1] if len(of) > 1 else None
        if isinstance(one, Number) and other is None:
            if term.op in ("arith.extf", "arith.truncf"):
                return one
            if term.op == "arith.negf":
                return one.times("-1.0")
        commutes = term.op in ("arith.addf", "arith.mulf", "arith.addi", "arith.xori", "arith.andi")
        if commutes and isinstance(other, Bits | Number):
            one, other = other, one
        if isinstance(one, Bits) and isinstance(other, int):
            return of_bits(term.op, one, ElementType.named(term.element).bits, other)
        if not isinstance(one, Number) or not isinstance(other, str):
            raise NotPackedError
        if term.op == "arith.mulf":
            return one.times(other)
        if term.op == "arith.divf":
            return one.times(f"(1.0 / {other})")
        if term.op not in ("arith.addf", "arith.subf"):
            raise NotPackedError
        sign = 1 if term.op == "arith.addf" else -1
        known = self._constant(other)
        whole = None if known is None else one.moved(sign * known)
        return whole or one.plus(f"{'' if sign > 0 else '-'}{other}")

    def _constant(self, name: str) -> float | None:
        """The value of a name that is one of a constant."""
        number = int(name[1:].split("_")[0]) if name[0] == "v" else -1
        terms = self.found.nest.terms
        while number >= 0 and terms[number].op in ("arith.extf", "arith.truncf"):
            number = terms[number].of[0]
        return terms[number].value if number >= 0 and terms[number].op == CONSTANT else None

    def _input(self, number: int, place: _Static, step: int) -> _Value:
        term = self.found.nest.terms[number]
        for each in term.of:
            known = self._of(each, place, step)
            if known != 1:
                raise NotPackedError
        access = self.found.nest.accesses[term.input]
        if term.input not in self.found.packed:
            name = self._read(access, term.element, place, step // self.sharing * self.sharing, f"v{number}")
            return name if term.element != "i1" else self._named(f"{name}_true", f"{name} != 0")
        width = ElementType.named(term.element).bits
        at = access.offset % self.found.per + self._offset(access.strides, place)
        name = self._load(access, place, step, f"w{term.input}", WORD_BITS, width)
        return Bits(name, at % self.found.per * width, width, 0, width)

    def _tested(self, number: int, place: _Static, step: int) -> _Value:
        term = self.found.nest.terms[number]
        test = self.found.nest.ranges[term.input]
        index = test.offset + self._offset(test.strides, place)
        if not any(each for at, each in enumerate(test.strides) if at not in self.found.static):
            inside = test.first <= index < test.end
            return index if term.op == PLACE else int(inside == (term.op == INSIDE))
        step = step // self.sharing * self.sharing
        parts, _ = self._parts(test.strides, step, 1)
        text = " + ".join([str(index), *parts])
        if term.op != PLACE:
            text = f"({text} >= {test.first}) & ({text} < {test.end})"
            text = f"({text}) == 0" if term.op == OUTSIDE else text
        return self._named(f"v{number}_{step}_{index}", text)

    def _computed(self, number: int, of: Sequence[_Value], place: _Static, step: int) -> str:
        """The name of a value that is computed of no word."""
        term, terms = self.found.nest.terms[number], self.found.nest.terms
        names = list[str]()
        for each, known in zip(term.of, of, strict=True):
            if isinstance(known, int):
                kind = FormulaTerm(CONSTANT, terms[each].element, value=known)
                names.append(self._named(f"v{each}_is_{known}".replace("-", "m"), value_of(kind, ())))
            elif isinstance(known, str):
                names.append(known)
            else:
                raise NotPackedError
        name = f"v{number}_of_" + "_".join(names)
        return self._named(name, value_of(term, names, [terms[each].element for each in term.of]))

    def _offset(self, strides: Sequence[int], place: _Static) -> int:
        return sum(strides[loop] * at for loop, at in place.items())

    def _read(
        self, access: Access, kind: str, place: _Static, step: int, name: str
    ) -> str:  # fmt: skip
        """An element of an array that is not of words; floats as f32, if possible from wide words."""
        bits = ElementType.named(kind).bits
        if kind not in _WIDENED:
            return self._load(access, place, step, name, bits, bits)
        reach = sum(access.strides[each] * (self.found.nest.sizes[each] - 1) for each in self.found.static)
        aligned = [
            access.offset,
            *(step for at, step in enumerate(access.strides) if at not in self.found.static),
        ]
        wide = [each for each in (_WIDEST, WORD_BITS) if bits == 16 and reach >= each // bits - 1]
        size = next((each for each in wide if not any(step * bits % each for step in aligned)), bits)
        found = self._load(access, place, step, name, size, bits)
        at = (access.offset + self._offset(access.strides, place)) * bits % size
        if size == bits:
            return found if bits == 32 else self._named(f"{found}_wide", f"{found}.to(tl.float32)")
        if size == _WIDEST:
            half = f"{found} >> {WORD_BITS}" if at >= WORD_BITS else found
            found = self._named(f"{found}_part{at // WORD_BITS}", f"({half}).to(tl.int32)")
        high = at % WORD_BITS > 0
        if kind == "bf16":
            value = f"({found} & -65536)" if high else f"({found} << 16)"
            return self._named(f"{found}_at{at}", f"{value}.to(tl.float32, bitcast=True)")
        value = f"({found} >> 16)" if high else found
        value = f"({value}).to(tl.int16).to(tl.float16, bitcast=True).to(tl.float32)"
        return self._named(f"{found}_at{at}", value)

    def _load(self, access: Access, place: _Static, step: int, name: str, size: int, bits: int) -> str:
        """The name of what is read at a place: an element of `bits`, or the word of `size` bits with it."""
        per = size // bits
        number = (access.offset + self._offset(access.strides, place)) // per
        repeated = self._repeated(access.strides)
        parts, inside = self._parts(access.strides, step, per, repeated)
        pointer = f"more[{self.arrays.index(access.input) + 2}]"
        if per > 1:
            pointer += f".to(tl.pointer_type(tl.int{size}))"
        mask = " & ".join(dict.fromkeys(inside))
        address = " + ".join([pointer, *([str(number)] if number else []), *parts])
        key = f"{name}_{step}_{number}"
        value = f"tl.load({address}{f', mask={mask}, other=0' if mask else ''})"
        if repeated > 1:
            high = self.shape[0] if any("rows" in each for each in parts) else 1
            several = f"tl.expand_dims({value}, 2), [{high}, {self.shape[1] // repeated}, {repeated}]"
            value = f"tl.reshape(tl.broadcast_to({several}), [{high}, {self.shape[1]}])"
        self.loads.setdefault(key, value)
        return key

    def _repeated(self, strides: Sequence[int]) -> int:
        """How many words of the depth in a tile read the same element, if it is read once for all of them.

        Threads would read it as often as they have words, and in an order that fits these badly.
        """
        sizes, given = self.found.nest.sizes, self.found
        own = [each for each in range(given.depth, len(sizes)) if each not in given.static]
        runs = runs_of((sizes[each], strides[each]) for each in own)
        inner = runs[-1][0] if len(runs) > 1 and not runs[-1][1] else 1
        alone = sum(1 for _, stride in runs if stride) == 1 and len(runs) > 1 and runs[-2][1] > 0
        deep = self.shape[1]
        return inner if alone and deep % inner == 0 and inner % (deep * self.sharing) else 1

    def _parts(
        self, strides: Sequence[int], step: int, per: int, repeated: int = 1
    ) -> tuple[list[str], list[str]]:
        """The summands of an address in words, and the conditions under which it is inside.

        Of places of the depth, each of those that are `repeated` so often is there once.
        """
        found, inside, given = list[str](), list[str](), self.found
        sizes = given.nest.sizes
        found += [f"h{at} * {strides[at] // per}" for at in range(given.columns) if strides[at]]
        wide, deep = self.shape
        block, columns = deep * self.sharing, f"columns{step}"
        if repeated > 1:
            columns = f"(at{step} + {repeated} * tl.arange(0, {deep // repeated})[None, :])"
        for name, start, first, end, size in (
            ("rows", "start", given.columns, given.depth, wide),
            (columns, f"at{step}", given.depth, len(sizes), block),
        ):
            own = [each for each in range(first, end) if each not in given.static]
            total = math.prod(sizes[each] for each in own)
            runs = runs_of((sizes[each], strides[each]) for each in own)
            for at, (count, stride) in enumerate(runs):
                inner = math.prod(each for each, _ in runs[at + 1 :])
                index = start if inner % size == 0 else name
                alone = index
                index = f"{index} // {inner}" if inner > 1 else index
                index = f"{index} % {count}" if at else index
                if stride:
                    found.append(f"({index}) * {stride // per}")
                    if name == "rows":
                        inside += [f"(rows < {total})"] if alone == "rows" and total % size else []
                    elif self.masked:
                        inside.append(f"({alone} < end // {given.unpacked[1]})")
        return found, inside


def _text(parameters: str, lines: Sequence[str]) -> str:
    head = [*IMPORTS, "", "", "@triton.jit", f"def {NAME}({parameters}):"]
    return "\n".join([*head, *(f"    {each}" for each in lines), ""])
