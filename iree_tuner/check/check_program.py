"""A program that compares a dispatch's results where they are, on the device. Built and compiled by workers.

Reading results back and comparing them on the host takes longer than timing a dispatch of a GPU. This program
says of a buffer what `check.check` asks: whether bytes that must be as they are have changed, and how far
each float is off, in multiples of its tolerance, which it derives from the default's results, too. The host
checks results that it does not find right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import arith, func, iree_tensor_ext, tensor
from iree.compiler.dialects import math as math_ops

from iree_tuner.compiler.linalg import elementwise, generic, named
from iree_tuner.compiler.session import CompileError
from iree_tuner.compiler.worker import session_for
from iree_tuner.device.numerics import (
    ALLOW,
    CHECK,
    SAME,
    SURVEY,
    TERMS,
    WORD,
    FloatOutput,
    float_outputs,
    largest_finite,
    sampling_step,
    words_in_row,
)
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
    """The program that compares buffers of `size` bytes, a multiple of 4096, in the current context.

    * `check(got, image, mask, (want, scale)...) -> (changed, worst...)`: `changed` has bits of `got` that
      differ from `image` where `mask` has ones, a word for each row. `worst` is, for each row, the largest
      `|got - want| * scale`, infinite where one is not a number.
    * `same(got, before) -> changed`: the same of all bytes of two buffers.
    * `survey(expected) -> (largest, strange, sample)...`: for each row the largest finite absolute value, -1
      where none is finite, and a number other than 0 where one is not; and evenly spaced values.
    * `allow(expected, magnitudes, terms...) -> (want, scale)...`: what `check` takes, from results of the
      default. The terms of each output are the largest value, the median and the terms of `numerics.Terms`.

    Buffers are bytes; `image` and `mask` are the words of one.
    """
    byte, word, real = ir.IntegerType.get_signless(8), ir.IntegerType.get_signless(32), ir.F32Type.get()
    buffer, words = _of([size], byte), _of([size // WORD // words_in_row(size), words_in_row(size)], word)
    matrices = [_of([each.rows, each.columns], real) for each in outputs]
    module = ir.Module.create()

    def in_words(got: ir.Value) -> ir.Value:
        return iree_tensor_ext.BitCastOp(words, _tensor(got), [], []).result

    def check(got: ir.Value, image: ir.Value, mask: ir.Value, *rest: ir.Value) -> list[ir.Value]:
        found = [_changed(in_words(got), image, mask)]
        for each, want, scale in zip(outputs, rest[::2], rest[1::2], strict=True):
            found.append(_worst(_values(got, each), want, scale, largest_finite(each.element_type)))
        return found

    def same(got: ir.Value, before: ir.Value) -> list[ir.Value]:
        return [_changed(in_words(got), in_words(before))]

    def survey(expected: ir.Value) -> list[ir.Value]:
        return [value for each in outputs for value in _survey(_values(expected, each))]

    def allow(expected: ir.Value, magnitudes: ir.Value, *rest: ir.Value) -> list[ir.Value]:
        terms = [rest[at : at + TERMS] for at in range(0, len(rest), TERMS)]
        found: list[ir.Value] = []
        for each, own in zip(outputs, terms, strict=True):
            found += _allow(_values(expected, each), _values(magnitudes, each), own, each)
        return found

    pairs = [matrix for matrix in matrices for _ in range(2)]
    _export(module, CHECK, [buffer, words, words, *pairs], check)
    _export(module, SAME, [buffer, buffer], same)
    if outputs:
        _export(module, SURVEY, [buffer], survey)
        _export(module, ALLOW, [buffer, buffer, *[real] * (TERMS * len(outputs))], allow)
    return module


def _export(
    module: ir.Module, name: str, taken: Sequence[ir.Type], body: Callable[..., list[ir.Value]]
) -> None:
    with ir.InsertionPoint(module.body):
        function = func.FuncOp(name, ir.FunctionType.get(taken, []))
    with ir.InsertionPoint(function.add_entry_block()):
        results = body(*function.arguments)
        func.ReturnOp(results)
    kind = ir.FunctionType.get(taken, [each.type for each in results])
    function.attributes["function_type"] = ir.TypeAttr.get(kind)


def _of(shape: Sequence[int], element: ir.Type) -> ir.RankedTensorType:
    return ir.RankedTensorType.get(shape, element)


def _tensor(value: ir.Value) -> ir.Value[ir.RankedTensorType]:
    return cast("ir.Value[ir.RankedTensorType]", value)


def _values(got: ir.Value, output: FloatOutput) -> ir.Value:
    element = ElementType.named(output.element_type)
    count = output.rows * output.columns * element.bytes
    bytes_type = _of([count], ir.IntegerType.get_signless(8))
    part = tensor.ExtractSliceOp(bytes_type, _tensor(got), [], [], [], [output.start], [count], [1]).result
    return iree_tensor_ext.BitCastOp(_of([output.rows, output.columns], element.to_ir()), part, [], []).result


def _changed(got: ir.Value, image: ir.Value, *mask: ir.Value) -> ir.Value:
    """The bits that differ (where a mask has ones), combined for each row."""

    def body(ours: ir.Value, theirs: ir.Value, *rest: ir.Value) -> ir.Value:
        differs = arith.xori(ours, theirs)
        for bits in rest[:-1]:
            differs = arith.andi(differs, bits)
        return arith.ori(differs, rest[-1])

    return _by_row([got, image, *mask], ir.IntegerType.get_signless(32), 0, body)


def _worst(got: ir.Value, want: ir.Value, scale: ir.Value, limit: float) -> ir.Value:
    """The largest error of each row, infinite if one is not a number."""
    real = ir.F32Type.get()

    def body(ours: ir.Value, theirs: ir.Value, factor: ir.Value, before: ir.Value) -> ir.Value:
        error = arith.mulf(math_ops.absf(arith.subf(_held(_wide(ours), limit), theirs)), factor)
        error = arith.select(_is_finite(error), error, arith.constant(real, math.inf))
        return arith.maximumf(error, before)

    return _by_row([got, want, scale], real, 0.0, body)


def _survey(values: ir.Value) -> list[ir.Value]:
    real = ir.F32Type.get()

    def largest(value: ir.Value, before: ir.Value) -> ir.Value:
        own = math_ops.absf(_wide(value))
        return arith.maximumf(arith.select(_is_finite(own), own, arith.constant(real, -1.0)), before)

    def strange(value: ir.Value, before: ir.Value) -> ir.Value:
        true = arith.constant(ir.IntegerType.get_signless(1), 1)
        found = arith.extui(before.type, arith.xori(_is_finite(math_ops.absf(_wide(value))), true))
        return arith.ori(found, before)

    rows, columns = ir.RankedTensorType(values.type).shape
    element = ir.RankedTensorType(values.type).element_type
    step = sampling_step(rows * columns)
    count = -(-rows * columns // step)
    flat = tensor.CollapseShapeOp(_of([rows * columns], element), _tensor(values), [[0, 1]]).result
    sample = tensor.ExtractSliceOp(_of([count], element), flat, [], [], [], [0], [count], [step]).result
    return [
        _by_row([values], real, -1.0, largest),
        _by_row([values], ir.IntegerType.get_signless(32), 0, strange),
        _each([sample], _wide),
    ]


def _allow(
    expected: ir.Value, magnitudes: ir.Value, terms: Sequence[ir.Value], output: FloatOutput
) -> list[ir.Value]:
    """An output's expected values, limited to its type's largest number, and one over its tolerance.

    The tolerance of `numerics.tolerances`, at least 1.2e-38: devices flush smaller numbers.
    """
    real = ir.F32Type.get()
    largest, median, rounding, functions, relative, halting, normal, least = terms
    zero, most = arith.constant(real, 0.0), arith.constant(real, float(np.finfo(np.float32).max))
    tiny, limit = arith.constant(real, float(np.finfo(np.float32).tiny)), largest_finite(output.element_type)

    def want(value: ir.Value) -> ir.Value:
        return _held(_wide(value), limit)

    def scale(value: ir.Value, magnitude: ir.Value) -> ir.Value:
        own, size = math_ops.absf(_wide(value)), math_ops.absf(_wide(magnitude))
        own = arith.select(_is_finite(own), own, largest)
        twice = arith.addf(largest, largest)
        reached = arith.minimumf(arith.select(_is_finite(size), size, twice), twice)
        reached = arith.maximumf(arith.maximumf(own, reached), median)
        found = arith.addf(arith.mulf(rounding, own), arith.mulf(functions, largest))
        found = arith.addf(found, arith.minimumf(arith.mulf(relative, reached), largest))
        grows = arith.cmpf(arith.CmpFPredicate.OGT, arith.addf(own, own), size)
        found = arith.addf(found, arith.select(grows, arith.mulf(halting, own), zero))
        small = arith.cmpf(arith.CmpFPredicate.OLT, own, normal)
        found = arith.addf(found, arith.select(small, normal, zero))
        found = arith.maximumf(arith.addf(found, least), tiny)
        return arith.minimumf(arith.divf(arith.constant(real, 1.0), found), most)

    return [_each([expected], want), _each([expected, magnitudes], scale)]


def _wide(value: ir.Value) -> ir.Value:
    real = ir.F32Type.get()
    return value if value.type == real else arith.extf(real, value)


def _held(value: ir.Value, limit: float) -> ir.Value:
    most, least = (arith.constant(ir.F32Type.get(), each) for each in (limit, -limit))
    return arith.maximumf(arith.minimumf(value, most), least)


def _is_finite(absolute: ir.Value) -> ir.Value:
    largest = arith.constant(ir.F32Type.get(), float(np.finfo(np.float32).max))
    return arith.cmpf(arith.CmpFPredicate.OLE, absolute, largest)


def _each(operands: Sequence[ir.Value], body: Callable[..., ir.Value]) -> ir.Value:
    """Apply `body` to the elements of operands of one shape; its results are f32."""
    shape = ir.RankedTensorType(operands[0].type).shape
    maps = [ir.AffineMap.get_identity(len(shape))] * len(operands)
    return elementwise(operands, maps, shape, ir.F32Type.get(), body)


def _by_row(
    operands: Sequence[ir.Value], element: ir.Type, start: float, body: Callable[..., ir.Value]
) -> ir.Value:
    """Reduce matrices of one shape along their rows."""
    rows = ir.ShapedType(operands[0].type).get_dim_size(0)
    out = named("fill")(arith.constant(element, start), outs=[tensor.empty((rows,), element)])
    every = ir.AffineMap.get_identity(2)
    row = ir.AffineMap.get(2, 0, [ir.AffineDimExpr.get(0)])
    maps = [*[every] * len(operands), row]
    return generic(operands, out, maps, body)
