"""Softmax along the rows of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir

from iree_tuner.compiler.linalg import SoftmaxOp
from iree_tuner.device.bench import Tolerance
from iree_tuner.suite.element_types import WIDE, check_type, in_name
from iree_tuner.suite.operation import Operation, TensorType, Value, check_sizes
from iree_tuner.suite.primitives import Primitives, T
from iree_tuner.suite.tensors import empty, retyped

_FLOPS = 5  # for each value: the largest, a difference, its exp, their sum, and a quotient


@dataclass(frozen=True, kw_only=True)
class Softmax(Operation):
    """exp(x) by the sum of its row, in f32.

    Attributes:
        rows, columns: sizes; each row has a sum of 1.
        element_type: of the values and the result.
    """

    kind: ClassVar[str] = "softmax"

    rows: int = 1024
    columns: int = 1024
    element_type: str = "f32"

    @classmethod
    def of_type(cls, element_type: str) -> dict[str, Value]:
        """All of one type."""
        return {"element_type": element_type}

    @property
    def name(self) -> str:
        """As `softmax_1024x1024_f32`."""
        return f"{self.kind}_{self.rows}x{self.columns}_{in_name(self.element_type)}"

    @property
    def inputs(self) -> tuple[TensorType, ...]:
        """The matrix, rows x columns."""
        return (self.result,)

    @property
    def result(self) -> TensorType:
        """rows x columns."""
        return TensorType((self.rows, self.columns), self.element_type)

    @property
    def flops(self) -> float:
        """Five for each value."""
        return float(_FLOPS * self.rows * self.columns)

    @property
    def compute_type(self) -> str:
        """f32, whatever is stored."""
        return "f32"

    @property
    def tolerance(self) -> Tolerance:
        """That of a sum of a row."""
        return Tolerance("f32", self.columns)

    def check(self) -> None:
        """Raise UsageError for sizes below 1 and types that are not computed with."""
        check_sizes(self, "rows", "columns")
        check_type("element_type", self.element_type, WIDE)

    def build(self, inputs: Sequence[ir.Value]) -> ir.Value:
        """linalg's softmax, between conversions where values are stored in less than f32."""
        shape = self.result.shape
        out = empty(shape, "f32")
        found = SoftmaxOp([out.type], retyped(inputs[0], "f32"), out, 1).result[0]
        return retyped(found, self.element_type)

    def compute(self, ops: Primitives[T], inputs: Sequence[T]) -> T:
        """A softmax."""
        return ops.cast(ops.softmax(inputs[0], 1), self.element_type)
