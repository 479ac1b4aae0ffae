"""Operands of a product that the program computes of smaller arrays: weights of few bits and their scales.

Programs widen integers of 8 or 4 bits, unpack several of them from one, subtract zero points and multiply by
scales of channels or of groups, in any order and with any reshapes in between. All of it is found as data
flow, and a kernel computes the operand's elements where it needs them (`Nest`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from iree.compiler import ir

from iree_tuner.compiler.context import walk
from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.fused_op import Computed, Element, FusedPlan, Read, Select, Test, build, plan_of
from iree_tuner.kernels.moved import Clamped, LoopSum, NotIndexableError, SplitLoop
from iree_tuner.kernels.moves import (
    CONCAT,
    HOISTED,
    graph_of,
    is_elementwise,
    is_followed,
    is_move,
    is_source,
)
from iree_tuner.kernels.nest import Nest
from iree_tuner.kernels.planned_nest import nest_of
from iree_tuner.ops.element_type import ElementType

_MOST_OPS, _MOST_ARRAYS = 48, 4
_EXACT = 8  # bits of integers that f16 and bf16 have without rounding


@dataclass(frozen=True)
class ComputedOperand:
    """An operand of a product, as the program computes it.

    Attributes:
        value: the operand.
        inputs: the arrays that it is computed of.
        ops: the ops that compute it, producers first.
        plan, nest: the computation of an element; loops of the nest are those of the operand's dimensions.
    """

    value: ir.Value
    inputs: tuple[ir.Value, ...]
    ops: tuple[ir.Operation, ...]
    plan: FusedPlan
    nest: Nest

    def built(self, arguments: Sequence[ir.Value]) -> ir.Value:
        """The operand as one op of these arguments, at the current insertion point."""
        if not self.ops:
            return arguments[0]
        return build(self.plan, dict(zip(self.inputs, arguments, strict=True)), self.value.type)

    def resized(self, dimension: int, size: int) -> tuple[FusedPlan, dict[ir.Value, int]]:
        """The plan for another size of a dimension, and the inputs' dimensions that have this size as well.

        Raises NotIndexableError unless each element depends only on its own place along the dimension.
        """
        if len(self.plan.sizes[dimension]) != 1:
            raise NotIndexableError("the dimension has several loops")
        sizes = (*self.plan.sizes[:dimension], (size,), *self.plan.sizes[dimension + 1 :])
        change = _Resized(SplitLoop(dimension, 0, self.plan.sizes[dimension][0]), size)
        return FusedPlan(sizes, change.element(self.plan.element)), change.along


@dataclass
class _Resized:
    """Elements with another size of a loop; `along` are the dimensions of inputs that it indexes."""

    loop: SplitLoop
    size: int
    along: dict[ir.Value, int] = field(default_factory=dict[ir.Value, int])
    _made: dict[Element, Element] = field(default_factory=dict[Element, Element])

    def element(self, element: Element) -> Element:
        if element not in self._made:
            self._made[element] = self._changed(element)
        return self._made[element]

    def _changed(self, element: Element) -> Element:
        match element:
            case Read(value, index):
                self._look(value, index)
                return Read(value, tuple(map(self._sum, index)))
            case Computed(op, operands, loops):
                if any(each.name == "linalg.index" for each in walk(op)) and any(map(self._is_in, loops)):
                    raise NotIndexableError("an element depends on its index")
                own = {number: self.element(each) for number, each in operands.items()}
                return Computed(op, own, tuple(map(self._sum, loops)))
            case Select(loop, elements) if loop != self.loop:
                return Select(loop, tuple(map(self.element, elements)))
            case Test(ranges, inside, outside) if not any(self._is_in(each) for each, _, _ in ranges):
                return Test(ranges, self.element(inside), self.element(outside))
            case _:
                raise NotIndexableError("an element depends on its place in the dimension")

    def _look(self, value: ir.Value, index: Sequence[LoopSum]) -> None:
        places = [at for at, each in enumerate(index) if self._is_in(each)]
        whole = [at for at in places if index[at] == LoopSum(0, ((self.loop, 1),))]
        shape = ir.RankedTensorType(value.type).shape if places else ()
        if (
            len(places) > 1
            or whole != places
            or any(shape[at] != self.loop.size for at in places)
            or self.along.get(value, places[0] if places else -1) != (places[0] if places else -1)
        ):
            raise NotIndexableError("an input has the dimension in another form")
        if places:
            self.along[value] = places[0]

    def _is_in(self, index: LoopSum) -> bool:
        inner = (each.index if isinstance(each, Clamped) else None for each, _ in index.terms)
        return any(each == self.loop for each, _ in index.terms) or any(
            each is not None and self._is_in(each) for each in inner
        )

    def _sum(self, index: LoopSum) -> LoopSum:
        new = SplitLoop(self.loop.dimension, 0, self.size)
        terms = tuple((new if each == self.loop else each, factor) for each, factor in index.terms)
        return LoopSum(index.constant, terms)


def computed_operands(root: ir.Operation) -> tuple[ComputedOperand | None, ComputedOperand | None]:
    """How both operands of a product are computed, see `computed_operand`."""
    kinds = [ir.RankedTensorType(each.type).element_type for each in root.operands[:2]]
    factor = next((each for each in kinds if isinstance(each, ir.FloatType)), None)
    if factor is None:
        return None, None
    return computed_operand(root, 0, factor), computed_operand(root, 1, factor)


def computed_operand(
    root: ir.Operation, at: int, factor: ir.FloatType, value: ir.Value | None = None
) -> ComputedOperand | None:  # fmt: skip
    """How an operand of a product is computed; None unless that takes arrays of fewer bits.

    `factor` is the type of the elements that are multiplied. A product may widen integers itself. `value` is
    the operand by default; or one that the operand is a reshape or a transpose of.
    """
    value = root.operands[at] if value is None else value
    every = partial(_is_followed, most=math.prod(ir.RankedTensorType(value.type).shape))

    def moves(op: ir.Operation) -> bool:
        return every(op) and is_move(op)

    return _computed_by(root, at, value, factor, every) or _computed_by(root, at, value, factor, moves)


def _computed_by(
    root: ir.Operation, at: int, value: ir.Value, factor: ir.FloatType,
    follows: Callable[[ir.Operation], bool],
) -> ComputedOperand | None:  # fmt: skip
    """How ops that are followed compute an operand: all, or, if these read too much, moves before a cast."""
    kind = ir.RankedTensorType(value.type)
    ops, inputs = graph_of(value, follows, _MOST_OPS)
    widens = widened_by(root, at)
    computes = any(is_elementwise(each) and not is_move(each) and not is_source(each) for each in ops)
    most = math.prod(kind.shape) * factor.width
    if not (widens or computes) or len(inputs) > _MOST_ARRAYS or sum(map(_bits, inputs)) >= most:
        return None
    try:
        plan = plan_of(ops, value)
    except NotIndexableError:
        return None
    nest = nest_of(plan, inputs, places=True)
    if nest is not None and widens:
        nest = nest.then(widens, str(factor))
    return None if nest is None else ComputedOperand(value, inputs, ops, plan, nest)


def widened_by(root: ir.Operation, at: int) -> str:
    """The op by which a product widens the integers of an operand that its factors can hold; or empty."""
    kind = ir.RankedTensorType(root.operands[at].type).element_type
    if not isinstance(kind, ir.IntegerType) or kind.width > _EXACT:
        return ""
    uses = [use.owner.operation.name for use in root.regions[0].blocks[0].arguments[at].uses]
    return uses[0] if uses in (["arith.sitofp"], ["arith.uitofp"]) else ""


def _is_followed(op: ir.Operation, most: int) -> bool:
    """Whether an op is part of the computation; constants that are joined are one constant (`joint`)."""
    if op.name in HOISTED or not is_followed(op):
        return False
    made = [producer(each) for each in op.operands] if op.name == CONCAT else []
    if made and all(each is not None and each.name in HOISTED for each in made):
        return False
    return math.prod(ir.RankedTensorType(op.result.type).shape) <= most


def _bits(value: ir.Value) -> int:
    kind = ir.RankedTensorType(value.type)
    return math.prod(kind.shape) * ElementType.of(kind).bits
