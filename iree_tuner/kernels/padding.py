"""What is around an image that a convolution reads, which a kernel may put there itself.

The number that a `tensor.pad` fills with is a value that only its body uses, which the matcher of 3.13 does
not follow. A spec therefore first writes paddings as the compiler does it later, too: as an insertion into a
filled tensor.
"""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor, transform
from iree.compiler.dialects.transform import structured

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.expression import number
from iree_tuner.kernels.scalar import constant_of
from iree_tuner.ops.canonical import captured, clone

_PAD = "tensor.pad"


@dataclass(frozen=True)
class Padding:
    """An image with zeros around it.

    Attributes:
        source: the image.
        sizes: how many zeros there are before and after it in each dimension.
        ops: what puts them there, producers first.
    """

    source: ir.Value
    sizes: tuple[tuple[int, int], ...]
    ops: tuple[ir.Operation, ...]


def padding_of(value: ir.Value) -> Padding | None:
    """What a value is padded from; None for what is not, or by anything but zeros, or by unknown sizes."""
    op = producer(value)
    pad = None if op is None else op.opview
    if op is None or not isinstance(pad, tensor.PadOp) or len(op.operands) != 1:
        return None  # its other operands are sizes that are known at run time only
    (*body, last) = (each.operation for each in pad.region.blocks[0].operations)
    zero = None if body else producer(last.operands[0])
    sizes = tuple(zip(pad.static_low, pad.static_high, strict=True))
    if zero is None or constant_of(zero) != number(0.0) or min(min(each) for each in sizes) < 0:
        return None
    static = ir.RankedTensorType(op.operands[0].type).has_static_shape
    return Padding(op.operands[0], sizes, (zero, op)) if static else None


def insert_in_filled(block: ir.Block) -> None:
    """Write the paddings of a block as insertions. They are static, of one constant."""
    pads = [op.operation for op in block.operations if op.operation.name == _PAD]
    for op in pads:
        (number,) = captured(op)
        source = ir.RankedTensorType(op.operands[0].type)
        kind, ones = ir.RankedTensorType(op.result.type), [1] * source.rank
        offsets = list(ir.DenseI64ArrayAttr(op.attributes["static_low"]))
        constant = producer(number)
        assert constant is not None, "what paddings are filled with is a constant"
        with ir.InsertionPoint(op):
            number = clone(constant, {}, ir.InsertionPoint.current).results[0]  # the compiler's is new, too
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
        pads = structured.MatchOp(handle, sequence.bodyTarget, ops=[_PAD]).results_
        structured.RewriteInDestinationPassingStyleOp(handle, pads)
        transform.YieldOp([])
