"""Zeros around an image that a convolution reads, which a kernel may put there itself.

The matcher of cases follows operands, and only the body of a `tensor.pad` uses the zero. So a spec first
makes of such pads what they stand for: a fill, and the image inserted into it. The compiler does so later.
"""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import tensor, transform
from iree.compiler.dialects.transform import interpreter, structured

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.expression import number
from iree_tuner.kernels.scalar import constant_of


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


def build_rewriting(module: ir.Value, padded: ir.Type) -> None:
    """Build a step of a transform: pads that give tensors of a type, as a fill and an insertion."""
    handle = transform.AnyOpType.get()
    pads = structured.MatchOp(handle, module, ops=["tensor.pad"], filter_result_type=padded)
    structured.RewriteInDestinationPassingStyleOp(handle, pads.results_)


def rewrite(module: ir.Module, padded: ir.Type) -> None:
    """The same, of a module here."""
    with module.context, ir.Location.unknown():
        script = ir.Module.create()
        script.operation.attributes["transform.with_named_sequence"] = ir.UnitAttr.get()
        with ir.InsertionPoint(script.body):
            handle = transform.AnyOpType.get()
            sequence = transform.NamedSequenceOp("__transform_main", [handle], [], arg_attrs=[{}])
        with ir.InsertionPoint(sequence.body):
            build_rewriting(sequence.body.arguments[0], padded)
            transform.YieldOp([])
        interpreter.apply_named_sequence(module, sequence, script)
