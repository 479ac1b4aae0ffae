"""Paddings with a constant in a form that matchers compare.

The number that a `tensor.pad` fills with is a value that only its body uses, which the matcher of 3.13 does
not follow. A spec therefore first writes paddings as the compiler does it later, too: as an insertion into a
filled tensor.
"""

from __future__ import annotations

from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor, transform
from iree.compiler.dialects.transform import structured

from iree_tuner.ops.canonical import captured

PAD = "tensor.pad"


def insert_in_filled(block: ir.Block) -> None:
    """Write the paddings of a block as insertions. They are static, of one constant."""
    pads = [op.operation for op in block.operations if op.operation.name == PAD]
    for op in pads:
        (number,) = captured(op)
        source = ir.RankedTensorType(op.operands[0].type)
        kind, ones = ir.RankedTensorType(op.result.type), [1] * source.rank
        offsets = list(ir.DenseI64ArrayAttr(op.attributes["static_low"]))
        with ir.InsertionPoint(op):
            empty = tensor.EmptyOp(list(kind.shape), kind.element_type).result
            filled = linalg.fill(number, outs=[empty])
            inserted = tensor.InsertSliceOp(op.operands[0], filled, [], [], [], offsets, source.shape, ones)
        op.result.replace_all_uses_with(inserted.result)
        op.erase()


def build_insertion(function: ir.Value) -> None:
    """Build, at the current insertion point of a transform, the same for all paddings in a function."""
    handle = transform.AnyOpType.get()
    sequence = transform.SequenceOp(transform.FailurePropagationMode.Suppress, [], function)
    with ir.InsertionPoint(sequence.body):
        pads = structured.MatchOp(handle, sequence.bodyTarget, ops=[PAD]).results_
        structured.RewriteInDestinationPassingStyleOp(handle, pads)
        transform.YieldOp([])
