"""Interprets the body of a constraints op over numpy arrays.

Works on any op made of smt integers and booleans, `smt.assert`, and `iree_codegen.smt.{knob,assert,lookup}`,
from any builder. A *variable* is a knob, a problem dimension (`problem_dim_0`, a block argument), or an
auxiliary unknown that the compiler declares with `smt.declare_fun`.

Division is SMT-LIB's (the remainder is never negative). Division by zero, which SMT-LIB leaves open,
gives 0 here (and the dividend as remainder): a constraint that divides by something that may be zero
must exclude zero in another assert.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import iree_codegen
from numpy.typing import NDArray

from iree_tuner.errors import TunerError
from iree_tuner.space.expressions import Integer, constant, if_else, is_of_search

# Conditions of a constraints op as people write them: `wg_0 * wg_1 <= 512`.


_LONGEST = 160  # characters: longer messages are not read
_MOST_PARTS = 500  # a shared part is written each time

_INFIX = {
    "smt.int.mul": ("*", 7), "smt.int.div": ("/", 7), "smt.int.mod": ("%", 7), "smt.int.add": ("+", 6),
    "smt.int.sub": ("-", 6), "smt.int.cmp": ("", 5), "smt.eq": ("==", 5), "smt.and": ("and", 3),
    "smt.xor": ("xor", 2), "smt.or": ("or", 2), "smt.implies": ("->", 1),
}  # fmt: skip
_COMPARED = ("<", "<=", ">", ">=")
_ATOM, _NOT = 9, 4


def worded(condition: Expr) -> str:
    """A condition in words; a long one is cut."""
    if _parts(condition, {}) > _MOST_PARTS:
        return "a condition that is too long to show"
    text, _ = _written(condition)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."


def _parts(node: Expr, known: dict[Expr, int]) -> int:
    if node not in known:
        known[node] = 1 + sum(_parts(operand, known) for operand in node.operands)
    return known[node]


def _written(node: Expr) -> tuple[str, int]:
    """The text, and how strongly its parts hold together."""
    match node.kind:
        case "variable":
            return str(node.data), _ATOM
        case "constant":
            return (str(node.data).lower() if isinstance(node.data, bool) else str(node.data)), _ATOM
        case "smt.not":
            return f"not {_inside(node.operands[0], _NOT)}", _NOT
        case "smt.or" if (found := _membership(node)) is not None:
            return found, 5
        case kind if kind in _INFIX:
            sign, strength = _INFIX[kind]
            sign = _COMPARED[node.data] if kind == "smt.int.cmp" else sign
            # The first part may be as weak as the whole: a - b - c, but a - (b - c).
            first, *others = node.operands
            parts = [_inside(first, strength), *(_inside(each, strength + 1) for each in others)]
            return f" {sign} ".join(parts), strength
        case kind:
            name = {"smt.ite": "if", "iree_codegen.smt.lookup": "lookup"}.get(kind, kind.rpartition(".")[2])
            arguments = [_written(each)[0] for each in node.operands]
            if node.data is not None:
                arguments.append(str(list(node.data[1])))
            return f"{name}({', '.join(arguments)})", _ATOM


def _inside(node: Expr, least: int) -> str:
    text, strength = _written(node)
    return text if strength >= least else f"({text})"


def _membership(node: Expr) -> str | None:
    """`x in {1, 2}`, for a disjunction of equalities of one thing with constants."""
    pairs = [each.operands for each in node.operands if each.kind == "smt.eq" and len(each.operands) == 2]
    if len(pairs) < max(2, len(node.operands)) or any(right.kind != "constant" for _, right in pairs):
        return None
    if any(left is not pairs[0][0] for left, _ in pairs):
        return None
    return f"{_inside(pairs[0][0], 6)} in {{{', '.join(str(right.data) for _, right in pairs)}}}"


Array = NDArray[Any]
_COMPARISONS = {0: np.less, 1: np.less_equal, 2: np.greater, 3: np.greater_equal}


@dataclass(frozen=True, eq=False)
class Expr:
    """One value of the body: a `variable`, a `constant`, or the result of the op that `kind` names.

    `data` is the variable's name, the constant, the predicate, or the table of a lookup; `support` names the
    variables that the value depends on.
    """

    kind: str
    operands: tuple[Expr, ...] = ()
    data: Any = None
    support: frozenset[str] = frozenset()

    def evaluate(self, values: Mapping[str, Array], cache: dict[Expr, Array] | None = None) -> Array:
        """The value for arrays of its variables' values, which must broadcast together."""
        if self.kind == "variable":
            return values[self.data]
        if self.kind == "constant":
            return np.asarray(self.data)
        cache = {} if cache is None else cache
        if self not in cache:
            cache[self] = self.apply([operand.evaluate(values, cache) for operand in self.operands])
        return cache[self]

    def apply(self, operands: list[Array]) -> Array:
        """The value of this op (not a variable or a constant) for its operands' values."""
        return _OPERATIONS[self.kind](self.data, operands)


