"""How many copies of its inputs an operation rotates through."""

from __future__ import annotations

from iree_tuner.suite.conditions import Conditions
from iree_tuner.suite.operation import Operation

_MOST = 4096
"""More cost more to make than they are good for: each is a call's own memory, a page apart at least."""


def copies_for(operation: Operation, conditions: Conditions) -> int:
    """As many as have `copies_bytes` together, at least one, at most 4096."""
    each = sum(tensor.bytes for tensor in operation.inputs)
    if not conditions.copies_bytes or not each:
        return 1
    return max(1, min(_MOST, int(-(-conditions.copies_bytes // each))))
