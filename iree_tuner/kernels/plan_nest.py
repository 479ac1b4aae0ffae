"""Write the plan of a fused op as plain data, for kernels that the compiler does not make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from iree.compiler import ir

from iree_tuner.kernels.element import Computed, Element, Read
from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.formula import CONSTANT, INPUT, Term
from iree_tuner.kernels.fused_op import Plan
from iree_tuner.kernels.moves import Indices
from iree_tuner.kernels.nest import Access, Nest
from iree_tuner.kernels.place_index import Loop, UnsupportedError
from iree_tuner.ops.element_type import ElementType

COMPARISON = "arith.cmpf"
"""The scalar op whose terms have the number of a predicate as their value."""


def nest_of(plan: Plan, inputs: Sequence[ir.Value], kept: Sequence[int] | None = None) -> Nest | None:
    """The loops of a plan; None if it selects among inputs, or uses the numbers of loops.

    Args:
        plan: the plan of an op.
        inputs: the inputs of its graph.
        kept: for a sum, the loops of its result, in order. Without it, the result has all loops.
    """
    loops = plan.loops
    order = range(len(loops)) if kept is None else kept
    written: list[int | None] = [None] * len(loops)
    stride = 1
    for loop in reversed(order):
        written[loop] = stride
        stride *= loops[loop].size
    walk = _Walk(loops, inputs)
    try:
        last = walk.term_of(plan.element)
    except UnsupportedError:
        return None
    if (
        not walk.accesses or last != len(walk.terms) - 1
    ):  # the same term twice, so that the result is not the last one
        return None
    sizes = tuple(each.size for each in loops)
    return Nest(sizes, tuple(walk.accesses), tuple(walk.terms), tuple(written))


@dataclass
class _Walk:
    """A walk through the elements of a plan.

    Attributes:
        loops, inputs: see `nest_of`.
        accesses, terms: what was found so far.
    """

    loops: Sequence[Loop]
    inputs: Sequence[ir.Value]
    accesses: list[Access] = field(default_factory=list[Access])
    terms: list[Term] = field(default_factory=list[Term])
    _known: dict[Element, int] = field(default_factory=dict[Element, int])

    def term_of(self, element: Element) -> int:
        """The number of an element's term. Raises UnsupportedError for choices and tests."""
        if element not in self._known:
            match element:
                case Read(value, index):
                    self._known[element] = self._read(value, index)
                case Computed(op, operands, _):
                    of = {number: self.term_of(each) for number, each in operands.items()}
                    self._known[element] = self._computed(op, of)
                case _:
                    raise UnsupportedError("it selects among elements")
        return self._known[element]

    def _read(self, value: ir.Value, index: Indices) -> int:
        if value not in self.inputs:
            return self._constant(value)
        shape = ir.RankedTensorType(value.type).shape
        offset, strides = 0, [0] * len(self.loops)
        for place, each in enumerate(index):
            step = math.prod(shape[place + 1 :])
            offset += each.constant * step
            for variable, factor in each.terms:
                if not isinstance(variable, Loop):
                    raise UnsupportedError("an index is clamped")
                strides[self.loops.index(variable)] += factor * step
        access = Access(self.inputs.index(value), offset, tuple(strides))
        if access not in self.accesses:
            self.accesses.append(access)
        return self._add(Term(INPUT, _element(value), input=self.accesses.index(access)))

    def _constant(self, value: ir.Value) -> int:
        op = producer(value)
        found = None if op is None else op.attributes["value"]
        if isinstance(found, ir.DenseElementsAttr):
            found = found.get_splat_value()
        if not isinstance(found, ir.FloatAttr):
            raise UnsupportedError("a constant is no floating-point number")
        return self._add(Term(CONSTANT, _element(value), value=found.value))

    def _computed(self, op: ir.Operation, of: dict[int, int]) -> int:
        block = op.regions[0].blocks[0]
        known: dict[ir.Value, int] = {block.arguments[number]: term for number, term in of.items()}
        *steps, last = (each.operation for each in block.operations)
        for step in steps:
            if step.name == "linalg.index":
                raise UnsupportedError("it uses the number of an iteration")
            operands = tuple(known[each] if each in known else self._constant(each) for each in step.operands)
            value = step.attributes["predicate"] if step.name == COMPARISON else None
            number = float(ir.IntegerAttr(value).value) if value is not None else 0.0
            known[step.result] = self._add(Term(step.name, _element(step.result), operands, number))
        return known[last.operands[0]]

    def _add(self, term: Term) -> int:
        self.terms.append(term)
        return len(self.terms) - 1


def _element(value: ir.Value) -> str:
    kind = value.type
    return str(ElementType.of(kind.element_type if isinstance(kind, ir.RankedTensorType) else kind))
