"""What an op does to each element: read off the workload's text, where it has one."""

from __future__ import annotations

import re

from iree_tuner.ops.workload import Workload

# Instructions for a vector: a polynomial for a function, a slow divider, one for the rest.
_FUNCTION = 12.0
_DIVISION = 4.0
_FREE = ("constant", "extf", "truncf", "index_cast")
_DIVIDERS = ("divf", "divsi", "divui", "remf", "remsi", "remui")
_ORDERED = ("addf", "mulf")

_LABEL = re.compile(r'iree_tuner\.label = "(\w+)"')
_OP = re.compile(r"= (math|arith)\.(\w+)")


def body_instructions(workload: Workload, label: str) -> float | None:
    """Instructions for a vector of elements of the op with that label; None where the text does not say."""
    found = _ops(workload, label)
    return None if found is None else max(1.0, sum(_instructions(kind, name) for kind, name in found))


def keeps_order(workload: Workload, label: str) -> bool:
    """Whether an op that reduces must do so one element after the other: sums and products of floats."""
    found = _ops(workload, label)
    if found is None:
        return workload.types[-1].is_float
    return bool(found) and found[-1][1] in _ORDERED


def _ops(workload: Workload, label: str) -> list[tuple[str, str]] | None:
    """Dialects and names of the ops in a body, in their order."""
    for part in workload.dag.split("linalg.generic")[1:]:
        named = _LABEL.search(part)
        if named is not None and named.group(1) == label:
            return [(found[0], found[1]) for found in _OP.findall(part.partition("linalg.yield")[0])]
    return None


def _instructions(kind: str, name: str) -> float:
    if kind == "math":
        return _FUNCTION
    if name in _FREE:
        return 0.0
    return _DIVISION if name in _DIVIDERS else 1.0
