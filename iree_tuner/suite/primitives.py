"""The functions that a library must offer to compute operations.

Written once for each library, so that an operation is written once for all of them. A primitive that a
library does not have for these types raises `CannotError`, which is a result: it says what is missing, and
the rest goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

T = TypeVar("T")
"""A library's tensor, or its node of a graph."""

Unary = Literal[
    "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "exp", "sqrt", "rsqrt", "abs", "negate"
]
Binary = Literal["add", "subtract", "multiply", "divide", "maximum", "minimum"]
Reduction = Literal["sum", "max", "min", "mean"]
ImageLayout = Literal["nhwc", "nchw"]
FilterLayout = Literal["hwcf", "fchw", "fhwc"]
Layouts = tuple[ImageLayout, FilterLayout]

FILTER_AXES: dict[FilterLayout, tuple[int, ...]] = {
    "hwcf": (3, 2, 0, 1), "fchw": (0, 1, 2, 3), "fhwc": (0, 3, 1, 2),
}  # fmt: skip
"""Where filters have their filter, channel, height and width."""

TO_NCHW, TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


class CannotError(Exception):
    """A back end cannot do an operation; the message says what is missing, in one line."""


@dataclass(frozen=True)
class Window:
    """How a convolution goes over its image, which contains its padding."""

    # strides, dilations: of height and width
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    groups: int = 1  # of channels, each with its own filters; one a channel: depthwise

    def results(self, image: Sequence[int], kernel: Sequence[int]) -> tuple[int, ...]:
        return _results(image, kernel, self.strides, self.dilations)


def _results(
    image: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[int, ...]:
    each = zip(image, kernel, strides, dilations, strict=True)
    return tuple((size - dilation * (taps - 1) - 1) // stride + 1 for size, taps, stride, dilation in each)


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
        padded = [size + 2 * pad for size, pad in zip(self.image, self.padding, strict=True)]
        return _results(padded, self.kernel, self.strides, self.dilations)


class Primitives(Protocol[T]):
    """Functions on tensors. Types are MLIR's names; shapes are row-major.

    Results of `matmul`, `convolution`, `attention` and `reduce` may have more precision than was asked for,
    never less; `cast` ends an operation.
    """

    def cast(self, x: T, element_type: str) -> T:
        """Other elements; floats are rounded to nearest, integers saturate where they come from floats."""

    def constant(self, value: float, like: T) -> T:
        """A number, of the element type of another tensor."""

    def transpose(self, x: T, order: Sequence[int]) -> T:
        """Dimension `i` of the result is `order[i]` of `x`; a view where the library has them."""

    def reshape(self, x: T, shape: Sequence[int]) -> T:
        """The same elements in another shape."""

    def matmul(self, a: T, b: T, element_type: str) -> T:
        """`a @ b` over the last two dimensions, the others equal; of this type or a more precise one."""

    def convolution(self, image: T, filters: T, window: Window, layouts: Layouts, element_type: str) -> T:
        """A 2-D convolution, its result laid out as the image; filters have channels / groups channels."""

    def layer(self, layer: ConvLayer, lhs: T, rhs: T, element_type: str) -> T:
        """A convolution of any direction, of this type or a more precise one.

        Operands are in the direction's order: batch (or filters), channels, then the spatial dimensions.
        """

    def attention(self, q: T, k: T, v: T, mask: T | None, causal: bool, scale: float) -> T:
        """softmax(scale q k^T + mask) v.

        Args:
            q: batch x heads x queries x size.
            k, v: batch x key heads x keys x size; heads are a multiple of key heads (grouped-query).
            mask: broadcast over batch and heads: queries x keys, added to the scores; None for none.
            causal: query i sees keys up to i + keys - queries.
            scale: of the scores.
        """

    def softmax(self, x: T, axis: int) -> T:
        """Along an axis, computed from differences to the largest element."""

    def reduce(self, kind: Reduction, x: T, axes: Sequence[int], element_type: str) -> T:
        """Over axes, which vanish; of this type or a more precise one."""

    def unary(self, kind: Unary, x: T) -> T:
        """Element by element."""

    def binary(self, kind: Binary, a: T, b: T) -> T:
        """Element by element; shapes are broadcast as NumPy does."""