@dataclass(frozen=True, eq=False)
class Assertion:
    """One assert of the body, and the message if it does not hold (for `smt.assert`, the condition).

    The values of `shown` replace the `{}` in the message. One `of_search` only says which values of a knob
    are tried.
    """

    condition: Expr
    message: str
    shown: tuple[Expr, ...]
    of_search: bool = False


@dataclass(frozen=True)
class ConstraintProgram:
    """A constraints op as data: its knobs in the order of declaration, its other variables, its asserts."""

    knobs: tuple[str, ...]
    auxiliaries: tuple[str, ...]
    assertions: tuple[Assertion, ...]


def read_program(op: ir.Operation) -> ConstraintProgram:
    """Read a constraints op. Raises TunerError for an op of the body that has no interpretation here."""
    block = op.regions[0].blocks[0]
    nodes: dict[ir.Value, Expr] = {}
    knobs: list[str] = []
    auxiliaries: list[str] = []
    assertions: list[Assertion] = []
    for index, argument in enumerate(block.arguments):
        auxiliaries.append(f"problem_dim_{index}")
        nodes[argument] = _variable(auxiliaries[-1])
    for view in block.operations:
        inner = view.operation
        operands = tuple(nodes[value] for value in inner.operands)
        if inner.name == "iree_codegen.smt.assert":
            message = ir.StringAttr(inner.attributes["msg"]).value
            assertions.append(Assertion(operands[0], message, operands[1:], is_of_search(inner)))
            continue
        if inner.name == "smt.assert":
            assertions.append(_worded(operands[0], [*knobs, *auxiliaries]))
            continue
        if inner.name == "iree_codegen.smt.knob":
            knobs.append(ir.StringAttr(inner.attributes["name"]).value)
            node = _variable(knobs[-1])
        elif inner.name == "smt.declare_fun":
            auxiliaries.append(f"auxiliary_{len(auxiliaries)}")
            node = _variable(auxiliaries[-1])
        else:
            node = _node(inner, operands)
        nodes[inner.results[0]] = node
    return ConstraintProgram(tuple(dict.fromkeys(knobs)), tuple(auxiliaries), tuple(assertions))


def pinned(program: ConstraintProgram, values: Mapping[str, int]) -> ConstraintProgram:
    """The program with an assert for each of some variables that it has the given value."""
    more = [
        Assertion(
            Expr("smt.eq", (_variable(name), Expr("constant", (), value)), None, frozenset((name,))),
            f"{name} must be {value}",
            (),
        )
        for name, value in values.items()
    ]
    return replace(program, assertions=(*program.assertions, *more))


def _worded(condition: Expr, names: list[str]) -> Assertion:
    """An assert without a message: the condition, with the values of its variables."""
    shown = [name for name in dict.fromkeys(names) if name in condition.support]
    values = ", ".join(f"{name} = {{}}" for name in shown)
    message = f"{worded(condition)} ({values})" if shown else worded(condition)
    return Assertion(condition, message, tuple(map(_variable, shown)))


def conjuncts(node: Expr) -> list[Expr]:
    """The conditions that a conjunction is made of."""
    if node.kind == "smt.and":
        return [part for operand in node.operands for part in conjuncts(operand)]
    return [node]


