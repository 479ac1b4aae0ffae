"""Build `linalg.generic` ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iree.compiler import ir

from iree_tuner.compiler import linalg


def generic(
    operands: Sequence[ir.Value],
    out: ir.Value,
    maps: Sequence[ir.AffineMap],
    kinds: Sequence[str],
    body: Callable[..., ir.Value],
) -> ir.Value:
    """An op on tensors with one result, at the current insertion point.

    Args:
        operands: its inputs.
        out: its initial result.
        maps: of the inputs, and of the result.
        kinds: of the loops: `parallel` or `reduction`.
        body: makes the result's element of one of each input and the one before.
    """
    types = [linalg.iterator_type(kind) for kind in kinds]
    indexing = ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps])
    op = linalg.GenericOp([out.type], list(operands), [out], indexing, ir.ArrayAttr.get(types))
    elements = [ir.ShapedType(each.type).element_type for each in (*operands, out)]
    with ir.InsertionPoint(op.regions[0].blocks.append(*elements)):
        linalg.YieldOp([body(*op.regions[0].blocks[0].arguments)])
    return op.results[0]
