"""Reductions of a matrix: sums, means, largest and smallest values, along either dimension or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, prod
from typing import ClassVar, get_args

from iree.compiler import ir

from iree_tuner.compiler.linalg import SoftmaxOp, access, converted, generic
from iree_tuner.device.data import dtype_of
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.suite.operation import Operation, Primitives, T, TensorType, check_choice, check_sizes
from iree_tuner.suite.operation import Reduction as Function
from iree_tuner.suite.tensors import (
    INTEGERS,
    WIDE,
    add,
    as_vector,
    binary,
    check_type,
    constant,
    element,
    elementwise,
    empty,
    filled,
    in_name,
    retyped,
    sums_of,
)

REDUCTIONS: Mapping[str, Function] = {each: each for each in get_args(Function)}
_AXES: Mapping[str, tuple[int, ...]] = {"rows": (0,), "columns": (1,), "both": (0, 1)}
_SUMS = ("sum", "mean")


@dataclass(frozen=True, kw_only=True)
class Reduction(Operation):
    """One value from many."""

    kind: ClassVar[str] = "reduction"

    function: str = "sum"  # sum, mean, max or min; sums are held in f32, of integers in i32
    # rows, columns: sizes
    rows: int = 1024
    columns: int = 1024
    axis: str = "columns"  # reduced: `columns`, which are next to each other in memory, `rows`, or `both`
    element_type: str = "f32"  # of the values and the result; the result of sums of i8 is i32

    @property
    def name(self) -> str:
        """As `reduction_sum_1024x1024_columns_f32`."""
        kind = in_name(self.element_type)
        return f"{self.kind}_{self.function}_{self.rows}x{self.columns}_{self.axis}_{kind}"

    @property
    def inputs(self) -> tuple[TensorType, ...]:
        return (TensorType((self.rows, self.columns), self.element_type),)

    @property
    def result(self) -> TensorType:
        """A vector; one element of `both`."""
        sizes = self.rows, self.columns
        kept = tuple(size for i, size in enumerate(sizes) if i not in _AXES[self.axis])
        integers = self._adds and self.element_type in INTEGERS
        return TensorType(kept or (1,), "i32" if integers else self.element_type)

    @property
    def positive(self) -> bool:
        """A sum of all elements of both signs may be near zero, without a significant digit."""
        return self.axis == "both" and self.function in ("sum", "mean")

    @property
    def flops(self) -> float:
        return float(self.rows * self.columns)

    @property
    def tolerance(self) -> Tolerance:
        """That of a sum; the largest and the smallest value are exact."""
        return Tolerance(self._held, self._count if self._adds else 1)

    def check(self) -> None:
        check_sizes(self, "rows", "columns")
        check_choice(self, "function", REDUCTIONS)
        check_choice(self, "axis", _AXES)
        check_type("element_type", self.element_type, WIDE if self.function == "mean" else (*WIDE, *INTEGERS))

    def build(self, inputs: Sequence[ir.Value]) -> ir.Value:
        """One generic op, in the type that sums are held in, and the conversion behind it."""
        axes = _AXES[self.axis]
        kept = [i for i in (0, 1) if i not in axes]
        shape = [(self.rows, self.columns)[i] for i in kept]
        out = filled(shape, self._held, self._first)
        maps = [access(2, (0, 1)), access(2, kept)]
        compare = partial(binary, "maximum" if self.function == "max" else "minimum")
        found = generic(inputs, out, maps, add if self._adds else compare)
        found = found if kept else as_vector(found)
        return self._mean(found) if self.function == "mean" else retyped(found, self.result.element_type)

    def compute(self, ops: Primitives[T], inputs: Sequence[T]) -> T:
        result = self.result
        found = ops.reduce(REDUCTIONS[self.function], inputs[0], _AXES[self.axis], result.element_type)
        if self.axis == "both":
            found = ops.reshape(found, result.shape)
        return ops.cast(found, result.element_type)

    @property
    def _adds(self) -> bool:
        return self.function in _SUMS

    @property
    def _held(self) -> str:
        """The type that values are reduced in; comparisons need no other type."""
        return sums_of(self.element_type) if self._adds else self.element_type

    @property
    def _count(self) -> int:
        sizes = self.rows, self.columns
        return prod(sizes[i] for i in _AXES[self.axis])

    @property
    def _first(self) -> float:
        if self._adds:
            return 0
        sign = -1 if self.function == "max" else 1
        dtype = dtype_of(self.element_type)
        if dtype is not None and dtype.kind == "i":
            return -(2 ** (8 * dtype.itemsize - 1)) if sign < 0 else 2 ** (8 * dtype.itemsize - 1) - 1
        return sign * inf

    def _mean(self, sums: ir.Value) -> ir.Value:
        out = element(self.result.element_type)

        def body(total: ir.Value) -> ir.Value:
            return converted(binary("divide", total, constant(self._count, total.type)), out)

        return elementwise([(sums, (0,))], self.result, body)


# Softmax along the rows of a matrix.


_FLOPS = 5  # for each value: the largest, a difference, its exp, their sum, and a quotient


@dataclass(frozen=True, kw_only=True)
class Softmax(Operation):
    """exp(x) by the sum of its row, in f32."""

    kind: ClassVar[str] = "softmax"

    # rows, columns: sizes; each row has a sum of 1
    rows: int = 1024
    columns: int = 1024
    element_type: str = "f32"  # of the values and the result

    @property
    def name(self) -> str:
        """As `softmax_1024x1024_f32`."""
        return f"{self.kind}_{self.rows}x{self.columns}_{in_name(self.element_type)}"

    @property
    def inputs(self) -> tuple[TensorType, ...]:
        return (self.result,)

    @property
    def result(self) -> TensorType:
        return TensorType((self.rows, self.columns), self.element_type)

    @property
    def flops(self) -> float:
        return float(_FLOPS * self.rows * self.columns)

    @property
    def compute_type(self) -> str:
        """f32, whatever is stored."""
        return "f32"

    @property
    def tolerance(self) -> Tolerance:
        return Tolerance("f32", self.columns)

    def check(self) -> None:
        check_sizes(self, "rows", "columns")
        check_type("element_type", self.element_type, WIDE)

    def build(self, inputs: Sequence[ir.Value]) -> ir.Value:
        """linalg's softmax, between conversions where values are stored in less than f32."""
        shape = self.result.shape
        out = empty(shape, "f32")
        found = SoftmaxOp([out.type], retyped(inputs[0], "f32"), out, 1).result[0]
        return retyped(found, self.element_type)

    def compute(self, ops: Primitives[T], inputs: Sequence[T]) -> T:
        return ops.cast(ops.softmax(inputs[0], 1), self.element_type)
