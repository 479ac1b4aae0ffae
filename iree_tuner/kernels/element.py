"""What an element of a tensor is computed from, followed through ops up to a graph's inputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from iree.compiler import ir

from iree_tuner.kernels.epilogue import producer
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
from iree_tuner.kernels.place_index import Index, Loop, UnsupportedError, clamped, decider
from iree_tuner.ops.structure import shape_of

MOST_CASES = 8
"""Of parts that a loop chooses between: all of them are computed for each element."""

_MOST_ELEMENTS = 512


@dataclass(frozen=True, eq=False)
class Read:
    """An element of an input; or, without indices, a scalar or a tensor with the same element everywhere."""

    value: ir.Value
    index: Indices = ()


@dataclass(frozen=True, eq=False)
class Computed:
    """What the body of an elementwise op makes.

    Attributes:
        op: it.
        operands: the elements that the body uses, by number of its arguments.
        loops: of the op.
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
    """One element where indices are within ranges (first, past the last), and another one elsewhere."""

    ranges: tuple[tuple[Index, int, int], ...]
    inside: Element
    outside: Element


Element = Read | Computed | Choice | Test


@dataclass
class Elements:
    """Elements of the values of a graph.

    Args:
        ops: the graph.
    """

    ops: Collection[ir.Operation]
    _known: dict[tuple[ir.Value, Indices], Element | None] = field(
        default_factory=dict[tuple[ir.Value, Indices], "Element | None"]
    )

    def at(self, value: ir.Value, index: Indices) -> Element | None:
        """An element; None where its value does not matter, as of an empty tensor.

        Raises:
            SplitError: a loop must be two, for the graph to be followed.
            UnsupportedError: it cannot be.
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

    def _rest(self, op: ir.Operation, index: Indices) -> Element | None:
        """What is where no piece is."""
        return self.at(op.operands[1], index) if op.name == INSERT else None

    def _joined(self, op: ir.Operation, pieces: list[Piece], index: Indices) -> Element | None:
        """An element of the first of the pieces that has it."""
        if not pieces:
            return self._rest(op, index)
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
