"""Sums of products of 8-bit integers, with their operands before they are widened and padded.

And the zeros around an image that a convolution reads, which some kernels can add. The matcher of 3.13 does
not follow values that only a body uses, such as the value that a `tensor.pad` fills with. A spec therefore
first rewrites paddings as insertions into a filled tensor, as the compiler does later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from iree.compiler import ir
from iree.compiler.dialects import tensor, transform
from iree.compiler.dialects.transform import structured

from iree_tuner.compiler.linalg import named
from iree_tuner.kernels.epilogue import producer, unary_of
from iree_tuner.kernels.expression import constant_of, number
from iree_tuner.kernels.formula import NARROW, Formula
from iree_tuner.ops.dag import captured, clone
from iree_tuner.ops.element_type import ElementType

_WIDENINGS = {"arith.extsi": True, "arith.extui": False}
_SUM, _NARROW = ElementType.named("i32"), ElementType.named(NARROW)


@dataclass(frozen=True)
class ZeroPoints:
    """The padding of an image with channels last: numbers of lines and pixels, with this value."""

    above: int = 0
    left: int = 0
    below: int = 0
    right: int = 0
    value: int = 0


@dataclass(frozen=True)
class Integers:
    """How a problem reads integers, and the formula after its sums.

    `signed` is for both operands, `padding` for the first one. The formula's inputs are the problem's inputs
    after the operands.
    """

    signed: tuple[bool, bool]
    padding: ZeroPoints = ZeroPoints()
    formula: Formula = ()

    @property
    def padded(self) -> bool:
        return replace(self.padding, value=0) != ZeroPoints()


@dataclass(frozen=True)
class Operands:
    """The operands of sums, 8 bits wide, with the ops that widen and pad them, producers first."""

    values: tuple[ir.Value, ir.Value]
    integers: Integers
    ops: tuple[ir.Operation, ...]


def operands_of(root: ir.Operation) -> Operands | None:
    """The operands of a root op that sums up products of 8-bit integers in 32 bits; None for other ops."""
    if len(root.operands) != 3 or ElementType.of(root.operands[2].type) != _SUM or "cast" in root.attributes:
        return None
    signs = _signs(root)
    image, padding, ops = _unpadded(root.operands[0])
    found = [_narrow(each, sign) for each, sign in zip((image, root.operands[1]), signs, strict=False)]
    values = [each for each in found if each is not None]
    if len(values) < 2:
        return None
    (one, first, before), (other, second, more) = values
    every = dict.fromkeys([*before, *ops, *more])
    return Operands((one, other), Integers((first, second), padding), tuple(every))


def _unpadded(value: ir.Value) -> tuple[ir.Value, ZeroPoints, list[ir.Operation]]:
    """An image before its padding with a constant, the padding, and the ops that pad it."""
    op, plain = producer(value), (value, ZeroPoints(), list[ir.Operation]())
    if op is None or op.name != "tensor.pad" or len(op.operands) != 1 or len(list(value.uses)) != 1:
        return plain
    lows, highs = (list(ir.DenseI64ArrayAttr(op.attributes[each])) for each in ("static_low", "static_high"))
    body = [each.operation for each in op.regions[0].blocks[0].operations]
    constant = producer(body[0].operands[0])
    number = None if constant is None or len(body) > 1 else constant_of(constant)
    if constant is None or number is None or number.constant is None:
        return plain
    if len(lows) != 4 or "nofold" in op.attributes:
        return plain
    around = (lows[0], lows[3], highs[0], highs[3])
    if any(around) or min(*lows, *highs) < 0 or captured(op) != [constant.result]:
        return plain
    return (
        op.operands[0],
        ZeroPoints(lows[1], lows[2], highs[1], highs[2], int(number.constant)),
        [constant, op],
    )


def _signs(root: ir.Operation) -> tuple[bool | None, bool | None]:
    """For both operands, whether a root op reads it as signed; None if its body does not widen it."""
    if root.name != "linalg.generic":
        return True, True  # named ops without `cast` are signed
    block = root.regions[0].blocks[0]
    found: list[bool | None] = [None, None]
    for op in (each.operation for each in block.operations):
        for side in (0, 1):
            if op.name in _WIDENINGS and op.operands[0] == block.arguments[side]:
                found[side] = _WIDENINGS[op.name]
    return found[0], found[1]


def _narrow(value: ir.Value, sign: bool | None) -> tuple[ir.Value, bool, list[ir.Operation]] | None:
    """An operand in 8 bits, whether it is signed, and the ops before the root op that widen it."""
    if ElementType.of(value.type) == _NARROW:
        return None if sign is None else (value, sign, [])
    found = unary_of(value)
    if found is None or len(found.body) != 1 or found.body[0] not in _WIDENINGS or not found.in_order:
        return None
    if ElementType.of(found.operand.type) != _NARROW:
        return None
    return found.operand, _WIDENINGS[found.body[0]], found.ops


_PAD, _INSERT = "tensor.pad", "tensor.insert_slice"


@dataclass(frozen=True)
class Padding:
    """An image with this number of zeros before and after it in each dimension, and the ops that add them.

    `spread` is that of `Problem`.
    """

    source: ir.Value
    sizes: tuple[tuple[int, int], ...]
    ops: tuple[ir.Operation, ...]
    spread: tuple[int, ...] = ()


def padding_of(value: ir.Value) -> Padding | None:
    """The padding that makes a value; None if there is none, or its values or sizes are not supported.

    After it, dimensions without padding may be expanded, such as channels into groups.
    """
    op, after = producer(value), list[ir.Operation]()
    dimensions = [[at] for at in range(ir.RankedTensorType(value.type).rank)]
    if op is not None and op.name == "tensor.expand_shape":
        dimensions = [[each.value for each in own] for own in op.attributes["reassociation"]]
        op, after = producer(op.operands[0]), [op]
    if op is not None and op.name == _INSERT and not after:
        return _inserted(op)
    pad = None if op is None else op.opview
    if op is None or not isinstance(pad, tensor.PadOp) or len(op.operands) != 1:
        return None  # further operands are dynamic sizes
    (*body, last) = (each.operation for each in pad.region.blocks[0].operations)
    zero = None if body else producer(last.operands[0])
    sizes = tuple(zip(pad.static_low, pad.static_high, strict=True))
    if zero is None or constant_of(zero) != number(0.0) or min(min(each) for each in sizes) < 0:
        return None
    if any(any(size) and len(own) > 1 for size, own in zip(sizes, dimensions, strict=True)):
        return None
    static = ir.RankedTensorType(op.operands[0].type).has_static_shape
    return Padding(op.operands[0], sizes, (zero, op, *after)) if static else None


def _inserted(op: ir.Operation) -> Padding | None:
    """The padding by an insertion into zeros, also with zeros between the elements; None for others."""
    fill = producer(op.operands[1])
    if fill is None or fill.name != "linalg.fill" or len(op.operands) != 2:
        return None
    source, whole = (ir.RankedTensorType(each.type) for each in op.operands)
    zero, empty = producer(fill.operands[0]), producer(fill.operands[1])
    if zero is None or empty is None or constant_of(zero) != number(0.0) or source.rank != whole.rank:
        return None
    names = ("static_offsets", "static_strides")
    first, steps = (tuple(ir.DenseI64ArrayAttr(op.attributes[name])) for name in names)
    ends = [
        size - at - (own - 1) * step - 1
        for at, step, own, size in zip(first, steps, source.shape, whole.shape, strict=True)
    ]
    if empty.name != "tensor.empty" or min(*first, *ends) < 0:
        return None
    spread = steps if set(steps) != {1} else ()
    return Padding(op.operands[0], tuple(zip(first, ends, strict=True)), (zero, empty, fill, op), spread)


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
            filled = named("fill")(number, outs=[empty])
            inserted = tensor.InsertSliceOp(
                op.operands[0], ir.Value(filled), [], [], [], offsets, source.shape, ones
            )
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
