"""Bit fields of words, and linear functions of them, as a program computes them of integers of few bits."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace

WORD_BITS = 32
_MANTISSA = 23
_BYTE, _FIRST_OF_BYTE = 8, 128
_EXACT = 1 << 24
_SMALL = 1 << 7  # numbers that integers of all widths have
_FAR = 16  # a shift that brings two bytes of a word, or four parts of 4 bits, into the mantissa


class NotPackedError(Exception):
    """Something that is no bit field, or no linear function of one."""


@dataclass(frozen=True)
class Bits:
    """A pattern of `element` bits, in which those from `up` on are a field of a word, and lower ones 0.

    Attributes:
        word: the name of the word.
        low, width: where the field begins in the word, and how many bits it has.
        up: where it begins in the pattern.
        element: the number of the pattern's bits.
        signed: whether bits above the field are copies of its first one, and not 0.
        flip: the bits of the field that are inverted.
        offset: what is added to the number that the pattern is. Only the sum is known then.
    """

    word: str
    low: int
    width: int
    up: int
    element: int
    signed: bool = False
    flip: int = 0
    offset: int = 0

    @property
    def negative(self) -> bool:
        """Whether the number may be negative without an offset."""
        return self.signed or self.up + self.width == self.element

    def kept(self, first: int, end: int) -> Bits:
        """The pattern with only its bits from `first` to `end`."""
        if self.signed and self.up + self.width < end < self.element:
            raise NotPackedError
        start, stop = max(first, self.up), min(end, self.up + self.width)
        if stop <= start:
            raise NotPackedError
        cut, width = start - self.up, stop - start
        flip = self.flip >> cut & ((1 << width) - 1)
        signed = self.signed and end >= self.element
        return replace(self, low=self.low + cut, width=width, up=start, flip=flip, signed=signed)

    def moved(self, by: int) -> Bits:
        """The pattern moved up by so many bits, or down; bits past its ends are lost."""
        found = self.kept(-by, self.element) if by < 0 else self.kept(0, self.element - by)
        return replace(found, up=found.up + by)


def of_bits(op: str, bits: Bits, element: int, by: int | None) -> Bits:
    """The result of a scalar op of a pattern and a number `by`, with so many bits.

    Raises NotPackedError if it is no such pattern.
    """
    mask = 0 if by is None else by % (1 << element)
    if bits.offset and op not in ("arith.addi", "arith.subi"):
        raise NotPackedError
    if by is None:
        return _widened(op, bits, element)
    if op == "arith.andi":
        first = (mask & -mask).bit_length() - 1
        if not mask or mask >> first & (mask >> first) + 1:
            raise NotPackedError
        return bits.kept(first, mask.bit_length())
    if op == "arith.xori":
        if bits.signed or mask >> bits.up << bits.up != mask or mask.bit_length() > bits.up + bits.width:
            raise NotPackedError
        return replace(bits, flip=bits.flip ^ mask >> bits.up)
    if op in ("arith.shli", "arith.shrui", "arith.shrsi") and 0 <= by < element:
        return _shifted(op, bits, by)
    if op in ("arith.addi", "arith.subi"):
        found = replace(bits, offset=bits.offset + (by if op == "arith.addi" else -by))
        size = 1 << bits.up + bits.width
        least, most = (-size // 2, size // 2) if bits.negative else (0, size)
        half = 1 << element - 1
        if least + found.offset < -half or most + found.offset > half:
            raise NotPackedError
        return found
    raise NotPackedError


def _shifted(op: str, bits: Bits, by: int) -> Bits:
    if op == "arith.shli":
        return bits.moved(by)
    if op == "arith.shrui" and bits.signed and by:
        raise NotPackedError
    found = bits.moved(-by)
    return replace(found, signed=(op == "arith.shrsi" and bits.negative and by > 0) or found.signed)


def _widened(op: str, bits: Bits, element: int) -> Bits:
    if op == "arith.trunci":
        kept = bits.kept(0, element) if bits.up + bits.width > element else bits
        return replace(kept, element=element, signed=kept.signed and kept.up + kept.width < element)
    if op == "arith.extsi":
        return replace(bits, element=element, signed=bits.negative)
    if op == "arith.extui" and not bits.signed:
        return replace(bits, element=element)
    raise NotPackedError


@dataclass(frozen=True)
class Number:
    """The f32 number `((field ^ flip) 2^up + offset) scale + add`, of a field of a word.

    `scale` and `add` are expressions, or empty.
    """

    field: Bits
    offset: int
    scale: str = ""
    add: str = ""

    def times(self, factor: str) -> Number:
        scale = f"{self.scale} * {factor}" if self.scale else factor
        return replace(self, scale=scale, add=f"({self.add}) * {factor}" if self.add else "")

    def plus(self, summand: str) -> Number:
        """Also of what begins with a sign."""
        return replace(self, add=f"{self.add} + {summand}" if self.add else summand)

    def moved(self, by: float) -> Number | None:
        """The number and a constant, if that is exact as one offset."""
        whole = not self.scale and not self.add and by == int(by)
        return replace(self, offset=self.offset + int(by)) if whole and abs(by) < 1 << 15 else None

    def of_byte(self) -> str:
        """The expression of the field and the offset in bf16, of the byte that is the word.

        Only masks are applied to bytes, of which a thread has several in a register: no shifts. A first bit
        that is inverted counts 128 less. In f16, conversions need each byte alone, and nothing is gained.
        """
        bits = self.field
        if bits.low + bits.width > _BYTE or bits.up + bits.width > _BYTE or abs(self.offset) > _FIRST_OF_BYTE:
            raise NotPackedError
        mask, flip = (1 << bits.width) - 1 << bits.low, bits.flip << bits.low
        times, more = 2.0 ** (bits.up - bits.low), float(self.offset)
        if mask & _FIRST_OF_BYTE:
            flip, more = flip ^ _FIRST_OF_BYTE, more + _FIRST_OF_BYTE * times
        found = bits.word if mask == (1 << _BYTE) - 1 else f"({bits.word} & {_signed(mask)})"
        found = f"({found} ^ {_signed(flip)})" if flip else found
        found = f"({found}).to(tl.bfloat16)"
        found = found if times == 1.0 else f"{found} * {times!r}"
        return f"({found} + {more!r})" if more else found

    def written(self) -> tuple[str, int, str]:
        """Its word, by how much that is shifted, and the expression of the field and the offset, of `{}`.

        `large` is 2^23 as an integer, whose lower bits the field replaces. A product with a power of two and
        an exact sum follow, which are one instruction.
        """
        bits = self.field
        end = bits.low + bits.width
        shift = 0 if end <= _MANTISSA else _FAR if bits.low >= _FAR else bits.low
        at = bits.low - shift
        if at + bits.width > _MANTISSA:
            raise NotPackedError
        mask, flip = (1 << bits.width) - 1 << at, bits.flip << at
        times = 2.0 ** (bits.up - at)
        less = self.offset - 2.0**_MANTISSA * times
        if less != int(less) or _odd_part(abs(int(less))) >= _EXACT:
            raise NotPackedError
        large = f"(large ^ {flip:#x})" if flip else "large"
        value = f"(({{}} & {mask:#x}) ^ {large}).to(tl.float32, bitcast=True)"
        scaled = value if times == 1.0 else f"{value} * {times!r}"
        return bits.word, shift, f"({scaled} + {less!r})"


def _signed(byte: int) -> int:
    return byte - (1 << _BYTE) if byte & _FIRST_OF_BYTE else byte


def _odd_part(number: int) -> int:
    return number // (number & -number) if number else 0


def widened(op: str, bits: Bits) -> Number:
    """The number that a conversion of a pattern makes."""
    if op == "arith.uitofp" and (bits.signed or bits.offset):
        raise NotPackedError
    if op == "arith.uitofp" or not bits.negative:
        return Number(replace(bits, offset=0, signed=False), bits.offset)
    # The first bit counts -2^n: inverted, it counts 2^n less than that.
    top = 1 << bits.width - 1
    plain = replace(bits, offset=0, signed=False, flip=bits.flip ^ top)
    return Number(plain, bits.offset - (top << bits.up))


_ORDERS = (operator.eq, operator.ne, *2 * (operator.lt, operator.le, operator.gt, operator.ge))
"""Predicates of cmpi by number; the second four are those of unsigned integers."""
_OPERATIONS = {
    "arith.addi": operator.add, "arith.subi": operator.sub, "arith.muli": operator.mul,
    "arith.andi": operator.and_, "arith.ori": operator.or_, "arith.shli": operator.lshift,
}  # fmt: skip
_SAME = ("arith.index_cast", "arith.extsi", "arith.extui", "arith.trunci")


def folded(op: str, values: Sequence[int], predicate: int) -> int | None:
    """The result of a scalar op of small numbers that are not negative; None if it is not known here."""
    if not all(0 <= each < _SMALL for each in values):
        return None
    if op in _SAME:
        return values[0]
    if op == "arith.cmpi":
        return int(_ORDERS[predicate](*values))
    found = _OPERATIONS[op](*values) if op in _OPERATIONS else -1
    return found if 0 <= found < _SMALL else None
