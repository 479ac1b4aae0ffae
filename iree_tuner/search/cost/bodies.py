"""The work of an op for each element, if its workload has a DAG."""

from __future__ import annotations

from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.workload import Workload

# Instructions for a vector: a polynomial for a function, a slow divider, one for the rest.
_FUNCTION = 12.0
_DIVISION = 4.0
_FREE = ("constant", "extf", "truncf", "index_cast")
_DIVIDERS = ("divf", "divsi", "divui", "remf", "remsi", "remui")
_ORDERED = ("addf", "mulf")


def body_instructions(workload: Workload, label: str) -> float | None:
    """Instructions for a vector of elements of the op with that label; None where the DAG does not say."""
    body = facts_of(workload.dag).body(label)
    return None if body is None else max(1.0, sum(_instructions(*each) for each in body.arithmetic))


def keeps_order(workload: Workload, label: str) -> bool:
    """Whether an op that reduces must do so one element after the other: sums and products of floats."""
    body = facts_of(workload.dag).body(label)
    if body is None:
        return workload.types[-1].is_float
    return bool(body.arithmetic) and body.arithmetic[-1][1] in _ORDERED


def _instructions(kind: str, name: str) -> float:
    if kind == "math":
        return _FUNCTION
    if name in _FREE:
        return 0.0
    return _DIVISION if name in _DIVIDERS else 1.0
