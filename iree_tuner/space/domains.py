"""The finite set of values of each variable, derived from the asserts alone.

Bounds come from `bounds`; within them, the asserts that concern one variable only (membership,
divisibility by a constant) are evaluated on every integer. A variable with one value is a constant
from then on, which may make other asserts concern one variable only. At last, asserts over few values
are evaluated on all their combinations, and a value that is in no combination goes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from iree_tuner.errors import TunerError
from iree_tuner.space.bounds import find_bounds
from iree_tuner.space.interpreter import Array, Node, Program, conjuncts

Domains = dict[str, NDArray[np.int64]]
_WIDEST = 1 << 22
"""The longest range of integers that is looked at one by one."""

_COMBINATIONS = 1 << 15
"""The most combinations of values that asserts are evaluated on to narrow domains."""


def conditions(program: Program) -> list[Node]:
    """Every condition that a member must satisfy, split at conjunctions."""
    return [part for assertion in program.assertions for part in conjuncts(assertion.condition)]


def find_domains(program: Program, *, together: bool = True) -> Domains:
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


def tabulate(parts: list[Node], names: tuple[str, ...], domains: Domains) -> Array:
    """Whether all `parts` hold, for each combination of the values of `names`: one axis a name."""
    shape = tuple(len(domains[name]) for name in names)
    values = grid(names, domains)
    cache: dict[Node, Array] = {}
    holds = np.ones(shape, dtype=bool)
    for part in parts:
        holds &= part.evaluate(values, cache)
    return holds


def grid(names: tuple[str, ...], domains: Domains) -> dict[str, Array]:
    """Values for an evaluation on all combinations; a variable with one value needs no axis."""
    axes = dict(zip(names, np.ix_(*(domains[name] for name in names)), strict=True))
    return {name: values[0] for name, values in domains.items() if len(values) == 1} | axes


def group(parts: list[Node], domains: Domains) -> dict[frozenset[str], list[Node]]:
    """The conditions, by their variables that have more than one value."""
    free = {name for name, values in domains.items() if len(values) != 1}
    groups: dict[frozenset[str], list[Node]] = {}
    for part in parts:
        groups.setdefault(part.support & free, []).append(part)
    return groups


def combinations(names: frozenset[str], domains: Domains) -> int:
    """How many combinations of values there are."""
    return math.prod(len(domains[name]) for name in names)


def _filter(name: str, values: NDArray[np.int64], parts: list[Node], fixed: Domains) -> NDArray[np.int64]:
    kept = values
    for part in parts:
        if name in part.support and part.support - fixed.keys() <= {name} and len(kept):
            kept = kept[np.broadcast_to(part.evaluate(fixed | {name: kept}), kept.shape)]
    return kept


def _narrow_together(domains: Domains, parts: list[Node]) -> Domains:
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


def _narrow_defined(part: Node, domains: Domains) -> Domains:
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
