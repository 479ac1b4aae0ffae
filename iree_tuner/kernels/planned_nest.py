"""The loops of a planned op (`fused_op`) as plain data, for kernels that the compiler does not make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from iree.compiler import ir

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.formula import CONSTANT, INPUT, Formula, FormulaTerm
from iree_tuner.kernels.fused_op import Combined, Computed, Element, FusedPlan, Read, Reduced, Select, Test
from iree_tuner.kernels.moved import LoopSum, NotIndexableError, SplitLoop
from iree_tuner.kernels.moves import CONSTANT as ARITH_CONSTANT
from iree_tuner.kernels.moves import Indices
from iree_tuner.kernels.nest import INSIDE, OUTSIDE, PLACE, REDUCED, Access, Nest, Range
from iree_tuner.ops.element_type import ElementType

_Where = tuple[int, ...]
"""Numbers of the terms that are true where an element is used."""

ROUNDED = frozenset({"arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.truncf"})
"""Scalar ops whose results are rounded."""

_ADD, _WIDE = "arith.addf", "f32"

_POWER, _LARGEST_EXPONENT = "math.fpowi", 4
_SELECT = "arith.select"

COMPARISON, OF_INTEGERS = COMPARISONS = "arith.cmpf", "arith.cmpi"
"""The scalar ops whose terms have the number of a predicate as their value."""


def nest_of(
    plan: FusedPlan, inputs: Sequence[ir.Value], kept: Sequence[int] | None = None,
    zeros: Sequence[ir.Value] = (), places: bool = False,
) -> Nest | None:  # fmt: skip
    """The loops of a plan with these inputs of its graph; None if it uses the numbers of loops.

    With `places`, it may: they are terms.

    The loops of the last dimension are a row if the plan has reductions.

    For a sum, `kept` has the loops of its result, in order. Otherwise, the result has all loops. `zeros` are
    taken for 0 everywhere.
    """
    loops = plan.loops
    order = range(len(loops)) if kept is None else kept
    written: list[int | None] = [None] * len(loops)
    stride = 1
    for loop in reversed(order):
        written[loop] = stride
        stride *= loops[loop].size
    walk = _Nest(loops, inputs, zeros, places)
    try:
        last = walk.term_of(plan.element)
    except NotIndexableError:
        return None
    if (
        not walk.accesses or last != len(walk.terms) - 1
    ):  # the same term twice, so that the result is not the last one
        return None
    sizes = tuple(each.size for each in loops)
    row = len(loops) - len(plan.sizes[-1]) if walk.reduces else None
    return Nest(sizes, tuple(walk.accesses), tuple(walk.terms), tuple(written), tuple(walk.ranges), row)


def combination_of(op: ir.Operation) -> Formula:
    """The formula of an op's body, whose inputs are its two arguments in order; empty if there is none."""
    walk, block = _Nest((), (), places=True), op.regions[0].blocks[0]
    pair = [FormulaTerm(INPUT, _element(each), input=each.arg_number) for each in block.arguments]
    try:
        last = walk.computed(op, {number: walk.added(term) for number, term in enumerate(pair)}, ())
    except NotIndexableError:
        return ()
    return tuple(walk.terms) if last == len(walk.terms) - 1 > 1 else ()


