"""Which loops of different ops walk the same dimension of the same data.

The rule is the compiler's (IterationDimTracker, Codegen/Utils/SliceUtils.cpp): loops that index one
dimension of a shared tensor, directly, are the same loop; anything computed is not followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from iree.compiler import ir

from iree_tuner.ops.structure import accesses

_Loop = tuple[int, int]


def shared_loops(ops: Sequence[ir.Operation]) -> list[tuple[int | None, ...]]:
    """For each loop of each op, the loop of the first op that walks the same data; all are followed."""
    groups = _groups(ops)
    of_first: dict[_Loop, int] = {}
    for loop in range(accesses(ops[0])[0].rank):
        of_first.setdefault(groups[0, loop], loop)
    return [
        tuple(of_first.get(groups[index, loop]) for loop in range(accesses(op)[0].rank))
        for index, op in enumerate(ops)
    ]


def _groups(ops: Sequence[ir.Operation]) -> dict[_Loop, _Loop]:
    leaders: dict[_Loop, _Loop] = {}

    def leader(loop: _Loop) -> _Loop:
        while leaders.setdefault(loop, loop) != loop:
            loop = leaders[loop]
        return loop

    walked: dict[tuple[ir.Value, int], _Loop] = {}
    for index, op in enumerate(ops):
        for loop in range(accesses(op)[0].rank):
            leader((index, loop))
        for value, dimension, loop in _accesses(op):
            first = walked.setdefault((value, dimension), (index, loop))
            leaders[leader((index, loop))] = leader(first)
    return {loop: leader(loop) for loop in list(leaders)}


def _accesses(op: ir.Operation) -> Iterable[tuple[ir.Value, int, int]]:
    maps = accesses(op)
    inits = len(maps) - len(op.results)
    for value, access in [
        *((value, each) for value, each in zip(op.operands, maps, strict=True) if not _is_blank(value)),
        *zip(op.results, maps[inits:], strict=True),
    ]:
        for dimension, loop in enumerate(access.dimensions):
            if loop is not None:
                yield value, dimension, loop


def _is_blank(value: ir.Value) -> bool:
    """Whether a tensor holds no data of its own: one such is often the init of unrelated ops."""
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.operation.name in {"tensor.empty", "linalg.fill"}
