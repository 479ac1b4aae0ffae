"""The interface of all operations of the suite, and the functions that a library must offer to compute them.

These are written once for each library, so that an operation is written once for all of them. A primitive
that a library does not have for these types raises `CannotError`, which is a result: it says what is missing,
and the rest goes on.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Protocol, TypeVar, get_args

from iree.compiler import ir

from iree_tuner.errors import UsageError
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.tolerance import Tolerance

T = TypeVar("T")
"""A library's tensor, or its node of a graph."""

Unary = Literal[
    "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "exp", "sqrt", "rsqrt", "abs", "negate"
]
Binary = Literal["add", "subtract", "multiply", "divide", "maximum", "minimum"]
Reduction = Literal["sum", "max", "min", "mean"]


class CannotError(Exception):
    """A back end cannot do an operation; the message says what is missing, in one line."""


Direction = Literal["forward", "data", "weights"]


@dataclass(frozen=True)
class ConvLayer:
    """A convolution of a neural network, or one of its gradients; all of 1 to 3 spatial dimensions."""

    # `forward`: of images and filters; `data`: the images' gradient, from the result's gradient and the
    # filters; `weights`: the filters' gradient, from the result's gradient and the images
    direction: Direction
    # image, kernel: sizes of the convolved images and of the filters
    image: tuple[int, ...]
    kernel: tuple[int, ...]
    # strides, padding, dilations: of each dimension; padding is zeros on both sides
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilations: tuple[int, ...]
    groups: int  # of channels, each with filters of its own

    @property
    def results(self) -> tuple[int, ...]:
        """Spatial sizes of the convolution's result."""
        each = zip(self.image, self.kernel, self.strides, self.padding, self.dilations, strict=True)
        return tuple(
            (size + 2 * pad - dilation * (taps - 1) - 1) // stride + 1
            for size, taps, stride, pad, dilation in each
        )


V = TypeVar("V")
UNARY, BINARY = get_args(Unary), get_args(Binary)


def chained(
    functions: Iterable[str], x: V, others: Iterable[V], unary: Callable[[Any, V], V],
    binary: Callable[[Any, V, V], V],
) -> V:  # fmt: skip
    """Functions one after the other; those of two values take a further one as the second."""
    left = iter(others)
    for each in functions:
        x = binary(each, x, next(left)) if each in BINARY else unary(each, x)
    return x


class Primitives(Protocol[T]):
    """Functions on tensors. Types are MLIR's names; shapes are row-major.

    Results of `matmul`, `layer`, `attention` and `reduce` may have more precision than was asked for,
    never less; `cast` ends an operation.
    """

    def cast(self, x: T, element_type: str) -> T:
        """Other elements; floats are rounded to nearest, integers saturate where they come from floats."""
        ...

    def transpose(self, x: T, order: Sequence[int]) -> T:
        """Dimension `i` of the result is `order[i]` of `x`; a view where the library has them."""
        ...

    def reshape(self, x: T, shape: Sequence[int]) -> T:
        """The same elements in another shape."""
        ...

    def matmul(self, a: T, b: T, element_type: str) -> T:
        """`a @ b` over the last two dimensions, the others equal; of this type or a more precise one."""
        ...

    def layer(self, layer: ConvLayer, lhs: T, rhs: T, element_type: str) -> T:
        """A convolution of any direction, of this type or a more precise one.

        Operands are in the direction's order: batch (or filters), channels, then the spatial dimensions.
        """
        ...

    def attention(self, q: T, k: T, v: T, mask: T | None, causal: bool, scale: float) -> T:
        """softmax(scale q k^T + mask) v.

        Args:
            q: batch x heads x queries x size.
            k, v: batch x key heads x keys x size; heads are a multiple of key heads (grouped-query).
            mask: broadcast over batch and heads: queries x keys, added to the scores; None for none.
            causal: query i sees keys up to i + keys - queries.
            scale: of the scores.
        """
        ...

    def softmax(self, x: T, axis: int) -> T:
        """Along an axis, computed from differences to the largest element."""
        ...

    def reduce(self, kind: Reduction, x: T, axes: Sequence[int], element_type: str) -> T:
        """Over axes, which vanish; of this type or a more precise one."""
        ...

    def unary(self, kind: Unary, x: T) -> T:
        """Element by element."""
        ...

    def binary(self, kind: Binary, a: T, b: T) -> T:
        """Element by element; shapes are broadcast as NumPy does."""
        ...


def reordered(ops: Primitives[T], x: T, layout: str, wanted: str) -> T:
    """A tensor whose dimensions have these letters, with them in another order."""
    return x if layout == wanted else ops.transpose(x, [layout.index(each) for each in wanted])


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


def check_choice(operation: Operation, name: str, known: Iterable[str]) -> None:
    """Raise UsageError for a field with another value than these."""
    value, known = operation.arguments[name], tuple(known)
    if value not in known:
        raise UsageError(f"{name}: '{value}' is not one of {', '.join(known)}")


def to_json(operation: Operation) -> dict[str, Any]:
    """Kind and arguments, JSON-ready; `kinds.registry.operation_of` reads them."""
    return {"kind": operation.kind, "arguments": operation.arguments}
