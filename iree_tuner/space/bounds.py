"""Bounds and finite domains of variables, derived from the asserts of a constraints op.

Intervals are passed up and down the asserts until nothing changes. This is sound, not complete: a bound never
excludes a solution. It understands the forms that constraint generators write: comparisons and equalities of
sums, products and quotients, memberships written as disjunctions, and divisibility (`a mod b == 0` with `a >=
1` bounds `b` by `a`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from iree_tuner.errors import TunerError
from iree_tuner.space.interpreter import Array, ConstraintProgram, Expr, conjuncts

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
