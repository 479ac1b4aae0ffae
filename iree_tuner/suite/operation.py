"""The interface of all operations of the suite."""

from __future__ import annotations

import difflib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from iree.compiler import ir

from iree_tuner.errors import UsageError
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.suite.primitives import Primitives, T

Value = int | float | str | bool
"""Of an argument."""


@dataclass(frozen=True)
class TensorType:
    """A tensor that an operation takes or gives."""

    shape: tuple[int, ...]  # sizes, row-major in memory
    element_type: str  # MLIR's name: f32, f16, bf16, f8E4M3FN, i8, i32

    @property
    def bytes(self) -> float:
        return math.prod(self.shape) * ElementType.named(self.element_type).bits / 8

    def __str__(self) -> str:
        return "x".join(map(str, (*self.shape, self.element_type)))


@dataclass(frozen=True, kw_only=True)
class Operation(ABC):
    """One operation with its sizes, types and layouts. A kind is a subclass whose fields are its arguments.

    Every field has plain data and a default, so that `arguments` and the kind's name describe the operation.
    Different operations have different names.
    """

    kind: ClassVar[str]
    """As in names, files and folders: matmul, batch_matmul, convolution, ..."""

    @classmethod
    def of_type(cls, element_type: str) -> dict[str, Value]:
        """The fields that make all of it of one type: what `types` of a sweep stands for."""
        return {"element_type": element_type}

    @property
    @abstractmethod
    def name(self) -> str:
        """Unique, from the arguments: as `matmul_768x512x1024_f16t_f16t_f16t`."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[TensorType, ...]:
        """Its inputs, in order."""

    @property
    @abstractmethod
    def result(self) -> TensorType:
        """Its result."""

    @property
    @abstractmethod
    def flops(self) -> float:
        """Arithmetic operations, a multiply-add as two, a function such as exp as one."""

    @property
    def compute_type(self) -> str:
        """Type of the elements that are multiplied or combined: its peak bounds the operation."""
        return str(self.arguments["element_type"])

    @property
    @abstractmethod
    def tolerance(self) -> Tolerance:
        """How much two right results may differ (docs/numerics.md)."""

    @abstractmethod
    def check(self) -> None:
        """Raise UsageError for impossible arguments: sizes below 1, groups that do not divide."""

    @abstractmethod
    def build(self, inputs: Sequence[ir.Value]) -> ir.Value:
        """Its IR, at the current insertion point, in the current context and location."""

    @abstractmethod
    def compute(self, ops: Primitives[T], inputs: Sequence[T]) -> T:
        """The operation by a library's primitives; the result has the type of `result`."""

    @property
    def positive(self) -> bool:
        """Whether its inputs have to be positive, as for roots and logarithms; signed otherwise."""
        return False

    @property
    def arguments(self) -> dict[str, Value]:
        """The fields, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def bytes(self) -> float:
        """Least bytes that it reads and writes: each input once, and the result."""
        return sum(each.bytes for each in (*self.inputs, self.result))


def check_sizes(operation: Operation, *names: str) -> None:
    """Raise UsageError for a field that is below 1."""
    for name in names:
        value = operation.arguments[name]
        if isinstance(value, int) and value < 1:
            raise UsageError(f"{name} must be at least 1, but is {value}")


def to_json(operation: Operation) -> dict[str, Any]:
    """Kind and arguments, JSON-ready; `kinds.registry.operation_of` reads them."""
    return {"kind": operation.kind, "arguments": operation.arguments}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The most similar known name, in any case, or all of them: a hint about a wrong name."""
    every = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), every, 1)
    return f"did you mean {every[close[0]]}?" if close else f"one of: {', '.join(every.values())}"
