"""Properties of all ops of a family, as plain data: what match ops ask for, and what is computed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.workload import Workload

_NO_ARITHMETIC = ("constant", "extf", "truncf", "index_cast", "sitofp", "uitofp", "fptosi", "extsi", "extui",
                  "trunci", "bitcast", "select")  # fmt: skip


@dataclass(frozen=True)
class MatchOp:
    """A match op of the compiler's for ops of one family.

    Attributes:
        name: after `transform.iree.match.`: `contraction`.
        yields: the roles whose sizes it yields, in order, in the words of its documentation.
        parameters: what it yields after them that are not sizes: `strides`.
        operands: what it calls the operands; most have an attribute for their element type, `lhs_type`.
        op: the only op that it takes; empty for every op of linalg that has these roles.
        operand_count: how many operands that op has without a mask.
    """

    name: str
    yields: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    op: str = ""
    operand_count: int = 0


@dataclass(frozen=True)
class Sums:
    """How results are computed, where it decides how much they may differ.

    Attributes:
        accumulator_type: element type that sums are held in.
        length: how many values go into one result.
        factor_type: what factors of the last sum are rounded to, where the op computes them itself.
        factors: how many of them go into one result.
        softmax: whether the factors are probabilities.
    """

    accumulator_type: str
    length: int
    factor_type: str = ""
    factors: int = 1
    softmax: bool = False


@dataclass(frozen=True)
class Chain:
    """Two products one after the other with exponentials between them, by loops.

    Attributes:
        rows: of both results.
        inner: what the first product sums over.
        keys: columns of the first result, which the second product sums over.
        columns: of the second result.
    """

    rows: tuple[int, ...]
    inner: tuple[int, ...]
    keys: tuple[int, ...]
    columns: tuple[int, ...]


def sums_of(workload: Workload) -> Sums:
    """Of an op that reduces into its last operand, in that operand's type."""
    kind = str(workload.types[-1]) if workload.types else "f32"
    return Sums(kind, workload.reduction_length)


def flops_by_bodies(workload: Workload) -> float:
    """Arithmetic ops of the bodies, for each iteration of their loops; one where a body is not known."""
    flops = float(math.prod(workload.loops)) * _operations(workload, "root")
    for companion in workload.with_companions_sized().companions:
        flops += math.prod(companion.loops) * _operations(workload, companion.label)
    return flops


def result_type(workload: Workload) -> ElementType | None:
    """Element type of the last operand; None without operands."""
    return workload.types[-1] if workload.types else None


def widest_factor(workload: Workload) -> ElementType | None:
    """The type that two factors, the first operands, are multiplied in."""
    if len(workload.types) < 2:
        return result_type(workload)
    return max(workload.types[:2], key=lambda kind: kind.bits)


def _operations(workload: Workload, label: str) -> int:
    body = facts_of(workload.dag).body(label)
    return 1 if body is None else sum(name not in _NO_ARITHMETIC for _, name in body.arithmetic)
