"""The zeros around an image that a convolution reads; some kernels can add them.

The matcher of 3.13 does not follow values that only a body uses, such as the value that a `tensor.pad` fills
with. A spec therefore first rewrites paddings as insertions into a filled tensor, as the compiler does later.
"""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor, transform
from iree.compiler.dialects.transform import structured

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.expression import constant_of, number
from iree_tuner.ops.canonical import captured, clone

_PAD = "tensor.pad"


@dataclass(frozen=True)
class Padding:
    """An image with this number of zeros before and after it in each dimension, and the ops that add them."""

    source: ir.Value
    sizes: tuple[tuple[int, int], ...]
    ops: tuple[ir.Operation, ...]


def padding_of(value: ir.Value) -> Padding | None:
    """The padding that makes a value; None if there is none, or its values or sizes are not supported."""
    op = producer(value)
    pad = None if op is None else op.opview
    if op is None or not isinstance(pad, tensor.PadOp) or len(op.operands) != 1:
        return None  # further operands are dynamic sizes
    (*body, last) = (each.operation for each in pad.region.blocks[0].operations)
    zero = None if body else producer(last.operands[0])
    sizes = tuple(zip(pad.static_low, pad.static_high, strict=True))
    if zero is None or constant_of(zero) != number(0.0) or min(min(each) for each in sizes) < 0:
        return None
    static = ir.RankedTensorType(op.operands[0].type).has_static_shape
    return Padding(op.operands[0], sizes, (zero, op)) if static else None


def insert_in_filled(block: ir.Block) -> None:
    """Rewrite the paddings of a block as insertions. All must be static, with a constant value."""
    pads = [op.operation for op in block.operations if op.operation.name == _PAD]
    for op in pads:
        (number,) = captured(op)
        source = ir.RankedTensorType(op.operands[0].type)
        kind, ones = ir.RankedTensorType(op.result.type), [1] * source.rank
        offsets = list(ir.DenseI64ArrayAttr(op.attributes["static_low"]))
        constant = producer(number)
        assert constant is not None, "what paddings are filled with is a constant"
        with ir.InsertionPoint(op):
            number = clone(constant, {}, ir.InsertionPoint.current).results[0]  # new, as the compiler's is
            empty = tensor.EmptyOp(list(kind.shape), kind.element_type).result
            filled = linalg.fill(number, outs=[empty])
            inserted = tensor.InsertSliceOp(op.operands[0], filled, [], [], [], offsets, source.shape, ones)
        op.result.replace_all_uses_with(inserted.result)
        op.erase()


def build_insertion(function: ir.Value) -> None:
    """Build transform ops that rewrite all paddings of a function so, at the current insertion point."""
    handle = transform.AnyOpType.get()
    sequence = transform.SequenceOp(transform.FailurePropagationMode.Suppress, [], function)
    with ir.InsertionPoint(sequence.body):
        pads = structured.MatchOp(handle, sequence.bodyTarget, ops=[_PAD]).results_
        structured.RewriteInDestinationPassingStyleOp(handle, pads)
        transform.YieldOp([])
