"""Chains of functions, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir

from iree_tuner.errors import UsageError, did_you_mean
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.suite import tensors
from iree_tuner.suite.operation import (
    BINARY,
    UNARY,
    Operation,
    Primitives,
    T,
    TensorType,
    chained,
    check_sizes,
)
from iree_tuner.suite.tensors import WIDE, check_type, element, elementwise, in_name

_ROOTS = ("sqrt", "rsqrt")
_OF_POSITIVE = (*_ROOTS, "divide")
_SIGNED, _UNSIGNED = ("subtract", "negate"), ("abs", "exp", "sigmoid")


@dataclass(frozen=True, kw_only=True)
class Elementwise(Operation):
    """Functions one after the other, of matrices of one size, in f32."""

    kind: ClassVar[str] = "elementwise"

    # names of functions, joined by `+`, as `add+relu+multiply`: each takes the previous result, the first one
    # the first input, and functions of two values take a further input as the second
    chain: str = "add"
    # rows, columns: sizes
    rows: int = 1024
    columns: int = 1024
    element_type: str = "f32"  # of all inputs and of the result

    @property
    def name(self) -> str:
        """As `elementwise_add_relu_1024x1024_f32`; `gelu_tanh` is not `gelu+tanh`."""
        functions = self.chain.replace("_", "").replace("+", "_")
        return f"{self.kind}_{functions}_{self.rows}x{self.columns}_{in_name(self.element_type)}"

    @property
    def inputs(self) -> tuple[TensorType, ...]:
        """One matrix, and one more for each function of two values."""
        return (self.result,) * (1 + sum(each in BINARY for each in self._functions))

    @property
    def result(self) -> TensorType:
        return TensorType((self.rows, self.columns), self.element_type)

    @property
    def flops(self) -> float:
        return float(len(self._functions) * self.rows * self.columns)

    @property
    def compute_type(self) -> str:
        """f32, whatever is stored."""
        return "f32"

    @property
    def tolerance(self) -> Tolerance:
        """That of as many roundings as functions, each to the element type, as libraries may do."""
        return Tolerance(self.element_type, len(self._functions))

    @property
    def positive(self) -> bool:
        """For roots and quotients."""
        return any(each in _OF_POSITIVE for each in self._functions)

    def check(self) -> None:
        check_sizes(self, "rows", "columns")
        check_type("element_type", self.element_type, WIDE)
        known = (*UNARY, *BINARY)
        signed = ""
        for each in self._functions:
            if each not in known:
                raise UsageError(f"chain: unknown function '{each}'", hint=did_you_mean(each, known))
            if each in _ROOTS and signed:
                raise UsageError(
                    f"chain: {each} requires positive values, but {signed} may return negative ones"
                )
            signed = each if each in _SIGNED else "" if each in _UNSIGNED else signed

    def build(self, inputs: Sequence[ir.Value]) -> ir.Value:
        """One generic op, in f32."""
        work, out = ir.F32Type.get(), element(self.element_type)

        def body(*elements: ir.Value) -> ir.Value:
            x, *others = (tensors.converted(each, work) for each in elements)
            x = chained(self._functions, x, others, tensors.unary, tensors.binary)
            return tensors.converted(x, out)

        return elementwise([(each, (0, 1)) for each in inputs], self.result, body)

    def compute(self, ops: Primitives[T], inputs: Sequence[T]) -> T:
        x = chained(self._functions, inputs[0], inputs[1:], ops.unary, ops.binary)
        return ops.cast(x, self.element_type)

    @property
    def _functions(self) -> tuple[str, ...]:
        return tuple(self.chain.split("+"))
