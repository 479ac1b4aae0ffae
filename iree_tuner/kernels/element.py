"""Follow an element of a tensor back through a graph of ops to the graph's inputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from iree.compiler import ir

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.moved import Index, Loop, UnsupportedError, clamped, decider
from iree_tuner.kernels.moves import (
    CONSTANT,
    EMPTY,
    INSERT,
    JOINS,
    Indices,
    Piece,
    is_elementwise,
    operand_indices,
    pieces_of,
    source_index,
)
from iree_tuner.ops.structure import shape_of

MOST_CASES = 8
"""The most parts that a loop may choose between. All of them are computed for each element."""

_MOST_ELEMENTS = 512


@dataclass(frozen=True, eq=False)
class Read:
    """An element of an input. Without indices: a scalar, or a tensor whose elements are all equal."""

    value: ir.Value
    index: Indices = ()


@dataclass(frozen=True, eq=False)
class Computed:
    """An element that the body of an elementwise op computes.

    Attributes:
        operands: the elements that the body uses, by number of its arguments.
        loops: the values of the op's loops.
    """

    op: ir.Operation
    operands: Mapping[int, Element]
    loops: Indices


@dataclass(frozen=True, eq=False)
class Choice:
    """One element for each value of a loop."""

    loop: Loop
    elements: tuple[Element, ...]


@dataclass(frozen=True, eq=False)
class Test:
    """One element where indices are within ranges (first, past the last), otherwise another one."""

    ranges: tuple[tuple[Index, int, int], ...]
    inside: Element
    outside: Element


Element = Read | Computed | Choice | Test


@dataclass
class Elements:
    """Follows elements of a graph's values back to its inputs; each element is followed once."""

    ops: Collection[ir.Operation]
    _known: dict[tuple[ir.Value, Indices], Element | None] = field(
        default_factory=dict[tuple[ir.Value, Indices], "Element | None"]
    )

    def at(self, value: ir.Value, index: Indices) -> Element | None:
        """The element of a value at an index; None if its value does not matter, as in an empty tensor.

        Raises:
            SplitError: a loop must be split into two before the element can be followed.
            UnsupportedError: the element cannot be followed.
        """
        key = value, index
        if key not in self._known:
            if len(self._known) > _MOST_ELEMENTS:
                raise UnsupportedError("too many elements are used")
            self._known[key] = self._made(value, index)
        return self._known[key]

    def _made(self, value: ir.Value, index: Indices) -> Element | None:
        op = producer(value)
        if op is None or op not in self.ops:
            return Read(value, index)
        if op.name == CONSTANT:
            return Read(value)
        if op.name == EMPTY:
            return None
        if op.name in JOINS:
            return self._joined(op, pieces_of(op)[::-1], index)
        if is_elementwise(op):
            return self._computed(op, index)
        return self.at(op.operands[0], source_index(op, index))

    def _computed(self, op: ir.Operation, index: Indices) -> Element | None:
        loops, places = operand_indices(op, index)
        found: dict[int, Element] = {}
        for argument in op.regions[0].blocks[0].arguments:
            if not list(argument.uses):
                continue
            value, number = op.operands[argument.arg_number], argument.arg_number
            scalar = not isinstance(value.type, ir.ShapedType)
            element = Read(value) if scalar else self.at(value, places[number])
            if element is None:
                return None
            found[number] = element
        return Computed(op, found, loops)

    def _joined(self, op: ir.Operation, pieces: list[Piece], index: Indices) -> Element | None:
        """The element in the first piece that covers the index."""
        if not pieces:
            return self.at(op.operands[1], index) if op.name == INSERT else None  # no piece covers it
        piece, *others = pieces
        ranges = tuple(
            (each, first, first + size)
            for each, first, size in zip(index, piece.first, piece.sizes, strict=True)
            if each.lowest < first or each.highest >= first + size
        )
        if not ranges:
            return self.at(piece.value, piece.inside(index))
        if any(each.highest < first or each.lowest >= end for each, first, end in ranges):
            return self._joined(op, others, index)
        for each, first, end in ranges:
            loop = decider(each, (first, end), MOST_CASES)
            if loop is not None:
                return self._chosen(op, pieces, index, loop)
        return self._tested(op, pieces, index, ranges)

    def _chosen(
        self, op: ir.Operation, pieces: list[Piece], index: Indices, loop: Loop
    ) -> Element | None:  # fmt: skip
        found = [
            self._joined(op, pieces, tuple(each.fixed(loop, value) for each in index))
            for value in range(loop.size)
        ]
        some = next((each for each in found if each is not None), None)
        return None if some is None else Choice(loop, tuple(each or some for each in found))

    def _tested(
        self, op: ir.Operation, pieces: list[Piece], index: Indices,
        ranges: tuple[tuple[Index, int, int], ...],
    ) -> Element | None:  # fmt: skip
        piece, *others = pieces
        sizes = [size for place, size in enumerate(piece.sizes) if place not in piece.dropped]
        own = [clamped(each, size) for each, size in zip(piece.inside(index), sizes, strict=True)]
        assert sizes == list(shape_of(piece.value.type))
        inside, outside = self.at(piece.value, tuple(own)), self._joined(op, others, index)
        if inside is None or outside is None:
            return inside or outside
        return Test(ranges, inside, outside)
