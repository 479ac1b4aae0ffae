"""A constraints op as data, interpreted over numpy arrays, and what its asserts say about its variables.

Works on any op made of smt integers and booleans, `smt.assert`, and `iree_codegen.smt.{knob,assert,lookup}`,
from any builder. A *variable* is a knob, a problem dimension (`problem_dim_0`, a block argument), or an
auxiliary unknown that the compiler declares with `smt.declare_fun`.

Division is SMT-LIB's (the remainder is never negative). Division by zero, which SMT-LIB leaves open,
gives 0 here (and the dividend as remainder): a constraint that divides by something that may be zero
must exclude zero in another assert.

Bounds and finite domains of variables are derived from the asserts. Intervals are passed up and down the
asserts until nothing changes. This is sound, not complete: a bound never excludes a solution. It
understands the forms that constraint generators write: comparisons and equalities of sums, products and
quotients, memberships written as disjunctions, and divisibility (`a mod b == 0` with `a >= 1` bounds `b` by
`a`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
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
    "smt.distinct": lambda _, x: reduce(np.logical_and, [a != b for a, b in itertools.combinations(x, 2)]),
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


# Bounds of variables: an interval for each.


Interval = tuple[float, float]
EVERYTHING: Interval = (-math.inf, math.inf)
_ROUNDS = 20


class Bounds(dict[str, Interval]):
    """An interval for each variable. Remembers expressions' intervals, until a variable's changes."""

    def __init__(self, intervals: Mapping[str, Interval]) -> None:
        super().__init__(intervals)
        self.known: dict[Expr, Interval] = {}

    def __setitem__(self, name: str, to: Interval) -> None:
        if self[name] != to:
            self.known.clear()
            super().__setitem__(name, to)

    def branch(self) -> Bounds:
        """A copy to make assumptions in."""
        copied = Bounds(self)
        copied.known.update(self.known)
        return copied


def find_bounds(variables: Sequence[str], conditions: Sequence[Expr]) -> Bounds:
    """An interval for each variable; infinite ends where the conditions give none."""
    bounds = Bounds(dict.fromkeys(variables, EVERYTHING))
    for _ in range(_ROUNDS):
        before = dict(bounds)
        for condition in conditions:
            _assume(condition, bounds)
        if bounds == before:
            break
    return bounds


def _assume(node: Expr, bounds: Bounds) -> None:
    match node.kind:
        case "smt.and":
            for operand in node.operands:
                _assume(operand, bounds)
        case "smt.or":
            branches: list[Bounds] = []
            for compared in {side for operand in node.operands for side in operand.operands}:
                interval(compared, bounds)  # once for all branches: memberships repeat an expression
            for operand in node.operands:
                branch = bounds.branch()
                _assume(operand, branch)
                if all(low <= high for low, high in (branch[name] for name in operand.support)):
                    branches.append(branch)
            for name in node.support if branches else ():
                bounds[name] = (min(b[name][0] for b in branches), max(b[name][1] for b in branches))
        case "smt.not":
            _assume_not(node.operands[0], bounds)
        case "smt.eq" if len(node.operands) == 2:
            _assume_equal(node.operands[0], node.operands[1], bounds)
        case "smt.int.cmp":
            left, right = node.operands if node.data in (0, 1) else reversed(node.operands)
            margin = 1 if node.data in (0, 2) else 0
            _narrow(left, (-math.inf, interval(right, bounds)[1] - margin), bounds)
            _narrow(right, (interval(left, bounds)[0] + margin, math.inf), bounds)
        case _:
            pass


def _assume_not(node: Expr, bounds: Bounds) -> None:
    match node.kind:
        case "smt.not":
            _assume(node.operands[0], bounds)
        case "smt.or":
            for operand in node.operands:
                _assume_not(operand, bounds)
        case "smt.int.cmp":  # of <, <=, >, >= the opposite is as far from the other end
            _assume(replace(node, data=3 - node.data), bounds)
        case _:
            pass


def _assume_equal(left: Expr, right: Expr, bounds: Bounds) -> None:
    for value, zero in ((left, right), (right, left)):
        if value.kind == "smt.int.mod" and zero.kind == "constant" and zero.data == 0:
            dividend, divisor = value.operands
            low, high = interval(dividend, bounds)
            if low >= 1:
                _narrow(divisor, (-high, high), bounds)
    if isinstance(left.data, bool) or isinstance(right.data, bool):
        return
    _narrow(left, interval(right, bounds), bounds)
    _narrow(right, interval(left, bounds), bounds)


def _narrow(node: Expr, to: Interval, bounds: Bounds) -> None:
    low, high = to
    match node.kind:
        case "variable":
            known = bounds[node.data]
            bounds[node.data] = (max(known[0], low), min(known[1], high))
        case "smt.int.add":
            ranges = [interval(operand, bounds) for operand in node.operands]
            for index, operand in enumerate(node.operands):
                others = ranges[:index] + ranges[index + 1 :]
                smallest, largest = sum(r[0] for r in others), sum(r[1] for r in others)
                _narrow(operand, (low - largest, high - smallest), bounds)
        case "smt.int.mul":
            ranges = [interval(operand, bounds) for operand in node.operands]
            if any(r[0] < 1 or r[1] < r[0] for r in ranges):
                return  # the signs are open, or there is no solution
            for index, operand in enumerate(node.operands):
                others = ranges[:index] + ranges[index + 1 :]
                smallest, largest = math.prod(r[0] for r in others), math.prod(r[1] for r in others)
                most = math.inf if math.isinf(high) else high // smallest
                least = -math.inf if math.isinf(low) or math.isinf(largest) else -(-low // largest)
                _narrow(operand, (least, most), bounds)
        case "smt.int.div" if node.operands[1].kind == "constant" and node.operands[1].data > 0:
            divisor = node.operands[1].data
            _narrow(node.operands[0], (low * divisor, high * divisor + divisor - 1), bounds)
        case _:
            pass


def interval(node: Expr, bounds: Bounds) -> Interval:
    """Where a node's value lies when its variables lie in `bounds`."""
    if node.kind == "variable":
        return bounds[node.data]
    if node.kind == "constant":
        return (node.data, node.data)
    if node not in bounds.known:
        bounds.known[node] = _combined(node, [interval(operand, bounds) for operand in node.operands])
    return bounds.known[node]


