"""Dynamic loops in words: which they are, and why they cannot be tuned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from iree.compiler import ir

from iree_tuner.ops.attention import Attention
from iree_tuner.ops.contraction import Contraction
from iree_tuner.ops.convolution import Convolution
from iree_tuner.ops.structure import structure
from iree_tuner.ops.workload import Workload

SUPPORTED = (
    "batch and m of contractions and attention, batch and output image of convolutions, "
    "and all loops of other linalg ops that index each dimension by one loop"
)
"""Loops that may be dynamic: the families' `MAY_VARY`, and what `generic` describes."""


def dynamic_parts(workload: Workload) -> str:
    """The parts that a workload's dynamic loops play: `batch and m`."""
    return _named(dict(workload.roles), (each.loop for each in workload.dynamic))


def why_refused(op: ir.Operation) -> str:
    """Why no family describes an op with dynamic sizes; empty when they are not the reason."""
    found = structure(op, dynamic=True)
    if found is None or not found.dynamic:
        return ""
    described = (family.roles(op) for family in (Contraction(), Convolution(), Attention()))
    roles: Mapping[str, tuple[int, ...]] = next((each for each in described if each), {})
    what = _named(roles, (each.loop for each in found.dynamic))
    return f"{what} of {op.name} {verb(what)} known only at run time; supported are {SUPPORTED}"


def verb(parts: str) -> str:
    """`is` or `are`, behind parts."""
    return "are" if " and " in parts else "is"


def _named(roles: Mapping[str, tuple[int, ...]], loops: Iterable[int]) -> str:
    of_loop = {loop: role.replace("_", " ") for role, members in roles.items() for loop in members}
    *more, last = dict.fromkeys(of_loop.get(loop, f"loop {loop}") for loop in loops)
    return f"{', '.join(more)} and {last}" if more else last
