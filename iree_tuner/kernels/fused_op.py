"""A graph of elementwise ops, slices, joins and reshapes, built as one `linalg.generic`.

Elements of the result are followed back through the graph to its inputs. For kernels that the compiler does
not make, the plan of such an op is written as plain data (`planned_nest`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, tensor

from iree_tuner.compiler.linalg import IndexOp, access, collapse, elementwise, expand, generic
from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.kernel import ANY, Code, Knobs, Launch, Problem
from iree_tuner.kernels.moved import (
    Clamped,
    Cut,
    LoopSum,
    NotIndexableError,
    SplitError,
    SplitLoop,
    Variable,
    clamped,
    cut_of,
    decider,
)
from iree_tuner.kernels.moves import (
    CONSTANT as ARITH_CONSTANT,
)
from iree_tuner.kernels.moves import (
    EMPTY,
    INSERT,
    JOINS,
    PAD,
    Indices,
    Piece,
    is_elementwise,
    is_scalar_constant,
    operand_indices,
    pieces_of,
    sliced,
    source_index,
)
from iree_tuner.kernels.shapes import combined_by, dimensions, start_of
from iree_tuner.kernels.windows import window_indices, window_of
from iree_tuner.ops.dag import captured, clone
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.generic import Generic
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.structure import indexing_maps, iterators, shape_of
from iree_tuner.ops.workload import Workload
from iree_tuner.targets import Target

MOST_CASES = 8
"""The most parts that a loop may choose between. All of them are computed for each element."""

REDUCTIONS = ("arith.addf", "arith.maximumf", "arith.maxnumf")
"""Scalar ops of reductions along rows."""

_MOST_ELEMENTS = 512
_MOST_SPLITS = 16
_NONE: Knobs = {}


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
class Select:
    """One element for each value of a loop."""

    loop: SplitLoop
    elements: tuple[Element, ...]


@dataclass(frozen=True, eq=False)
class Test:
    """One element where indices are within ranges (first, past the last), otherwise another one."""

    ranges: tuple[tuple[LoopSum, int, int], ...]
    inside: Element
    outside: Element


@dataclass(frozen=True, eq=False)
class Reduced:
    """What a reduction makes of the elements of a row; the same for each place in the row of the result.

    Attributes:
        op: the name of the scalar op that adds an element.
        start: the value that the reduction starts from.
        element: an element of the row, at the place of the result's.
        result: what the reduction computes.
    """

    op: str
    start: float
    element: Element
    result: ir.Value


@dataclass(frozen=True, eq=False)
class Combined:
    """What a scalar op makes of some elements one after the other, from a start; only nests have it."""

    op: str
    start: float
    elements: tuple[Element, ...]
    result: ir.Value


Element = Read | Computed | Select | Test | Reduced | Combined


@dataclass
class Elements:
    """Follows elements of a graph's values back to its inputs; each element is followed once.

    Reductions are followed if the graph's result has a `row` of their size: the index along it, and its size.
    """

    ops: Collection[ir.Operation]
    row: tuple[LoopSum, int] | None = None
    _known: dict[tuple[ir.Value, Indices], Element | None] = field(
        default_factory=dict[tuple[ir.Value, Indices], "Element | None"]
    )

    def at(self, value: ir.Value, index: Indices) -> Element | None:
        """The element of a value at an index; None if its value does not matter, as in an empty tensor.

        Raises:
            SplitError: a loop must be split into two before the element can be followed.
            NotIndexableError: the element cannot be followed.
        """
        key = value, index
        if key not in self._known:
            if len(self._known) > _MOST_ELEMENTS:
                raise NotIndexableError("too many elements are used")
            self._known[key] = self._made(value, index)
        return self._known[key]

    def _made(self, value: ir.Value, index: Indices) -> Element | None:
        op = producer(value)
        if op is None or op not in self.ops:
            return Read(value, index)
        if op.name == ARITH_CONSTANT:
            return Read(value)
        if op.name == EMPTY:
            return None
        if op.name in (*JOINS, PAD):
            return self._joined(op, pieces_of(op)[::-1], index)
        if is_elementwise(op):
            return self._computed(op, index)
        if (window := window_of(op)) is not None:
            every = [self.at(op.operands[0], each) for each in window_indices(op, window, index)]
            found = tuple(each for each in every if each is not None)
            return Combined(window.op, window.start, found, op.result)
        if self.row is not None and (found := reduction_of(op, self.row[1])) is not None:
            return self._reduced(op, *found, index, self.row[0])
        return self.at(op.operands[0], source_index(op, index))

    def _reduced(self, op: ir.Operation, name: str, start: float, index: Indices, row: LoopSum) -> Element:
        along = {each.dimension for each, _ in row.terms if isinstance(each, SplitLoop)}
        loops = (loop for each in index for loop, _ in each.terms)
        if any(not isinstance(each, SplitLoop) or each.dimension in along for each in loops):
            raise NotIndexableError("a reduction is along other elements than the row's")
        read, written = indexing_maps(op)
        known = dict(zip(dimensions(written), index, strict=True))
        element = self.at(op.operands[0], tuple(known.get(loop, row) for loop in dimensions(read)))
        if element is None:
            raise NotIndexableError("a reduction of nothing")
        return Reduced(name, start, element, op.result)

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
        if not pieces and op.name == PAD:
            return Read(captured(op)[0])
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
        self, op: ir.Operation, pieces: list[Piece], index: Indices, loop: SplitLoop
    ) -> Element | None:  # fmt: skip
        found = [
            self._joined(op, pieces, tuple(each.fixed(loop, value) for each in index))
            for value in range(loop.size)
        ]
        some = next((each for each in found if each is not None), None)
        return None if some is None else Select(loop, tuple(each or some for each in found))

    def _tested(
        self, op: ir.Operation, pieces: list[Piece], index: Indices,
        ranges: tuple[tuple[LoopSum, int, int], ...],
    ) -> Element | None:  # fmt: skip
        piece, *others = pieces
        sizes = [size for place, size in enumerate(piece.sizes) if place not in piece.dropped]
        own = [clamped(each, size) for each, size in zip(piece.inside(index), sizes, strict=True)]
        assert sizes == list(shape_of(piece.value.type))
        inside, outside = self.at(piece.value, tuple(own)), self._joined(op, others, index)
        if inside is None or outside is None:
            return inside or outside
        return Test(ranges, inside, outside)


@dataclass(frozen=True)
class FusedPlan:
    """An op to build: sizes of the loops for each dimension of the result, and its element."""

    sizes: tuple[tuple[int, ...], ...]
    element: Element

    @property
    def loops(self) -> list[SplitLoop]:
        return [loop for dimension in range(len(self.sizes)) for loop in _loops(self.sizes, dimension)]


def reduction_of(op: ir.Operation, size: int) -> tuple[str, float] | None:
    """The scalar op and the start of a reduction along the last dimension, of this size; otherwise None."""
    if op.name != "linalg.generic" or len(op.operands) != 2 or list(iterators(op)).count("reduction") != 1:
        return None
    maps = indexing_maps(op)
    last = shape_of(op.operands[0].type)[-1:]
    read, written = map(dimensions, maps)
    if None in read or len(set(read)) < len(read) or last != (size,):
        return None
    step, start = combined_by(op), start_of(op)
    if step not in REDUCTIONS or start is None:
        return None
    return (step, start) if [each for each in written if each is not None] == read[:-1] else None


def plan_of(ops: Collection[ir.Operation], result: ir.Value, *, rows: bool = False) -> FusedPlan:
    """Plan the op that computes a graph's result. Raises NotIndexableError if no single op does.

    With `rows`, the graph may have reductions along the last dimension (`Reduced`), which only nests have.
    """
    shape = ir.RankedTensorType(result.type).shape
    sizes = tuple((size,) for size in shape)
    for _ in range(_MOST_SPLITS):
        try:
            whole = whole_index(sizes)
            element = Elements(ops, (whole[-1], shape[-1]) if rows else None).at(result, whole)
        except SplitError as error:
            loop, parts = error.loop, sizes[error.loop.dimension]
            own = (*parts[: loop.part], loop.size // error.inner, error.inner, *parts[loop.part + 1 :])
            sizes = (*sizes[: loop.dimension], own, *sizes[loop.dimension + 1 :])
            continue
        if element is None:
            raise NotIndexableError("nothing is computed")
        return FusedPlan(sizes, element)
    raise NotIndexableError("too many loops")


def _loops(sizes: Sequence[Sequence[int]], dimension: int) -> list[SplitLoop]:
    return [SplitLoop(dimension, part, size) for part, size in enumerate(sizes[dimension])]


def whole_index(sizes: Sequence[Sequence[int]]) -> Indices:
    """The index of an element of the result, as sums of loops."""
    found: list[LoopSum] = []
    for dimension, parts in enumerate(sizes):
        total = LoopSum()
        for loop, size in zip(_loops(sizes, dimension), parts, strict=True):
            total = total.times(size).plus(LoopSum.of(0, {loop: 1}))
        found.append(total)
    return tuple(found)


def build(
    plan: FusedPlan, inputs: Mapping[ir.Value, ir.Value], result: ir.Type, zero: ir.Value | None = None
) -> ir.Value:  # fmt: skip
    """Build the op at the current insertion point; its result has the shape `result` of the graph's.

    `inputs` has the values that stand for the graph's inputs here. `zero` is taken for 0 everywhere.
    """
    kind, body = ir.RankedTensorType(result), _body_of(plan, inputs, zero)
    shape, maps = [loop.size for loop in plan.loops], [view.map for view in body.views]

    def make(*arguments: ir.Value) -> ir.Value:
        body.arguments = arguments
        return body.made(plan.element)

    found = elementwise([view.value for view in body.views], maps, shape, kind.element_type, make)
    return collapse(found, [len(parts) for parts in plan.sizes])


def build_sum(
    plan: FusedPlan, inputs: Mapping[ir.Value, ir.Value], first: ir.Value, written: ir.AffineMap
) -> ir.Value:
    """Build the sum of a graph's elements over some loops, as one op at the current insertion point.

    Args:
        plan: of the graph, whose dimensions are single loops.
        inputs: the values that stand for the graph's inputs here.
        first: the initial value of the sums.
        written: the map from loops to the result.
    """
    body = _body_of(plan, inputs)

    def add(*arguments: ir.Value) -> ir.Value:
        body.arguments = arguments[:-1]
        return arith.addf(arguments[-1], body.made(plan.element))

    maps = [*(view.map for view in body.views), written]
    return generic([view.value for view in body.views], first, maps, add)


def _body_of(
    plan: FusedPlan, inputs: Mapping[ir.Value, ir.Value], zero: ir.Value | None = None
) -> _Body:  # fmt: skip
    body = _Body({loop: number for number, loop in enumerate(plan.loops)}, inputs)
    if zero is not None:
        body.constants[zero] = arith.constant(ir.RankedTensorType(zero.type).element_type, 0.0)
    body.look(plan.element)
    return body


@dataclass(frozen=True)
class _View:
    """An operand of the op: a part of an input, in a shape with one dimension for each loop."""

    value: ir.Value
    map: ir.AffineMap


@dataclass
class _Body:
    """The body of the op.

    Attributes:
        numbers: number of each loop.
        inputs, constants: values that stand for the graph's inputs and constants.
        views: operands of the op.
        arguments: arguments of the block, while the body is built.
    """

    numbers: dict[SplitLoop, int]
    inputs: Mapping[ir.Value, ir.Value]
    constants: dict[ir.Value, ir.Value] = field(default_factory=dict[ir.Value, ir.Value])
    views: list[_View] = field(default_factory=list[_View])
    arguments: Sequence[ir.Value] = ()
    _places: dict[tuple[ir.Value, Indices], int | None] = field(
        default_factory=dict[tuple[ir.Value, Indices], int | None]
    )
    _looked: set[Element] = field(default_factory=set[Element])
    _made: dict[Element, ir.Value] = field(default_factory=dict[Element, ir.Value])
    _indices: dict[LoopSum | Variable, ir.Value] = field(default_factory=dict[LoopSum | Variable, ir.Value])

    def look(self, element: Element) -> None:
        """Make views of all inputs that an element reads, and copy its constants."""
        if element in self._looked:
            return
        self._looked.add(element)
        match element:
            case Read(value, index):
                self._read(value, index)
            case Computed(op, operands, _):
                for value in captured(op):
                    self._constant(value)
                for each in operands.values():
                    self.look(each)
            case Select(_, elements):
                for each in elements:
                    self.look(each)
            case Test(_, inside, outside):
                self.look(inside)
                self.look(outside)
            case Reduced() | Combined():
                raise NotIndexableError("an op has no reductions of its operands")

    def _read(self, value: ir.Value, index: Indices) -> None:
        if value not in self.inputs:
            self._constant(value)
        elif (value, index) not in self._places:
            view = self._view(self.inputs[value], index)
            self._places[value, index] = None if view is None else len(self.views)
            self.views += [view] if view is not None else []

    def _constant(self, value: ir.Value) -> None:
        """Copy a scalar constant, or make a scalar of a tensor whose elements are all equal."""
        op = producer(value)
        if value in self.constants or op is None:
            return
        if is_scalar_constant(value):
            self.constants[value] = clone(op, {}, ir.InsertionPoint.current).result
            return
        splat = ir.DenseElementsAttr(op.attributes["value"]).get_splat_value()
        kind = ir.RankedTensorType(value.type).element_type
        self.constants[value] = arith.constant(kind, splat)

    def _view(self, value: ir.Value, index: Indices) -> _View | None:
        """The view of an input that loops can index; None if elements have to be extracted one by one."""
        cuts = [
            cut_of(each, size)
            for each, size in zip(index, ir.RankedTensorType(value.type).shape, strict=True)
        ]
        known = [each for each in cuts if each is not None]
        loops = [loop for cut in known for loop in cut.loops if loop is not None]
        if len(known) < len(cuts) or len(set(loops)) < len(loops):
            return None
        return _View(_cut(value, known), access(len(self.numbers), [self.numbers[loop] for loop in loops]))

    def made(self, element: Element) -> ir.Value:
        """The value of an element, which is built once."""
        if element not in self._made:
            self._made[element] = self._build(element)
        return self._made[element]

    def _build(self, element: Element) -> ir.Value:
        match element:
            case Read(value, index):
                if value in self.constants:
                    return self.constants[value]
                number = self._places[value, index]
                if number is not None:
                    return self.arguments[number]
                kind = ir.RankedTensorType(value.type).element_type
                places: list[ir.Value[Any]] = [*map(self._index, index)]
                source: ir.Value[Any] = self.inputs[value]
                return tensor.ExtractOp(source, places, results=[kind]).result
            case Computed(op, operands, loops):
                made = {number: self.made(each) for number, each in operands.items()}
                return self._computed(op, made, loops)
            case Select(loop, elements):
                *others, found = map(self.made, elements)
                for number, each in reversed(list(enumerate(others))):
                    own = arith.cmpi(arith.CmpIPredicate.eq, self._variable(loop), _number(number))
                    found = each if each == found else arith.select(own, each, found)
                return found
            case Test(ranges, inside, outside):
                kept, other = self.made(inside), self.made(outside)
                tests = [each for one in ranges for each in self._tests(*one)]
                return arith.select(reduce(arith.andi, tests), kept, other)
            case Reduced() | Combined():
                raise NotIndexableError("an op has no reductions of its operands")

    def _computed(self, op: ir.Operation, operands: dict[int, ir.Value], loops: Indices) -> ir.Value:
        block = op.regions[0].blocks[0]
        values = {block.arguments[number]: each for number, each in operands.items()}
        values |= {each: self.constants[each] for each in captured(op)}
        *steps, last = block.operations
        for step in steps:
            if step.operation.name == "linalg.index":
                number = ir.IntegerAttr(step.operation.attributes["dim"]).value
                values[step.operation.result] = self._index(loops[number])
            else:
                copy = clone(step.operation, values, ir.InsertionPoint.current)
                values[step.operation.result] = copy.result
        return values[last.operation.operands[0]]

    def _tests(self, index: LoopSum, first: int, end: int) -> list[ir.Value]:
        value, tests = self._index(index), list[ir.Value]()
        if index.lowest < first:
            tests.append(arith.cmpi(arith.CmpIPredicate.sge, value, _number(first)))
        if index.highest >= end:
            tests.append(arith.cmpi(arith.CmpIPredicate.slt, value, _number(end)))
        return tests

    def _index(self, index: LoopSum) -> ir.Value:
        if index not in self._indices:
            parts = [_number(index.constant)] if index.constant or not index.terms else []
            for each, factor in index.terms:
                value = self._variable(each)
                parts.append(value if factor == 1 else arith.muli(value, _number(factor)))
            self._indices[index] = reduce(arith.addi, parts)
        return self._indices[index]

    def _variable(self, variable: Variable) -> ir.Value:
        if variable not in self._indices:
            match variable:
                case SplitLoop():
                    found = IndexOp(self.numbers[variable]).result
                case Clamped(index, size):
                    least = arith.maxsi(self._index(index), _number(0))
                    found = arith.minsi(least, _number(size - 1))
            self._indices[variable] = found
        return self._indices[variable]


def _number(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)


def _cut(value: ir.Value[Any], cuts: Sequence[Cut]) -> ir.Value:
    lengths = [each.length for each in cuts]
    if lengths != ir.RankedTensorType(value.type).shape:
        value = sliced(value, [each.first for each in cuts], lengths, lengths)
    sizes = [size for each in cuts for size in each.sizes]
    value = expand(value, [each.sizes for each in cuts])
    offsets = [offset for each in cuts for offset in each.offsets]
    loops = [loop for each in cuts for loop in each.loops]
    kept = [loop.size for loop in loops if loop is not None]
    if kept == sizes and not any(offsets):
        return value
    return sliced(value, offsets, [loop.size if loop else 1 for loop in loops], kept)


class FusedOps:
    """Slices, joins and elementwise ops that the compiler does not fuse (`chains`), for every target."""

    name = "fused_ops"
    summary = "chains of elementwise ops, slices and concatenations as one dispatch"
    backend = ANY
    replaces = ("fused", "input")
    """The names of the workloads' ops: chains, and inputs that are read in parts (`find_sliced_inputs`)."""

    def missing(self) -> str:
        """Always empty: the compiler makes the code."""
        return ""

    def refuses(self, problem: Problem) -> str:
        return "" if problem.workload.op in self.replaces else "it is a single op"

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        """One variant without knobs: the compiler chooses the configuration of the op's dispatch."""
        return ({},)

    def make(self, problem: Problem, target: Target | None = None, knobs: Knobs = _NONE) -> Code:
        """The program with the fused op, which is the same for every target."""
        return Code("ops", self.name, problem.fused, Launch((1, 1, 1)))


def workload_of(result: ir.Type, op: str = FusedOps.replaces[0]) -> Workload:
    """A workload that states only the result's shape and type, for ops that a kernel rewrites."""
    shape = tuple(ir.RankedTensorType(result).shape) if isinstance(result, ir.ShapedType) else ()
    rank = len(shape)
    return Workload(
        Generic.name, op, shape, ("parallel",) * rank, (ElementType.of(result),),
        (IndexingMap.through(rank, range(rank)),), (),
    )  # fmt: skip
