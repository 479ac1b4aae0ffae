"""Pack a kernel's constant input by an op that the compiler evaluates once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, linalg, tensor

from iree_tuner.kernels.kernel import Code, Kernel, Packed, Packing
from iree_tuner.kernels.problem import KernelError, Problem
from iree_tuner.targets import Target

HOISTED = ("arith.constant", "util.global.load", "flow.tensor.constant")
"""Ops that make constants. Ops on these are evaluated once, when the program is compiled or loaded."""

MOST_PADDING = 1 << 20
"""The most bytes of zeros that packing may add. Beyond this growth, the compiler does not hoist an op
(`--iree-opt-const-expr-max-size-increase-threshold`), and would pack in each run."""


def with_packed(kernel: Kernel, problem: Problem, target: Target, code: Code) -> Code:
    """Add the code for a packed input, if the kernel supports that and this machine can make it."""
    if not isinstance(kernel, Packing):
        return code
    with suppress(KernelError):
        return replace(code, packed=kernel.packed(problem, target, code.knobs))
    return code


def build_packed(value: ir.Value[Any], packed: Packed) -> ir.Value:
    """Build the packed input at the current insertion point."""
    kind = ir.RankedTensorType(value.type)
    if tuple(kind.shape) != packed.matrix:
        value = _matrix(value, packed.matrix)
    empty = tensor.EmptyOp(list(packed.shape), kind.element_type).result
    zero = arith.constant(kind.element_type, 0 if isinstance(kind.element_type, ir.IntegerType) else 0.0)
    order = None if packed.dimension == 0 else [1, 0]  # tiles come first
    dimensions, tiles = [packed.dimension], [packed.tile]
    if packed.group > 1:
        dimensions, tiles = [packed.dimension, 1 - packed.dimension], [packed.tile, packed.group]
    return linalg.PackOp(
        empty.type, value, empty, dimensions, [], tiles, padding_value=zero, outer_dims_perm=order
    ).operation.results[0]


def _matrix(value: ir.Value[Any], sizes: tuple[int, int]) -> ir.Value[Any]:
    """Reshape a dense tensor to a matrix, by way of one dimension."""
    kind = ir.RankedTensorType(value.type)
    every = list(range(kind.rank))
    whole = sizes[0] * sizes[1]
    if kind.rank > 1:
        flat = ir.RankedTensorType.get([whole], kind.element_type)
        value = tensor.CollapseShapeOp(flat, value, [every]).result
    matrix = ir.RankedTensorType.get(sizes, kind.element_type)
    return tensor.ExpandShapeOp(matrix, value, [[0, 1]], [], list(sizes)).result
