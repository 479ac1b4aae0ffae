"""The finite set of values of each variable, derived from the asserts alone.

Bounds come from `bounds`; within them, the asserts that concern one variable only (membership,
divisibility by a constant) are evaluated on every integer. A variable with one value is a constant
from then on, which may make other asserts concern one variable only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from iree_tuner.errors import TunerError
from iree_tuner.space.bounds import find_bounds
from iree_tuner.space.interpreter import Node, Program, conjuncts

Domains = dict[str, NDArray[np.int64]]
_WIDEST = 1 << 22
"""The longest range of integers that is looked at one by one."""


def conditions(program: Program) -> list[Node]:
    """Every condition that a member must satisfy, split at conjunctions."""
    return [part for assertion in program.assertions for part in conjuncts(assertion.condition)]


def find_domains(program: Program) -> Domains:
    """The values of each variable, ascending. Raises TunerError for a variable without finite bounds."""
    parts = conditions(program)
    bounds = find_bounds((*program.knobs, *program.auxiliaries), parts)
    domains: Domains = {}
    for name, (low, high) in bounds.items():
        if math.isinf(low) or math.isinf(high) or high - low > _WIDEST:
            raise TunerError(
                f"the constraints give '{name}' no finite domain: {low} <= {name} <= {high}",
                hint="assert bounds on it",
            )
        domains[name] = np.arange(low, high + 1, dtype=np.int64)
    while True:
        fixed = {name: values for name, values in domains.items() if len(values) == 1}
        narrowed = {name: _filter(name, values, parts, fixed) for name, values in domains.items()}
        if all(len(narrowed[name]) == len(values) for name, values in domains.items()):
            return narrowed
        domains = narrowed


def _filter(name: str, values: NDArray[np.int64], parts: list[Node], fixed: Domains) -> NDArray[np.int64]:
    kept = values
    for part in parts:
        if name in part.support and part.support - fixed.keys() <= {name} and len(kept):
            kept = kept[np.broadcast_to(part.evaluate(fixed | {name: kept}), kept.shape)]
    return kept