def _variable(name: str) -> Expr:
    return Expr("variable", (), name, frozenset((name,)))


def _node(op: ir.Operation, operands: tuple[Expr, ...]) -> Expr:
    support = frozenset[str]().union(*(operand.support for operand in operands))
    match op.name:
        case "smt.int.constant":
            return Expr("constant", (), ir.IntegerAttr(op.attributes["value"]).value)
        case "smt.constant":
            return Expr("constant", (), ir.BoolAttr(op.attributes["value"]).value)
        case "smt.int.cmp":
            return Expr(op.name, operands, ir.IntegerAttr(op.attributes["pred"]).value, support)
        case "iree_codegen.smt.lookup":
            table = tuple(tuple(ir.DenseI64ArrayAttr(op.attributes[name])) for name in ("keys", "values"))
            return Expr(op.name, operands, table, support)
        case name if name in _OPERATIONS:
            return Expr(name, operands, None, support)
        case name:
            raise TunerError(f"the constraint interpreter does not know '{name}'")


def _divide(a: Array, b: Array) -> Array:
    if np.all(b > 0):
        return a // b
    quotient = (a - _remainder(a, b)) // np.where(b == 0, 1, b)
    return np.where(b == 0, 0, quotient)


def _remainder(a: Array, b: Array) -> Array:
    if np.all(b > 0):
        return a % b
    return np.where(b == 0, a, np.mod(a, np.abs(np.where(b == 0, 1, b))))


def _look_up(table: tuple[tuple[int, ...], tuple[int, ...]], index: Array) -> Array:
    # As ConvertConstraintsToSMT.cpp exports it: an index without a key gives the last value.
    keys, values = table
    found = np.asarray(values[-1])
    for key, value in zip(keys, values, strict=True):
        found = np.where(index == key, value, found)
    return found


_OPERATIONS: dict[str, Callable[[Any, list[Array]], Array]] = {
    "smt.int.add": lambda _, x: reduce(np.add, x),
    "smt.int.mul": lambda _, x: reduce(np.multiply, x),
    "smt.int.sub": lambda _, x: x[0] - x[1],
    "smt.int.div": lambda _, x: _divide(x[0], x[1]),
    "smt.int.mod": lambda _, x: _remainder(x[0], x[1]),
    "smt.int.abs": lambda _, x: np.abs(x[0]),
    "smt.int.cmp": lambda predicate, x: _COMPARISONS[predicate](x[0], x[1]),
    "smt.eq": lambda _, x: reduce(np.logical_and, [x[0] == other for other in x[1:]]),
    "smt.distinct": lambda _, x: reduce(np.logical_and, [a != b for a, b in combinations(x, 2)]),
    "smt.and": lambda _, x: reduce(np.logical_and, x),
    "smt.or": lambda _, x: reduce(np.logical_or, x),
    "smt.xor": lambda _, x: reduce(np.logical_xor, x),
    "smt.not": lambda _, x: np.logical_not(x[0]),
    "smt.implies": lambda _, x: np.logical_or(np.logical_not(x[0]), x[1]),
    "smt.ite": lambda _, x: np.where(x[0], x[1], x[2]),
    "iree_codegen.smt.lookup": lambda table, x: _look_up(table, x[0]),
}


# A constraints op as SMT-LIB.


_ABS = "smt.int.abs"


def smtlib(op: ir.Operation) -> str:
    """The constraints as the compiler exports them.

    The exporter of release 3.13 ends the process at `smt.int.abs` ("unknown SMT node"): a copy with other ops
    in its place is exported.
    """
    if any(view.operation.name == _ABS for view in op.regions[0].blocks[0].operations):
        op = op.clone().operation
        for view in list(op.regions[0].blocks[0].operations):
            absolute = view.operation
            if absolute.name == _ABS:
                with op.context, ir.Location.unknown(), ir.InsertionPoint(absolute):
                    value = Integer(absolute.operands[0])
                    other = if_else(value >= 0, value, constant(0) - value)
                absolute.result.replace_all_uses_with(other.value)
                absolute.erase()
    return iree_codegen.convert_constraints_op_to_smtlib(op)
