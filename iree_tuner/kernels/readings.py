"""Ops that read an array at positions that they compute, rewritten as moves.

JAX's flips and the mirrored edges of its paddings become an op that captures an array, and extracts an
element at positions computed of its loops. So do gathers at constant positions, and PyTorch's nearest
upsampling. The matcher of 3.13 does not follow an array that only a body uses. A spec therefore first
rewrites such ops as slices, joins, repetitions and reversals, which kernels read through (`moves`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from iree.compiler import ir
from iree.compiler.dialects import arith, func, preprocessing_transform, tensor, transform
from iree.compiler.dialects.transform import structured

from iree_tuner.compiler.context import walk
from iree_tuner.compiler.linalg import IndexOp, access, collapse, elementwise, generic
from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.moves import CONSTANT, EXTRACT, INDEX, is_real, sliced
from iree_tuner.kernels.site import copy_ops, program_of
from iree_tuner.ops.dag import captured
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.structure import indexing_maps, iterators, shape_of

_MOST_PARTS = 8
"""The most parts of a dimension that are read in one step each."""
_MOST_POSITIONS = 1 << 16

_Known = npt.NDArray[Any]
"""The value of a scalar in each iteration: a dimension for each loop, of size 1 where it is the same."""


@dataclass(frozen=True)
class Reading:
    """An op that reads an array at positions.

    Attributes:
        array: what it reads.
        op, extract: the op, and the op in its body that reads the array.
        loops: the loop that each dimension's positions depend on; None where there is one position.
        positions: the positions in each dimension, one for each iteration of its loop.
    """

    array: ir.Value
    op: ir.Operation
    extract: ir.Operation
    loops: tuple[int | None, ...]
    positions: tuple[tuple[int, ...], ...]

    @property
    def case(self) -> bytes:
        """The text of a program that reads its argument so."""
        kind = ir.RankedTensorType(self.op.result.type)

        def build(function: func.FuncOp) -> ir.Value:
            made = (producer(value) for value in captured(self.op) if value != self.array)
            out = empty(kind)
            found = copy_ops([*filter(None, made), self.op], {self.array: function.arguments[0]})
            copy = producer(found)
            assert copy is not None, "the copy of an op computes a value"
            copy.operands[0] = out  # which may have been the array itself
            return found

        return program_of([self.array], kind, build)


def find_readings(module: ir.Module) -> tuple[bytes, ...]:
    """The cases of all readings of a program, each once."""
    found = (reading_of(op) for op in walk(module.operation) if op.name == "linalg.generic")
    return tuple(dict.fromkeys(each.case for each in found if each is not None))


def reading_of(op: ir.Operation) -> Reading | None:
    """How an op reads one array; None if it does anything else, or positions depend on several loops."""
    if op.name != "linalg.generic" or len(op.operands) != 1 or "reduction" in iterators(op):
        return None
    (written,), shape = indexing_maps(op), shape_of(op.operands[0].type)
    extract = producer(op.regions[0].blocks[0].operations[-1].operands[0])
    if extract is None or extract.name != EXTRACT or extract.parent != op or not all(shape):
        return None
    array, block = extract.operands[0], op.regions[0].blocks[0]
    others = (producer(each) for each in captured(op) if each != array)
    if any(each is None or each.name != CONSTANT for each in others) or array not in captured(op):
        return None
    if written != ir.AffineMap.get_identity(len(shape)) or any(list(each.uses) for each in block.arguments):
        return None
    whole = shape_of(array.type)
    positions = _positions(op, extract, [size or 0 for size in shape])
    if positions is None or None in whole:
        return None
    loops = [_loop_of(each) for each in positions]
    own = [each for each in loops if each is not None]
    if any(each.size > 1 and loop is None for each, loop in zip(positions, loops, strict=True)):
        return None
    if len(set(own)) < len(own):
        return None
    places = tuple(tuple(int(place) for place in each.flatten()) for each in positions)
    inside = all(0 <= min(each) <= max(each) < (size or 0) for each, size in zip(places, whole, strict=True))
    parts = [len(_parts(each)) for each in places]
    if not inside or max(parts, default=0) > _MOST_PARTS:
        return None
    return Reading(array, op, extract, tuple(loops), places)


def _loop_of(known: _Known) -> int | None:
    """The only loop that a value depends on; None if there is no such loop."""
    loops = [loop for loop, size in enumerate(known.shape) if size > 1]
    return loops[0] if len(loops) == 1 else None


def _positions(op: ir.Operation, extract: ir.Operation, shape: Sequence[int]) -> list[_Known] | None:
    """The positions that a body reads an array at; None if they are not known before it runs."""
    known: dict[ir.Value, _Known] = {}
    ops = [each.operation for each in op.regions[0].blocks[0].operations]
    for each in (*filter(None, map(producer, captured(op))), *ops[: ops.index(extract)]):
        if max(shape, default=0) > _MOST_POSITIONS:
            return None
        with np.errstate(all="ignore"):  # of branches that are not taken
            found = _value_of(each, known, shape)
        if found is not None:
            known[each.result] = found
    places = [known.get(each) for each in [*extract.operands][1:]]
    found = [each for each in places if each is not None]
    return found if len(found) == len(places) else None


def _value_of(op: ir.Operation, known: Mapping[ir.Value, _Known], shape: Sequence[int]) -> _Known | None:
    """What a scalar op computes in each iteration; None if that is not known."""
    rank = len(shape)
    if op.name == INDEX:
        loop = ir.IntegerAttr(op.attributes["dim"]).value
        return np.arange(shape[loop]).reshape([shape[loop] if each == loop else 1 for each in range(rank)])
    if op.name == CONSTANT:
        return _constant(op, rank)
    given = [known.get(each) for each in op.operands]
    of = [each for each in given if each is not None]
    if len(of) < len(given) or len(op.results) != 1:
        return None
    along = np.broadcast_shapes(*(each.shape for each in (of[1:] if op.name == EXTRACT else of)))
    if math.prod(along) > _MOST_POSITIONS:
        return None
    if op.name == EXTRACT:
        table, *places = of
        return table[tuple(np.broadcast_arrays(*places))] if _inside(table, places) else None
    if op.name == "arith.cmpi":
        compares = _COMPARED.get(ir.IntegerAttr(op.attributes["predicate"]).value)  # not of unsigned numbers
        return None if compares is None else compares(*of)
    if op.name in _CASTS:
        return of[0].astype(_type_of(op.result.type))
    computes = _COMPUTED.get(op.name)
    return None if computes is None else computes(*of).astype(_type_of(op.result.type))


def _inside(table: _Known, places: Sequence[_Known]) -> bool:
    sizes = zip(places, table.shape, strict=True)
    return all(int(each.min()) >= 0 and int(each.max()) < size for each, size in sizes)


def _constant(op: ir.Operation, rank: int) -> _Known | None:
    kind = op.result.type
    if isinstance(kind, ir.ShapedType) and not is_real(kind):
        return None
    value = op.attributes["value"]
    if isinstance(value, ir.IntegerAttr | ir.FloatAttr):
        return np.full([1] * rank, value.value, _type_of(op.result.type))
    if not isinstance(value, ir.DenseIntElementsAttr) or len(value) > _MOST_POSITIONS:
        return None
    shape = ir.RankedTensorType(op.result.type).shape
    return np.array([*value], _type_of(op.result.type)).reshape(shape)


def _type_of(kind: ir.Type) -> npt.DTypeLike | None:
    if isinstance(kind, ir.IndexType):
        return np.int64
    if isinstance(kind, ir.IntegerType) and kind.width == 1:
        return np.bool_
    return ElementType.of(kind).dtype


def _quotient(one: _Known, other: _Known) -> _Known:
    """A quotient towards zero. Nothing is divided by zero in a program that is right."""
    return np.sign(one) * np.sign(other) * (abs(one) // np.maximum(abs(other), 1))


def _remainder(one: _Known, other: _Known) -> _Known:
    return one - other * _quotient(one, other)


def _floor_quotient(one: _Known, other: _Known) -> _Known:
    return one // np.where(other == 0, 1, other)


def _ceiling_quotient(one: _Known, other: _Known) -> _Known:
    return -_floor_quotient(-one, other)


_CASTS = {
    f"arith.{name}"
    for name in ("index_cast", "extsi", "trunci", "sitofp", "fptosi", "extf", "truncf")
}  # fmt: skip
_COMPARED: dict[int, Callable[[_Known, _Known], _Known]] = {
    0: np.equal, 1: np.not_equal, 2: np.less, 3: np.less_equal, 4: np.greater, 5: np.greater_equal,
}  # fmt: skip
_COMPUTED: dict[str, Callable[..., _Known]] = {
    "arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply,
    "arith.minsi": np.minimum, "arith.maxsi": np.maximum, "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor, "arith.divsi": _quotient,
    "arith.remsi": _remainder, "arith.floordivsi": _floor_quotient, "arith.ceildivsi": _ceiling_quotient,
    "arith.select": np.where, "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply,
    "arith.divf": np.divide, "math.floor": np.floor, "math.ceil": np.ceil,
    "arith.minimumf": np.minimum, "arith.maximumf": np.maximum,
}  # fmt: skip


def empty(kind: ir.RankedTensorType) -> ir.Value:
    """Build an empty tensor at the current insertion point."""
    return tensor.EmptyOp([*kind.shape], kind.element_type).result


def _same(element: ir.Value) -> ir.Value:
    return element


def build_moves(reading: Reading, array: ir.Value) -> ir.Value:
    """Build what reads an array so, at the current insertion point, as moves."""
    value, shape = array, ir.RankedTensorType(reading.op.result.type).shape
    for dimension, positions in enumerate(reading.positions):
        value = _taken(value, dimension, positions)
    kept = [loop for loop in reading.loops if loop is not None and shape[loop] > 1]
    sizes = [shape[loop] for loop in kept]
    kind = ir.RankedTensorType(value.type)
    if kept == sorted(kept) and [*kind.shape] == [*shape]:
        return value
    if [*kind.shape] != sizes:
        value = sliced(value, [0] * kind.rank, kind.shape, sizes)
    return elementwise([value], [access(len(shape), kept)], shape, kind.element_type, _same)


@dataclass(frozen=True)
class _Part:
    """Positions in equal steps, of which each is read `times` times in a row."""

    first: int
    step: int
    count: int
    times: int = 1


def _parts(positions: Sequence[int]) -> list[_Part]:
    """Positions as few parts in order, each as long as possible."""
    runs: list[list[int]] = []
    for each in positions:
        if runs and runs[-1][0] == each:
            runs[-1][1] += 1
        else:
            runs.append([each, 1])
    found: list[_Part] = []
    for at, times in runs:
        last = found[-1] if found else None
        end = None if last is None else last.first + last.step * (last.count - 1)
        if last is not None and end is not None and last.times == times and last.count == 1:
            found[-1] = _Part(last.first, at - end, 2, times)
        elif last is not None and end is not None and last.times == times and at - end == last.step:
            found[-1] = _Part(last.first, last.step, last.count + 1, times)
        else:
            found.append(_Part(at, 1, 1, times))
    return found


def _taken(value: ir.Value, dimension: int, positions: Sequence[int]) -> ir.Value:
    """The elements at these positions of a dimension."""
    if [*positions] == [*range(ir.RankedTensorType(value.type).shape[dimension])]:
        return value
    parts = _parts(positions)
    pieces = [_piece(value, dimension, each) for each in parts]
    if len(pieces) == 1:
        return pieces[0]
    kind = ir.RankedTensorType(value.type)
    shape, at = [*kind.shape], 0
    shape[dimension] = len(positions)
    joined: Any = tensor.EmptyOp(shape, kind.element_type).result
    ones = [1] * kind.rank
    for each in pieces:
        own = ir.RankedTensorType(each.type).shape
        offsets = [at if place == dimension else 0 for place in range(kind.rank)]
        source: Any = each
        joined = tensor.InsertSliceOp(source, joined, [], [], [], offsets, own, ones).result
        at += own[dimension]
    return joined


def _piece(value: ir.Value[Any], dimension: int, part: _Part) -> ir.Value:
    """The elements of one part."""
    kind = ir.RankedTensorType(value.type)
    rank, step = kind.rank, abs(part.step)
    first = min(part.first, part.first + part.step * (part.count - 1))
    offsets = [first if place == dimension else 0 for place in range(rank)]
    sizes = [part.count if place == dimension else size for place, size in enumerate(kind.shape)]
    steps = [step if place == dimension else 1 for place in range(rank)]
    found: Any = value
    if [*kind.shape] != sizes:
        own = ir.RankedTensorType.get(sizes, kind.element_type)
        found = tensor.ExtractSliceOp(own, value, [], [], [], offsets, sizes, steps).result
    if part.step < 0 and part.count > 1:
        found = build_reversal(found, dimension)
    if part.times > 1:
        loops = [place for place in range(rank + 1) if place != dimension + 1]
        wide = [*sizes[: dimension + 1], part.times, *sizes[dimension + 1 :]]
        found = elementwise([found], [access(rank + 1, loops)], wide, kind.element_type, _same)
        found = collapse(found, [2 if place == dimension else 1 for place in range(rank)])
    return found


def build_reversal(value: ir.Value[Any], dimension: int) -> ir.Value:
    """Build the array with a dimension in reversed order, at the current insertion point.

    The op has the array, behind a reshape, as an operand: a matcher of 3.13 then finds it, also in the body.
    IREE 3.13 ends with a signal on maps with negative factors.
    """
    kind = ir.RankedTensorType(value.type)
    groups, shape = [[place] for place in range(kind.rank)], [*kind.shape]
    array = tensor.ExpandShapeOp(kind, value, groups, [], shape).result
    last = arith.constant(ir.IndexType.get(), shape[dimension] - 1)
    first = ir.AffineMap.get(kind.rank, 0, [ir.AffineExpr.get_constant(0)] * kind.rank)
    out = tensor.EmptyOp(shape, kind.element_type).result

    def read(*_: ir.Value) -> ir.Value:
        places: list[ir.Value[Any]] = [IndexOp(place).result for place in range(kind.rank)]
        places[dimension] = arith.subi(last, places[dimension])
        return tensor.ExtractOp(array, places, results=[kind.element_type]).result

    return generic([array], out, [first, ir.AffineMap.get_identity(kind.rank)], read)


def build_matcher(name: str, reading: Reading) -> None:
    """Build a matcher of the op in a body that reads an array so; its results are its operands and result.

    The matcher compares what computes positions back to loops. `name` is also that of a sequence which it
    includes, as only that may compare which loops these are, and the op around them.
    """
    handle, values = transform.AnyOpType.get(), transform.AnyValueType.get()
    readonly = {"transform.readonly": ir.UnitAttr.get()}
    ways = _build_check(f"{name}_loops", reading)
    sequence = transform.NamedSequenceOp(name, [handle], [values, values], arg_attrs=[readonly])
    with ir.InsertionPoint(sequence.body):
        root = sequence.body.arguments[0]
        transform.MatchOperationNameOp(root, ir.ArrayAttr.get([ir.StringAttr.get(EXTRACT)]))
        matched = preprocessing_transform.MatchCastCompatibleDagFromRootOp(values, values, root)
        transform.IncludeOp([], f"{name}_loops", transform.FailurePropagationMode.Propagate, [root])
        transform.YieldOp(list(matched.operation.results))
    kinds = [reading.array.type, *(each.type for each in ways)]
    block = matched.regions[0].blocks.append(*kinds, arg_locs=[ir.Location.unknown()] * len(kinds))
    with ir.InsertionPoint(block):
        copy_ops(_computed(reading), dict(zip([reading.array, *ways], block.arguments, strict=True)))
        transform.YieldOp([])


def _computed(reading: Reading) -> list[ir.Operation]:
    """The ops that compute positions, without the numbers of loops, and the one that reads."""
    constants = [producer(each) for each in captured(reading.op) if each != reading.array]
    body = [each.operation for each in reading.op.regions[0].blocks[0].operations]
    every = [each for each in (*constants, *body[: body.index(reading.extract) + 1]) if each is not None]
    needed = {reading.extract}
    for op in reversed(every):
        if op in needed:
            needed |= {each for each in map(producer, op.operands) if each is not None}
    return [each for each in every if each in needed and each.name != INDEX]


def _build_check(name: str, reading: Reading) -> list[ir.Value]:
    """Build a sequence that fails for ops that read along other loops; returns the numbers of its loops."""
    handle, number = transform.AnyOpType.get(), transform.ParamType.get(ir.IntegerType.get_signless(64))
    readonly = {"transform.readonly": ir.UnitAttr.get()}
    sequence = transform.NamedSequenceOp(name, [handle], [], arg_attrs=[readonly])
    ways = _ways(reading)
    with ir.InsertionPoint(sequence.body):
        root = sequence.body.arguments[0]
        one = transform.ParamConstantOp(number, ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)).param

        def require(target: ir.Value, op: ir.Operation, names: Sequence[str], kind: ir.Type | None) -> None:
            own: dict[str, ir.Attribute] = {each: op.attributes[each] for each in names}
            found = structured.MatchOp(handle, target, ops=[op.name], op_attrs=own, filter_result_type=kind)
            count = transform.NumAssociationsOp(number, found.results_).num
            transform.MatchParamCmpIOp(count, one, transform.MatchCmpIPredicate.eq)

        for value, way in ways.items():
            target: ir.Value = root
            for each in way:
                target = transform.GetProducerOfOperand(handle, target, each).result
            loop = producer(value)
            assert loop is not None, "the number of a loop is an op's result"
            require(target, loop, ["dim"], None)
        around = transform.GetParentOp(handle, root, op_name=reading.op.name).parent
        attributes = ["indexing_maps", "iterator_types", "operandSegmentSizes"]
        require(around, reading.op, attributes, reading.op.result.type)
        last = transform.GetConsumersOfResult(handle, root, 0).consumers
        transform.MatchOperationNameOp(last, ir.ArrayAttr.get([ir.StringAttr.get("linalg.yield")]))
        transform.YieldOp([])
    return [*ways]


def _ways(reading: Reading) -> dict[ir.Value, list[int]]:
    """The numbers of loops that a read is computed of, each with the operands that lead to it."""
    found, waiting = dict[ir.Value, list[int]](), [(reading.extract, list[int]())]
    while waiting:
        op, way = waiting.pop(0)
        for number, value in enumerate(op.operands):
            before = producer(value)
            if before is None or value == reading.array:
                continue
            if before.name == INDEX:
                found.setdefault(value, [*way, number])
            else:
                waiting.append((before, [*way, number]))
    return found
