"""The initial values of a reduction: zeros that a fill of the same dispatch writes, or values read."""

from __future__ import annotations

from iree.compiler import ir

ACCUMULATES = "accumulates"
"""Parameter of workloads whose initial value is read: `((ACCUMULATES, (1,)),)`. No matcher looks at it."""

Parameters = list[tuple[str, tuple[int, ...]]]


def initial_parameters(op: ir.Operation) -> Parameters:
    """The parameter for an op whose last operand is its initial value; empty where a fill writes it."""
    owner = op.operands[len(op.operands) - 1].owner
    filled = not isinstance(owner, ir.Block) and owner.name in ("linalg.fill", "tensor.empty")
    return [] if filled else [(ACCUMULATES, (1,))]
