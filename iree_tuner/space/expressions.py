"""Integer and boolean expressions of the smt dialect, written with Python's operators.

Each operator creates an op at the current insertion point. Comparison methods are named rather than
`==`, so that an expression keeps Python's identity and hash.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, smt

_SEARCH = "iree_tuner.search"


@contextmanager
def searching() -> Generator[None]:
    """Asserts that are built inside only say which values a search tries.

    The mark is their location, which is part of the bytecode but not of the text. Spaces are compared by
    text: the reason for an assert does not change a space's members.
    """
    with ir.Location.name(_SEARCH):
        yield


def is_of_search(op: ir.Operation) -> bool:
    """Whether an assert was built while `searching`."""
    return isinstance(op.location, ir.NameLoc) and op.location.name_str == _SEARCH


@dataclass(frozen=True, eq=False)
class Boolean:
    """A value of type `!smt.bool`."""

    value: ir.Value

    def __or__(self, other: Boolean) -> Boolean:
        return Boolean(smt.OrOp([self.value, other.value]).result)

    def __and__(self, other: Boolean) -> Boolean:
        return Boolean(smt.AndOp([self.value, other.value]).result)

    def __invert__(self) -> Boolean:
        return Boolean(smt.NotOp(self.value).result)


@dataclass(frozen=True, eq=False)
class Integer:
    """A value of type `!smt.int`."""

    value: ir.Value

    def __add__(self, other: Integer | int) -> Integer:
        return Integer(smt.IntAddOp([self.value, _value(other)]).result)

    def __sub__(self, other: Integer | int) -> Integer:
        return Integer(smt.IntSubOp(self.value, _value(other)).result)

    def __mul__(self, other: Integer | int) -> Integer:
        return product([self, other])

    def __floordiv__(self, other: Integer | int) -> Integer:
        return Integer(smt.IntDivOp(self.value, _value(other)).result)

    def __mod__(self, other: Integer | int) -> Integer:
        return Integer(smt.IntModOp(self.value, _value(other)).result)

    def __lt__(self, other: Integer | int) -> Boolean:
        return self._compare(smt.IntPredicate.lt, other)

    def __le__(self, other: Integer | int) -> Boolean:
        return self._compare(smt.IntPredicate.le, other)

    def __gt__(self, other: Integer | int) -> Boolean:
        return self._compare(smt.IntPredicate.gt, other)

    def __ge__(self, other: Integer | int) -> Boolean:
        return self._compare(smt.IntPredicate.ge, other)

    def equals(self, other: Integer | int) -> Boolean:
        return Boolean(smt.EqOp([self.value, _value(other)]).result)

    def is_one_of(self, values: Iterable[int]) -> Boolean:
        return any_of([self.equals(value) for value in values])

    def _compare(self, predicate: smt.IntPredicate, other: Integer | int) -> Boolean:
        return Boolean(smt.IntCmpOp(predicate, self.value, _value(other)).result)


def constant(value: int) -> Integer:
    """An integer constant."""
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    return Integer(smt.IntConstantOp(attribute).result)


def integer(value: Integer | int) -> Integer:
    """The value, as a constant where it is a number."""
    return constant(value) if isinstance(value, int) else value


def product(factors: Sequence[Integer | int]) -> Integer:
    """The product of all factors; integers are multiplied here, into at most one constant."""
    scale = 1
    values: list[ir.Value] = []
    for factor in factors:
        if isinstance(factor, int):
            scale *= factor
        else:
            values.append(factor.value)
    if scale != 1 or not values:
        values.append(constant(scale).value)
    return Integer(values[0] if len(values) == 1 else smt.IntMulOp(values).result)


def if_else(condition: Boolean, yes: Integer | int, no: Integer | int) -> Integer:
    """`yes` where the condition holds, else `no`."""
    return Integer(smt.IteOp(condition.value, _value(yes), _value(no)).result)


def lookup(index: Integer, values: Sequence[int]) -> Integer:
    """`values[index]`; an index outside gives the last value."""
    keys, results = list(range(len(values))), [index.value.type]
    return Integer(iree_codegen.LookupOp(index.value, keys, list(values), results=results).result)


def total(terms: Sequence[Integer | int]) -> Integer:
    """The sum of all terms; integers are added here, into at most one constant."""
    values = [term.value for term in terms if isinstance(term, Integer)]
    fixed = sum(term for term in terms if isinstance(term, int))
    if fixed or not values:
        values.append(constant(fixed).value)
    return Integer(values[0] if len(values) == 1 else smt.IntAddOp(values).result)


def any_of(conditions: Sequence[Boolean]) -> Boolean:
    """Whether one or more of the conditions hold; there must be a condition."""
    if len(conditions) == 1:
        return conditions[0]
    return Boolean(smt.OrOp([condition.value for condition in conditions]).result)


def all_of(conditions: Sequence[Boolean]) -> Boolean:
    """Whether all conditions hold; there must be a condition."""
    if len(conditions) == 1:
        return conditions[0]
    return Boolean(smt.AndOp([condition.value for condition in conditions]).result)


def require(condition: Boolean, message: str, *shown: Integer) -> None:
    """Assert a condition; `{}` in the message stand for the integers shown."""
    iree_codegen.AssertOp(condition.value, message, [integer.value for integer in shown])


def _value(operand: Integer | int) -> ir.Value:
    return integer(operand).value
