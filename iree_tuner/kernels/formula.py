"""Record the elementwise ops after a sum of integers as a formula that a kernel of integers can compute.

Named steps (`epilogue`) do not suffice: programs write requantization in many ways, with constants and
vectors. Kernels of integers therefore compute any expression of the supported scalar ops, each as MLIR
defines it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from iree.compiler import ir

from iree_tuner.compiler import linalg
from iree_tuner.kernels.epilogue import next_user, producer, unary_of
from iree_tuner.kernels.expression import constant_of
from iree_tuner.ops.dag import captured
from iree_tuner.ops.element_type import ElementType

SUM, INPUT, CONSTANT = "sum", "input", "constant"
OPS = frozenset({
    "arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.negf", "arith.maximumf", "arith.minimumf",
    "arith.addi", "arith.subi", "arith.muli", "arith.maxsi", "arith.minsi", "math.roundeven",
    "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui", "arith.extsi", "arith.extui",
    "arith.trunci",
})  # fmt: skip
"""Scalar ops that formulas may have."""
NARROW = "i8"

_ELEMENTS = frozenset({"i8", "i32", "f32"})
_MOST_TERMS = 48


@dataclass(frozen=True)
class FormulaTerm:
    """One value of a formula.

    Attributes:
        op: name of a scalar op, or `sum`, `input`, `constant`.
        element: type of the value: i8, i32 or f32.
        of: numbers of the terms that are the op's operands.
        value: of a constant.
        input: number of an input among the formula's inputs.
        along: dimensions of an input: `all` dimensions of the result, the `last` dimension, or `none`.
    """

    op: str
    element: str
    of: tuple[int, ...] = ()
    value: float = 0.0
    input: int = 0
    along: str = ""


Formula = tuple[FormulaTerm, ...]
"""The terms, the sum first, operands before their uses. The last term is the result."""


@dataclass(frozen=True)
class Followed:
    """Elementwise ops after a sum, producers first, with their formula and its inputs."""

    formula: Formula
    inputs: tuple[ir.Value, ...]
    ops: tuple[ir.Operation, ...]


def follow(sums: ir.Value) -> Iterator[Followed]:
    """Follow the ops after a sum: up to each 8-bit result or, if there is none, to the end."""
    walk = _Formula(sums)
    last: Followed | None = None
    narrow = False
    while (user := next_user(sums, walk.known, walk.ops)) is not None and walk.absorb(user):
        if walk.only_for(user):
            last = walk.followed()
            if walk.terms[-1].element == NARROW:
                narrow = True
                yield last
    if last is not None and not narrow:
        yield last


@dataclass
class _Formula:
    """A walk from `sums` forward, with the ops that were followed so far.

    `known` has tensors that depend on the sums, by the numbers of their terms; for the rest see `Followed`.
    """

    sums: ir.Value
    known: dict[ir.Value, int] = field(init=False)
    terms: list[FormulaTerm] = field(init=False)
    inputs: list[ir.Value] = field(default_factory=list[ir.Value])
    ops: list[ir.Operation] = field(default_factory=list[ir.Operation])

    def __post_init__(self) -> None:
        self.known, self.terms = {self.sums: 0}, [FormulaTerm(SUM, _element(self.sums.type))]

    def followed(self) -> Followed:
        """The ops that were followed, with inputs in the order of the compiler's fused op."""
        found, stack = list[int](), [len(self.terms) - 1]  # depth first
        while stack:
            term = self.terms[stack.pop()]
            stack += reversed(term.of)
            if term.op == INPUT and term.input not in found:
                found.append(term.input)
        places = {number: place for place, number in enumerate(found)}
        terms = [replace(each, input=places.get(each.input, 0)) for each in self.terms]
        return Followed(tuple(terms), tuple(self.inputs[each] for each in found), tuple(self.ops))

    def only_for(self, user: ir.Operation) -> bool:
        """Whether all known values except an op's result are used only by followed ops."""
        others = [value for value in self.known if value.owner != user]
        return all(use.owner.operation in self.ops for value in others for use in value.uses)

    def absorb(self, user: ir.Operation) -> bool:
        """Follow one op if it is supported; returns whether it was followed."""
        found = self._result_of(user)
        if found is not None:
            self.known[user.result] = found
        return found is not None

    def _result_of(self, op: ir.Operation) -> int | None:
        """The term of an elementwise op's result, which is the last term; None for other ops."""
        generic = op.opview
        if not isinstance(generic, linalg.GenericOp) or len(op.results) != 1:
            return None
        maps = [ir.AffineMapAttr(each).value for each in generic.indexing_maps]
        kind = ir.RankedTensorType(op.result.type)
        empty = producer(op.operands[len(op.operands) - 1])
        same = list(kind.shape) == list(ir.RankedTensorType(self.sums.type).shape)
        if empty is None or empty.name != "tensor.empty" or not same or maps[-1] != _identity(kind.rank):
            return None
        block, scalars = op.regions[0].blocks[0], dict[ir.Value, int]()
        for value, argument, place in zip(list(op.operands)[:-1], block.arguments, maps, strict=False):
            found = self._operand(value, place, kind.rank)
            if found is None:
                return None
            scalars[argument] = found
        constants = [each for each in map(producer, captured(op)) if each is not None]
        found = self._body(block, scalars)
        if found is not None:
            self._first([*constants, empty, op])
        return found

    def _body(self, block: ir.Block, scalars: dict[ir.Value, int]) -> int | None:
        for op in (view.operation for view in block.operations):
            operands = [scalars[each] if each in scalars else self._constant(each) for each in op.operands]
            known = tuple(each for each in operands if each is not None)
            if len(known) < len(operands) or len(self.terms) > _MOST_TERMS:
                return None
            if op.name == "linalg.yield":  # the result must be the last term
                return known[0] if known[0] == len(self.terms) - 1 else None
            element = _element(op.results[0].type) if op.name in OPS and len(op.results) == 1 else ""
            if element not in _ELEMENTS:
                return None
            scalars[op.results[0]] = self._add(FormulaTerm(op.name, element, known))
        return None

    def _operand(self, value: ir.Value, place: ir.AffineMap, rank: int) -> int | None:
        """The term of an operand that is read by the map `place`; None if it is not supported."""
        along = "" if place.results else "none"
        if place in (_identity(rank), linalg.access(rank, [rank - 1])):
            along = "all" if place == _identity(rank) else "last"
        if value in self.known:
            return self.known[value] if along == "all" else None
        if along == "none" and (found := self._constant(value)) is not None:
            self._first([op for op in [producer(value)] if op is not None])
            return found
        if along == "all" and (repeated := unary_of(value)) is not None and repeated.copies:
            found = self._operand(repeated.operand, repeated.read, rank)
            self._first(repeated.ops)
            return found
        if along == "all" and (found := self._before(value)) is not None:
            return found
        static = isinstance(value.type, ir.RankedTensorType) and value.type.has_static_shape
        if not along or not static or _element(value.type) not in _ELEMENTS:
            return None
        if value not in self.inputs:
            self.inputs.append(value)
        return self._add(
            FormulaTerm(INPUT, _element(value.type), input=self.inputs.index(value), along=along)
        )

    def _before(self, value: ir.Value) -> int | None:
        """The term of an elementwise op that does not depend on the sums, like a dequantized residual.

        None if the op has other uses or is not supported.
        """
        op = producer(value)
        if op is None or _element(value.type) == NARROW or len(list(value.uses)) != 1:
            return None
        terms, inputs, ops = list(self.terms), list(self.inputs), list(self.ops)
        found = self._result_of(op)
        if found is None:
            self.terms, self.inputs, self.ops = terms, inputs, ops
        return found

    def _constant(self, value: ir.Value) -> int | None:
        op = producer(value)
        found = None if op is None else constant_of(op)
        if found is None or found.constant is None or _element(value.type) not in _ELEMENTS:
            return None
        return self._add(FormulaTerm(CONSTANT, _element(value.type), value=found.constant))

    def _add(self, term: FormulaTerm) -> int:
        self.terms.append(term)
        return len(self.terms) - 1

    def _first(self, ops: list[ir.Operation]) -> None:
        self.ops += [each for each in ops if each not in self.ops]


def _identity(rank: int) -> ir.AffineMap:
    return ir.AffineMap.get_identity(rank)


def _element(kind: ir.Type) -> str:
    return str(ElementType.of(kind))
