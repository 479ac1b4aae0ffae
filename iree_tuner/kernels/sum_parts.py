"""Add up parts of sums, as an op of the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, linalg, tensor

from iree_tuner.compiler.generic import generic


def added_up(parts: ir.Value[Any], kept: int) -> ir.Value:
    """The sums along all dimensions after the first `kept` ones, as an op at the current insertion point."""
    kind = ir.RankedTensorType(parts.type)
    rank = kind.rank
    outer = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(at) for at in range(kept)])
    maps = [ir.AffineMap.get_identity(rank), outer]
    kinds = ["parallel"] * kept + ["reduction"] * (rank - kept)
    return generic([parts], zeros(list(kind.shape)[:kept], kind.element_type), maps, kinds, _plus)


def zeros(shape: Sequence[int], element: ir.Type) -> ir.Value:
    """A tensor of zeros, as ops at the current insertion point."""
    empty = tensor.EmptyOp(list(shape), element).result
    return linalg.fill(arith.constant(element, 0.0), outs=[empty])


def _plus(term: ir.Value, total: ir.Value) -> ir.Value:
    return arith.addf(total, term)