@dataclass
class _Nest:
    """A walk through the elements of a plan (`nest_of`), with what was found so far."""

    loops: Sequence[SplitLoop]
    inputs: Sequence[ir.Value]
    zeros: Sequence[ir.Value] = ()
    places: bool = False
    accesses: list[Access] = field(default_factory=list[Access])
    ranges: list[Range] = field(default_factory=list[Range])
    terms: list[FormulaTerm] = field(default_factory=list[FormulaTerm])
    _known: dict[tuple[Element, _Where], int] = field(default_factory=dict[tuple[Element, _Where], int])

    def term_of(self, element: Element, where: _Where = ()) -> int:
        """The number of an element's term, which is used where these terms are true.

        Raises NotIndexableError for numbers of iterations and constants that are no floating-point numbers.
        """
        if (element, where) not in self._known:
            match element:
                case Read(value, index):
                    found = self._read(value, index, where)
                case Computed(op, operands, at):
                    of = {number: self.term_of(each, where) for number, each in operands.items()}
                    found = self.computed(op, of, at)
                case Select(loop, elements):
                    found = self._chosen(LoopSum.of(0, {loop: 1}), elements, where)
                case Test(ranges, inside, outside):
                    found = self._tested(ranges, inside, outside, where)
                case Combined(op, start, elements, result):
                    of_all = [self.term_of(each, where) for each in elements]
                    found = self._combined(op, start, of_all, _element(result))
                case Reduced(op, start, inner, result):
                    if where:
                        raise NotIndexableError("a part of a row is reduced")
                    of_row = (self.term_of(inner),)
                    found = self.added(FormulaTerm(REDUCED + op, _element(result), of_row, start))
            self._known[element, where] = found
        return self._known[element, where]

    def _combined(self, op: str, start: float, terms: Sequence[int], element: str) -> int:
        """Terms one after the other. Sums are rounded once."""
        kind = _WIDE if op == _ADD else element
        own = [
            self.added(FormulaTerm("arith.extf", kind, (each,))) if kind != element else each
            for each in terms
        ]
        if op != _ADD or start:
            own.insert(0, self.added(FormulaTerm(CONSTANT, kind, value=start)))
        found = own[0]
        for each in own[1:]:
            found = self.added(FormulaTerm(op, kind, (found, each)))
        return self.added(FormulaTerm("arith.truncf", element, (found,))) if kind != element else found

    @property
    def reduces(self) -> bool:
        return any(each.op.startswith(REDUCED) for each in self.terms)

    def _chosen(self, index: LoopSum, elements: Sequence[Element], where: _Where) -> int:
        """One element for each value of an index. All of them may be read for each value."""
        found = self.term_of(elements[-1], where)
        for value, element in enumerate(elements[:-1]):
            test = self._inside(index, value, value + 1)
            found = self._select(test, self.term_of(element, where), found)
        return found

    def _tested(
        self, ranges: Sequence[tuple[LoopSum, int, int]], inside: Element, outside: Element, where: _Where
    ) -> int:
        tests = [self._inside(*each, clamps=bool(where)) for each in ranges]
        other = where
        if len(tests) == 1:  # after several tests, what is outside of one of them is read everywhere
            other = (*where, self.added(replace(self.terms[tests[0]], op=OUTSIDE)))
        found, outer = self.term_of(inside, (*where, *tests)), self.term_of(outside, other)
        for test in reversed(tests):
            found = self._select(test, found, outer)
        return found

    def _inside(self, index: LoopSum, first: int, end: int, *, clamps: bool = False) -> int:
        """A test of an index. It may be clamped for elements that are not selected."""
        self.ranges.append(Range(*self._along((index,), [1], clamps=clamps), first, end))
        return self.added(FormulaTerm(INSIDE, "i1", input=len(self.ranges) - 1))

    def _place(self, index: LoopSum) -> int:
        if not self.places:
            raise NotIndexableError("it uses the number of an iteration")
        self.ranges.append(Range(*self._along((index,), [1], clamps=False), 0, 0))
        return self.added(FormulaTerm(PLACE, "index", input=len(self.ranges) - 1))

    def _select(self, test: int, inside: int, outside: int) -> int:
        return self.added(FormulaTerm(_SELECT, self.terms[inside].element, (test, inside, outside)))

    def _along(self, index: Indices, steps: Sequence[int], *, clamps: bool) -> tuple[int, tuple[int, ...]]:
        """The offset and the strides of loops of an index, whose dimensions have these steps.

        With `clamps`, clamped indices are taken as they are.
        """
        offset, strides = 0, [0] * len(self.loops)
        for each, step in zip(index, steps, strict=True):
            offset += each.constant * step
            for variable, factor in each.terms:
                if isinstance(variable, SplitLoop):
                    strides[self.loops.index(variable)] += factor * step
                elif not clamps:
                    raise NotIndexableError("an index is clamped")
                else:
                    start, own = self._along((variable.index,), [factor * step], clamps=True)
                    offset += start
                    strides = [one + other for one, other in zip(strides, own, strict=True)]
        return offset, tuple(strides)

    def _read(self, value: ir.Value, index: Indices, where: _Where) -> int:
        if value in self.zeros:
            return self.added(FormulaTerm(CONSTANT, _element(value), value=0.0))
        if value not in self.inputs:
            return self._constant(value)
        shape = ir.RankedTensorType(value.type).shape
        steps = [math.prod(shape[place + 1 :]) for place in range(len(index))]
        # Indices are clamped for elements that are not selected, which are not read here.
        access = Access(self.inputs.index(value), *self._along(index, steps, clamps=bool(where)))
        if access not in self.accesses:
            self.accesses.append(access)
        return self.added(FormulaTerm(INPUT, _element(value), where, input=self.accesses.index(access)))

    def _constant(self, value: ir.Value) -> int:
        op = producer(value)
        found = None if op is None else op.attributes["value"]
        if isinstance(found, ir.DenseElementsAttr):
            found = found.get_splat_value()
        if not isinstance(found, ir.FloatAttr) and not (self.places and isinstance(found, ir.IntegerAttr)):
            raise NotIndexableError("a constant is no floating-point number")
        return self.added(FormulaTerm(CONSTANT, _element(value), value=float(found.value)))

    def computed(self, op: ir.Operation, of: dict[int, int], at: Indices) -> int:
        block = op.regions[0].blocks[0]
        known: dict[ir.Value, int] = {block.arguments[number]: term for number, term in of.items()}
        *steps, last = (each.operation for each in block.operations)
        for step in steps:
            known[step.result] = self._step(step, known, at)
        return known[last.operands[0]]

    def _step(self, step: ir.Operation, known: Mapping[ir.Value, int], at: Indices) -> int:
        """A scalar op of a body, whose values have these terms."""
        if step.name == "linalg.index":
            return self._place(at[ir.IntegerAttr(step.attributes["dim"]).value])
        if step.name == ARITH_CONSTANT:
            return self._constant(step.result)
        if step.name == _POWER:
            return self._power(known[step.operands[0]], step)
        decided = _decided(step.operands[0]) if step.name == _SELECT else None
        given = [*step.operands] if decided is None else [step.operands[1 if decided else 2]]
        operands = tuple(known[each] if each in known else self._constant(each) for each in given)
        if decided is not None:
            return operands[0]
        value = step.attributes["predicate"] if step.name in COMPARISONS else None
        number = float(ir.IntegerAttr(value).value) if value is not None else 0.0
        return self.added(FormulaTerm(step.name, _element(step.result), operands, number))

    def _power(self, term: int, step: ir.Operation) -> int:
        """A power with a small exponent, as products."""
        op = producer(step.operands[1])
        exponent = None if op is None else op.attributes["value"]
        if not isinstance(exponent, ir.IntegerAttr) or not 1 <= exponent.value <= _LARGEST_EXPONENT:
            raise NotIndexableError("a power with an exponent that is not small")
        found = term
        for _ in range(exponent.value - 1):
            found = self.added(FormulaTerm("arith.mulf", _element(step.result), (found, term)))
        return found

    def added(self, term: FormulaTerm) -> int:
        self.terms.append(term)
        return len(self.terms) - 1


def _element(value: ir.Value) -> str:
    return str(ElementType.of(value.type))


def _decided(condition: ir.Value) -> bool | None:
    """A constant condition; None for others."""
    op = producer(condition)
    found = op.attributes["value"] if op is not None and op.name == ARITH_CONSTANT else None
    return found.value if isinstance(found, ir.BoolAttr) else None
