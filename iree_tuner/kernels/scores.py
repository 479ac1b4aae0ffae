"""Summands of the scores of an attention, from several arrays: relative positions, distances, masks.

Between the product of queries and keys and the softmax, programs add biases of rows and of columns, distances
times slopes, and hide keys by masks. All of it that multiplies scores by a number and adds something which
does not depend on them is found here, and a kernel computes what is added for each score (`Nest`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from iree.compiler import ir

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.expression import constant_of
from iree_tuner.kernels.fused_op import Computed, Element, FusedPlan, Read, plan_of, whole_index
from iree_tuner.kernels.moved import RESHAPES, LoopSum, Names, NotIndexableError, SplitLoop
from iree_tuner.kernels.moves import EMPTY, is_elementwise, is_source
from iree_tuner.kernels.nest import LoopPart, Nest, common_parts
from iree_tuner.kernels.planned_nest import nest_of
from iree_tuner.kernels.shapes import CASTS, HIDDEN, body_of, moved_by, rounded
from iree_tuner.ops.dag import captured
from iree_tuner.ops.element_type import ElementType

CAPS = "math.tanh"
"""The body of an op that keeps scores softly within a number; it ends what is added."""

_MOST_OPS, _MOST_ARRAYS = 48, 4


@dataclass(frozen=True)
class Added:
    """A summand of scores.

    Attributes:
        score: the scores before it, which are multiplied by `factor`.
        places: for each of their dimensions, the dimensions of the scores after it, outer ones first.
        plan: computes the scores after it.
        inputs: the arrays that are read besides.
    """

    score: ir.Value
    factor: float
    places: Names
    plan: FusedPlan
    inputs: tuple[ir.Value, ...]

    def nest(self, names: Names, sizes: Mapping[int, int], order: Sequence[int]) -> Nest | None:
        """What is added, with loops in an order of names; None if it cannot be written.

        `names` are of the dimensions of the scores after it, `sizes` of the names. Of a name, the nest may
        have several loops.
        """
        nest = nest_of(self.plan, self.inputs, zeros=(self.score,), places=True)
        dimensions = [
            [loop.size for loop in self.plan.loops if loop.dimension == at] for at in range(len(names))
        ]
        found: dict[int, list[LoopPart]] = {name: [] for name in order}
        first = 0
        for own, loops in zip(names, dimensions, strict=True):
            parts = common_parts(loops, [sizes[each] for each in own])
            if nest is None or parts is None or not {*own} <= {*order}:
                return None
            for part in parts:
                found[own[part.of]].append(replace(part, loop=first + part.loop))
            first += len(loops)
        if nest is None or any(math.prod(part.size for part in found[each]) != sizes[each] for each in found):
            return None
        return nest.in_parts([part for name in order for part in found[name]])


def added_to(scores: ir.Value) -> Iterator[Added]:
    """The summands that these scores may have, one for each value that may be the scores before it."""
    ops, arrays = _graph(scores)
    try:
        plan = plan_of(ops, scores)
    except NotIndexableError:
        return
    size = _count(scores)
    for score in (each for each in arrays if _count(each) == size):
        walk = _Walk(score)
        factor = walk.factor(plan.element)
        places = _places(walk.index, plan) if walk.index is not None else None
        others = tuple(each for each in arrays if each != score)
        only_hides = all(ElementType.of(each.type).is_integer for each in others)
        if factor and places is not None and not only_hides and len(others) <= _MOST_ARRAYS:
            yield Added(score, factor, places, plan, others)


def _graph(scores: ir.Value) -> tuple[list[ir.Operation], list[ir.Value]]:
    """The ops that compute as many values as there are scores, or that widen or repeat smaller arrays.

    Also those that compute something of positions alone, and the arrays that all of them read. Transposes are
    no part of it: a product can write what it computes transposed, and keys that are next to each other are
    read fastest.
    """
    ops, arrays, size = list[ir.Operation](), dict[ir.Value, None](), _count(scores)
    left = [scores]
    while left:
        value = left.pop()
        op = producer(value)
        if op is not None and (op in ops or not isinstance(value.type, ir.ShapedType)):
            continue
        if op is None or len(ops) > _MOST_OPS or not _is_followed(op, size):
            arrays[value] = None
            continue
        ops.append(op)
        left += [each for each in (*op.operands, *captured(op)) if isinstance(each.type, ir.ShapedType)]
    return ops, list(arrays)


def _is_followed(op: ir.Operation, size: int) -> bool:
    if is_source(op) or op.name in (EMPTY, *RESHAPES):
        return True
    if not is_elementwise(op):
        return False
    if _of_positions(op):
        return True
    if _count(op.result) == size:
        return body_of(op) != CAPS
    moved = moved_by(op)
    own = [each for each in moved or () if each is not None]
    return body_of(op) == "arith.extf" if moved is None else own == sorted(own)


def _of_positions(op: ir.Operation, most: int = 8) -> bool:
    """Whether an op computes its result from the numbers of loops and from constants alone."""
    if is_source(op) or op.name == EMPTY:
        return True
    if not most or not (is_elementwise(op) or op.name in RESHAPES):
        return False
    before = [producer(each) for each in op.operands if isinstance(each.type, ir.ShapedType)]
    return all(each is not None and _of_positions(each, most - 1) for each in before)


def _count(value: ir.Value) -> int:
    return math.prod(ir.RankedTensorType(value.type).shape)


def _places(index: Sequence[LoopSum], plan: FusedPlan) -> Names | None:
    """For each part of an index, the dimensions that it goes through; None if it is another expression."""
    whole = whole_index(plan.sizes)
    found: list[tuple[int, ...]] = []
    for each in index:
        own = tuple(dict.fromkeys(loop.dimension for loop, _ in each.terms if isinstance(loop, SplitLoop)))
        total = LoopSum()
        for dimension in own:
            total = total.times(math.prod(plan.sizes[dimension])).plus(whole[dimension])
        if total != each:
            return None
        found.append(own)
    return tuple(found)


@dataclass
class _Walk:
    """Finds by what number an element multiplies the scores `score`, which all of it reads at one index."""

    score: ir.Value
    index: tuple[LoopSum, ...] | None = None

    def factor(self, element: Element) -> float | None:
        """The number; 0 if the element does not depend on scores, None if it is no such sum."""
        match element:
            case Read(value, index) if value == self.score:
                if self.index not in (None, index):
                    return None
                self.index = index
                return 1.0
            case Read():
                return 0.0
            case Computed(op, operands, _):
                return self._computed(op, operands)
            case _:
                return 0.0 if not _reads(element, self.score) else None

    def _computed(self, op: ir.Operation, operands: Mapping[int, Element]) -> float | None:
        block = op.regions[0].blocks[0]
        known: dict[ir.Value, float | None] = {}
        fixed: dict[ir.Value, float | None] = {}
        for number, each in operands.items():
            known[block.arguments[number]] = self.factor(each)
            fixed[block.arguments[number]] = _constant(each)
        *steps, last = (each.operation for each in block.operations)
        for step in steps:
            numbers = [fixed[each] if each in fixed else _number(each) for each in step.operands]
            known[step.result] = _step(step.name, [known.get(each, 0.0) for each in step.operands], numbers)
            fixed[step.result] = rounded(numbers[0], step.result.type) if step.name in CASTS else None
        return known.get(last.operands[0], 0.0)


def _step(name: str, factors: Sequence[float | None], numbers: Sequence[float | None]) -> float | None:
    """The factor of scores in a scalar op's result, by the factors and the numbers of its operands."""
    known = [each for each in factors if each is not None]
    if len(known) < len(factors):
        return None
    if not any(known):
        return 0.0
    match name:
        case "arith.addf":
            return known[0] + known[1]
        case "arith.subf":
            return known[0] - known[1]
        case "arith.negf":
            return -known[0]
        case "arith.extf" | "arith.truncf":
            return known[0]
        case "arith.mulf":
            by = numbers[1] if known[0] else numbers[0]
            return None if by is None or all(known) else by * max(known, key=abs)
        case "arith.divf":
            return known[0] / numbers[1] if numbers[1] and not known[1] else None
        case "arith.select":  # hidden scores
            low = numbers[2] if known[1] else numbers[1]
            return max(known[1:], key=abs) if not known[0] and low is not None and low <= HIDDEN else None
        case _:
            return None


def _reads(element: Element, value: ir.Value) -> bool:
    match element:
        case Read(other, _):
            return other == value
        case Computed(_, operands, _):
            return any(_reads(each, value) for each in operands.values())
        case _:
            return True


def _constant(element: Element) -> float | None:
    """The number that an element is wherever it is read; None if it is not known."""
    match element:
        case Read(value, ()):
            return _number(value)
        case Computed(op, operands, _) if len(operands) == 1 and len(op.regions[0].blocks[0].operations) == 1:
            return _constant(next(iter(operands.values())))
        case _:
            return None


def _number(value: ir.Value) -> float | None:
    op = producer(value)
    found = None if op is None else constant_of(op)
    return None if found is None else found.constant
