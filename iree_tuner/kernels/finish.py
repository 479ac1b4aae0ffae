"""The ops after an epilogue's named steps, found as data flow: they become one further step (`Nest`).

The step has every elementwise op on as many values as there are sums, such as batch norms, activations and
gates, with the arrays that these ops read: by rows, by columns, by images, or whole. Ops are followed forward
from the sums; then the arrays are followed back to arguments and to the results of other ops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from iree.compiler import ir

from iree_tuner.kernels.epilogue import next_user, producer
from iree_tuner.kernels.fused_op import plan_of
from iree_tuner.kernels.moved import RESHAPES, NotIndexableError
from iree_tuner.kernels.moves import (
    HOISTED,
    graph_of,
    is_elementwise,
    is_move,
    is_source,
    is_static,
)
from iree_tuner.kernels.nest import Access, Nest
from iree_tuner.kernels.planned_nest import nest_of
from iree_tuner.kernels.shapes import body_of
from iree_tuner.ops.element_type import ElementType

_MOST_OPS, _MOST_ARRAYS = 48, 6
_WIDENS = "arith.extf"


@dataclass(frozen=True)
class Finish:
    """A step after sums.

    Attributes:
        ops: the ops that compute it, producers first.
        inputs: the arrays that they read besides the sums.
        nest: the computation; its inputs are `SUMS` and these arrays, by number.
    """

    ops: tuple[ir.Operation, ...] = ()
    inputs: tuple[ir.Value, ...] = ()
    nest: Nest = field(default_factory=lambda: Nest((), (), (), ()))


def finishes_of(sums: ir.Value) -> list[Finish]:
    """The steps that may follow sums, or the value after other steps: a longer one begins with a shorter one.

    The longest one has all that can be followed. Others end before ops that read what another product may
    have computed: if two results are added, only one of the products takes the addition.
    """
    walk = _Walk(sums)
    walk.go()
    found = [Finish()]
    for before, end in pairwise((0, *sorted({*walk.joins, len(walk.ops)}))):
        for last in (each for each in reversed(walk.ends) if before <= each < end):
            made = _finish(sums, walk.ops[: last + 1], found[-1])
            if made is not None:
                found.append(made)
                break
    return found[1:]


def is_part(value: ir.Value, sums: ir.Value) -> bool:
    """Whether a step after sums would compute a value instead of reading it."""
    op = producer(value)
    while op is not None and op.name in RESHAPES:
        op = producer(op.operands[0])
    return op is not None and _count(value) == _count(sums) and _is_given(op, _count(sums))


@dataclass
class _Walk:
    """A walk forward from sums.

    Attributes:
        ops: what was followed, in order.
        ends: numbers of the ops that may be the last ones.
        joins: numbers of the ops that read values as large as the result which other ops compute.
    """

    sums: ir.Value
    ops: list[ir.Operation] = field(default_factory=list[ir.Operation])
    ends: list[int] = field(default_factory=list[int])
    joins: list[int] = field(default_factory=list[int])

    def go(self) -> None:
        known = [self.sums]
        while len(self.ops) < _MOST_OPS:
            user = next_user(self.sums, known, self.ops)
            if user is None or not self._follows(user):
                return
            others = [each for each in user.operands if each not in known]
            if any(_count(each) == _count(self.sums) and _is_apart(each) for each in others):
                self.joins.append(len(self.ops))
            self.ops.append(user)
            if self._closes(user, known) and self._ends(user):
                self.ends.append(len(self.ops) - 1)
            known.append(user.result)

    def _follows(self, user: ir.Operation) -> bool:
        if not is_static(user) or not list(user.result.uses) or is_source(user):
            return False
        followed = user.name in RESHAPES or is_elementwise(user)
        return followed and _count(user.result) == _count(self.sums)

    def _closes(self, user: ir.Operation, known: Sequence[ir.Value]) -> bool:
        """Whether no value before an op's result is used by others."""
        users = [use.owner.operation for value in known for use in value.uses]
        return all(each in self.ops for each in users)

    def _ends(self, op: ir.Operation) -> bool:
        """Whether a step may end with an op: it computes numbers of no more bits than the sums have."""
        kind, sums = ir.RankedTensorType(op.result.type).element_type, ElementType.of(self.sums.type)
        narrow = isinstance(kind, ir.FloatType) and kind.width <= sums.bits
        return narrow and is_elementwise(op) and not is_move(op)


def _finish(sums: ir.Value, after: Sequence[ir.Operation], before: Finish) -> Finish | None:
    """The step of these ops on sums, which begins with a shorter one; None if kernels cannot have it."""
    last = after[-1].result

    def follows(op: ir.Operation) -> bool:
        return op in after or (sums not in [*op.results] and _is_given(op, _count(sums)))

    ops, arrays = graph_of(last, follows, 2 * _MOST_OPS)
    every = (*before.ops, *(each for each in ops if each not in before.ops))
    others = [each for each in arrays if each != sums and each not in before.inputs]
    inputs = (*before.inputs, *others)
    if len(inputs) > _MOST_ARRAYS or not all(isinstance(each.type, ir.ShapedType) for each in inputs):
        return None
    try:
        nest = nest_of(plan_of(every, last), (sums, *inputs), places=True)
    except NotIndexableError:
        return None
    if nest is None or not _begins_with_sums(nest):
        return None
    nest = replace(nest, accesses=tuple(replace(each, input=each.input - 1) for each in nest.accesses))
    return Finish(every, inputs, nest)


def _begins_with_sums(nest: Nest) -> bool:
    """Whether the input 0 is read in the order of the loops, and not in another one."""
    read = [each for each in nest.accesses if each.input == 0]
    return len(read) == 1 and _is_in_order(read[0], nest.sizes)


def _is_in_order(read: Access, sizes: Sequence[int]) -> bool:
    steps = [math.prod(sizes[at + 1 :]) for at in range(len(sizes))]
    own = zip(sizes, steps, read.strides, strict=True)
    return read.offset == 0 and all(size == 1 or step == stride for size, step, stride in own)


def _is_given(op: ir.Operation, most: int) -> bool:
    """Whether an op that does not read sums is a part of the step.

    Those that widen or repeat smaller arrays are, and those that compute something of the program's arrays.
    The compiler evaluates ops on constants alone once. Ops on another op's result may belong to its dispatch.
    """
    if op.name in RESHAPES:
        return is_static(op)
    if op.name in HOISTED or not is_elementwise(op):
        return False
    if is_move(op):
        return _count(op.operands[0]) < most
    if body_of(op) == _WIDENS:
        return True
    leaves = graph_of(op.result, _is_local, _MOST_OPS)[1]
    made = [producer(each) for each in leaves]
    varies = not leaves or any(each is None or each.name not in HOISTED for each in made)
    return varies and not any(map(_is_made, leaves))


def _is_local(op: ir.Operation) -> bool:
    return op.name in RESHAPES or is_elementwise(op)


def _is_apart(value: ir.Value) -> bool:
    """Whether a value is computed of what another op makes."""
    return isinstance(value.type, ir.ShapedType) and any(
        map(_is_made, graph_of(value, _is_local, _MOST_OPS)[1])
    )


def _is_made(value: ir.Value) -> bool:
    """Whether an op makes a value of other tensors."""
    op = producer(value)
    return op is not None and any(isinstance(each.type, ir.ShapedType) for each in op.operands)


def _count(value: ir.Value) -> int:
    return math.prod(ir.RankedTensorType(value.type).shape) if isinstance(value.type, ir.ShapedType) else 1
