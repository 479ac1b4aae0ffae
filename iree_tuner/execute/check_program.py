"""A program that compares a dispatch's results where they are, on the device. Built and compiled by workers.

Reading results back and comparing them on the host takes longer than timing a dispatch of a GPU. This program
says of a buffer what `execute.check` asks: whether bytes that must be as they are have changed, and how far
each float is off, in multiples of what it may be off by. What it does not find right, the host looks at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import arith, func, iree_tensor_ext, tensor
from iree.compiler.dialects import math as math_ops

from iree_tuner.compiler.generic import generic
from iree_tuner.compiler.linalg import named
from iree_tuner.compiler.session import CompileError
from iree_tuner.compiler.worker import session_for
from iree_tuner.execute.check_layout import FUNCTION, WORD, FloatOutput, float_outputs, words_in_row
from iree_tuner.execute.numerics import largest_finite
from iree_tuner.ops.element_type import ElementType
from iree_tuner.program.bindings import Harness
from iree_tuner.program.phases import select_target
from iree_tuner.targets import Target


def compile_check(harness: Harness, target: Target) -> bytes:
    """The compiled program, for a worker; empty where there is none for the harness's types or the target."""
    outputs = float_outputs(harness.bindings)
    if outputs is None:
        return b""
    session = session_for(target.flags)
    try:
        with session.context, ir.Location.unknown():
            module = check_module(harness.stride, outputs)
        select_target(module, target)
        return session.to_vmfb(module)
    except CompileError:
        return b""


def check_module(size: int, outputs: Sequence[FloatOutput]) -> ir.Module:
    """`check(got, image, mask, (want, scale)...) -> (changed, worst...)`, in the current context.

    Args:
        size: of the buffer, in bytes, a multiple of 4096.
        outputs: what is compared as floats.

    `got` is the buffer as bytes; `changed` has bits of it that differ from `image` where `mask` has ones, a
    word for each row. `worst` is, for each row, the largest `|got - want| * scale`, infinite where one is
    not a number.
    """
    byte, word, real = ir.IntegerType.get_signless(8), ir.IntegerType.get_signless(32), ir.F32Type.get()
    words = [size // WORD // words_in_row(size), words_in_row(size)]
    taken = [_of([size], byte), _of(words, word), _of(words, word)]
    given = [_of(words[:1], word)]
    for each in outputs:
        taken += [_of([each.rows, each.columns], real)] * 2
        given.append(_of([each.rows], real))
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = func.FuncOp(FUNCTION, ir.FunctionType.get(taken, given))
    with ir.InsertionPoint(function.add_entry_block()):
        got, image, mask, *rest = function.arguments
        results = [_changed(iree_tensor_ext.BitCastOp(taken[1], got, [], []).result, image, mask)]
        for each, want, scale in zip(outputs, rest[::2], rest[1::2], strict=True):
            results.append(_worst(_values(got, each), want, scale, largest_finite(each.element_type)))
        func.ReturnOp(results)
    return module


def _of(shape: Sequence[int], element: ir.Type) -> ir.RankedTensorType:
    return ir.RankedTensorType.get(shape, element)


def _values(got: ir.Value, output: FloatOutput) -> ir.Value:
    """An output's elements, out of the buffer."""
    element = ElementType.named(output.element_type)
    count = output.rows * output.columns * element.bytes
    bytes_type = _of([count], ir.IntegerType.get_signless(8))
    whole = cast("ir.Value[ir.RankedTensorType]", got)
    part = tensor.ExtractSliceOp(bytes_type, whole, [], [], [], [output.start], [count], [1]).result
    return iree_tensor_ext.BitCastOp(_of([output.rows, output.columns], element.to_ir()), part, [], []).result


def _changed(got: ir.Value, image: ir.Value, mask: ir.Value) -> ir.Value:
    """The bits that differ, of each row."""

    def body(ours: ir.Value, theirs: ir.Value, bits: ir.Value, before: ir.Value) -> ir.Value:
        return arith.ori(arith.andi(arith.xori(ours, theirs), bits), before)

    return _by_row([got, image, mask], ir.IntegerType.get_signless(32), 0, body)


def _worst(got: ir.Value, want: ir.Value, scale: ir.Value, limit: float) -> ir.Value:
    """The largest error of each row; what is not a number is infinite."""
    real = ir.F32Type.get()

    def body(ours: ir.Value, theirs: ir.Value, factor: ir.Value, before: ir.Value) -> ir.Value:
        wide = ours if ours.type == real else arith.extf(real, ours)
        most, least = arith.constant(real, limit), arith.constant(real, -limit)
        held = arith.maximumf(arith.minimumf(wide, most), least)
        error = arith.mulf(math_ops.absf(arith.subf(held, theirs)), factor)
        largest = arith.constant(real, float(np.finfo(np.float32).max))
        number = arith.cmpf(arith.CmpFPredicate.OLE, error, largest)
        error = arith.select(number, error, arith.constant(real, math.inf))
        return arith.maximumf(error, before)

    return _by_row([got, want, scale], real, 0.0, body)


def _by_row(
    operands: Sequence[ir.Value], element: ir.Type, start: float, body: Callable[..., ir.Value]
) -> ir.Value:
    """Reduce matrices of one shape along their rows."""
    rows = ir.ShapedType(operands[0].type).get_dim_size(0)
    out = named("fill")(arith.constant(element, start), outs=[tensor.empty((rows,), element)])
    every = ir.AffineMap.get_identity(2)
    row = ir.AffineMap.get(2, 0, [ir.AffineDimExpr.get(0)])
    maps = [*[every] * len(operands), row]
    return generic(operands, out, maps, ("parallel", "reduction"), body)