def _combined(node: Expr, ranges: list[Interval]) -> Interval:
    match node.kind:
        case "smt.int.add":
            return (sum(r[0] for r in ranges), sum(r[1] for r in ranges))
        case "smt.int.sub":
            return (ranges[0][0] - ranges[1][1], ranges[0][1] - ranges[1][0])
        case "smt.int.mul" if all(r[0] >= 1 for r in ranges):
            return (math.prod(r[0] for r in ranges), math.prod(r[1] for r in ranges))
        case "smt.int.div" if ranges[0][0] >= 0 and ranges[1][1] >= ranges[1][0] >= 1:
            (low, high), (smallest, largest) = ranges
            least = 0 if math.isinf(largest) else low // largest
            return (least, high if math.isinf(high) else high // smallest)
        case "smt.int.mod" if ranges[1][0] >= 1:
            return (0, ranges[1][1] - 1)
        case "smt.ite":
            return (min(ranges[1][0], ranges[2][0]), max(ranges[1][1], ranges[2][1]))
        case "iree_codegen.smt.lookup":
            return (min(node.data[1]), max(node.data[1]))
        case _:
            return EVERYTHING


# The finite set of values of each variable, derived from the asserts alone.
#
# Bounds come from `bounds`; within them, the asserts that concern one variable only (membership,
# divisibility by a constant) are evaluated on every integer. A variable with one value is a constant
# from then on, which may make other asserts concern one variable only. At last, asserts over few values
# are evaluated on all their combinations, and a value that is in no combination goes.


Domains = dict[str, NDArray[np.int64]]
_WIDEST = 1 << 22
"""The longest range of integers that is looked at one by one."""

_COMBINATIONS = 1 << 15
"""The most combinations of values that asserts are evaluated on to narrow domains."""


def conditions(program: ConstraintProgram) -> list[Expr]:
    """The conditions that a member must satisfy, split at conjunctions."""
    return [part for assertion in program.assertions for part in conjuncts(assertion.condition)]


def find_domains(program: ConstraintProgram, *, together: bool = True) -> Domains:
    """The values of each variable, ascending. Raises TunerError for a variable without finite bounds.

    Without `together`, asserts that concern several open variables leave values in.
    """
    parts = conditions(program)
    bounds = find_bounds((*program.knobs, *program.auxiliaries), parts)
    domains: Domains = {}
    for name, (low, high) in bounds.items():
        if math.isinf(low) or math.isinf(high) or high - low > _WIDEST:
            raise TunerError(
                f"the constraints give '{name}' no finite domain: {low} <= {name} <= {high}",
                hint="assert bounds on it",
            )
        domains[name] = np.arange(low, high + 1, dtype=np.int64) if low <= high else np.zeros(0, np.int64)
    while True:
        fixed = {name: values for name, values in domains.items() if len(values) == 1}
        narrowed = {name: _filter(name, values, parts, fixed) for name, values in domains.items()}
        if all(len(narrowed[name]) == len(values) for name, values in domains.items()):
            return _narrow_together(narrowed, parts) if together else narrowed
        domains = narrowed


def tabulate(parts: list[Expr], names: tuple[str, ...], domains: Domains) -> Array:
    """Whether all `parts` hold, for each combination of the values of `names`: one axis a name."""
    shape = tuple(len(domains[name]) for name in names)
    values = grid(names, domains)
    cache: dict[Expr, Array] = {}
    holds = np.ones(shape, dtype=bool)
    for part in parts:
        holds &= part.evaluate(values, cache)
    return holds


def grid(names: tuple[str, ...], domains: Domains) -> dict[str, Array]:
    """Values for an evaluation on all combinations; a variable with one value has no axis."""
    axes = dict(zip(names, np.ix_(*(domains[name] for name in names)), strict=True))
    return {name: values[0] for name, values in domains.items() if len(values) == 1} | axes


def group(parts: list[Expr], domains: Domains) -> dict[frozenset[str], list[Expr]]:
    """The conditions, by their variables that have more than one value."""
    free = {name for name, values in domains.items() if len(values) != 1}
    groups: dict[frozenset[str], list[Expr]] = {}
    for part in parts:
        groups.setdefault(part.support & free, []).append(part)
    return groups


def combinations(names: frozenset[str], domains: Domains) -> int:
    """The number of combinations of values."""
    return math.prod(len(domains[name]) for name in names)


def _filter(name: str, values: NDArray[np.int64], parts: list[Expr], fixed: Domains) -> NDArray[np.int64]:
    kept = values
    for part in parts:
        if name in part.support and part.support - fixed.keys() <= {name} and len(kept):
            kept = kept[np.broadcast_to(part.evaluate(fixed | {name: kept}), kept.shape)]
    return kept


def _narrow_together(domains: Domains, parts: list[Expr]) -> Domains:
    groups = group(parts, domains)
    if not all(map(len, domains.values())):
        return domains
    queue = sorted((names for names in groups if names), key=lambda names: combinations(names, domains))
    while queue:
        names = tuple(sorted(queue.pop(0)))
        for part in groups[frozenset(names)]:
            domains = _narrow_defined(part, domains)
        if not all(map(len, domains.values())):
            return domains  # there is no member
        if combinations(frozenset(names), domains) > _COMBINATIONS:
            continue
        holds = tabulate(groups[frozenset(names)], names, domains)
        for axis, name in enumerate(names):
            kept = holds.any(axis=tuple(other for other in range(len(names)) if other != axis))
            if not kept.all():
                domains = domains | {name: domains[name][kept]}
                queue.extend(each for each in groups if name in each and each not in queue)
    return domains


def _narrow_defined(part: Expr, domains: Domains) -> Domains:
    """A variable that equals an expression of few values has no others."""
    if part.kind != "smt.eq" or len(part.operands) != 2:
        return domains
    for this, other in (part.operands, part.operands[::-1]):
        names = tuple(sorted(name for name in other.support if len(domains[name]) != 1))
        if this.kind != "variable" or this.data in other.support:
            continue
        if combinations(frozenset(names), domains) <= _COMBINATIONS:
            reached = np.unique(other.evaluate(grid(names, domains)))
            values = np.intersect1d(domains[this.data], reached, assume_unique=True)
            domains = domains | {this.data: values}
    return domains


def solve(part: Expr, name: str, bounds: Bounds) -> Expr | None:
    """An expression without `name` that equals it wherever `part` holds; None where there may be several.

    Where `part` does not hold for any value of `name`, the expression has some value: check `part` as well.
    """
    if part.kind != "smt.eq" or len(part.operands) != 2 or name not in part.support:
        return None
    for this, other in (part.operands, part.operands[::-1]):
        if name not in other.support:
            return _isolate(this, other, name, bounds)
    return None


def _isolate(node: Expr, value: Expr, name: str, bounds: Bounds) -> Expr | None:
    """`name` such that `node == value`."""
    if node.kind == "variable":
        return value
    inside = [operand for operand in node.operands if name in operand.support]
    if len(inside) != 1:
        return None
    rest = tuple(operand for operand in node.operands if operand is not inside[0])
    match node.kind:
        case "smt.int.mul" if all(interval(factor, bounds)[0] >= 1 for factor in rest):
            for factor in rest:
                value = _operation("smt.int.div", value, factor)
        case "smt.int.add":
            for term in rest:
                value = _operation("smt.int.sub", value, term)
        case _:
            return None
    return _isolate(inside[0], value, name, bounds)


def _operation(kind: str, left: Expr, right: Expr) -> Expr:
    return Expr(kind, (left, right), None, left.support | right.support)
