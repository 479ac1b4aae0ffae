"""Operations recorded as nodes, for back ends that look at several primitives before they compute one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from iree_tuner.ops.element_type import ElementType
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.primitives import Binary, FilterLayout, ImageLayout, Layer, Reduction, Unary, Window


@dataclass(frozen=True, eq=False)
class Node:
    """The result of a primitive.

    Attributes:
        primitive: its name; `input` for an input of the operation. Of `unary`, `binary` and `reduce`
            the name of the function.
        shape: sizes.
        element_type: MLIR's name; of products and attention the type of their sums.
        operands: nodes that it takes.
        facts: its other arguments.
    """

    primitive: str
    shape: tuple[int, ...]
    element_type: str
    operands: tuple[Node, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])


def record(operation: Operation) -> Node:
    """The node of an operation's result; inputs have their `number` as a fact."""
    inputs = [
        Node("input", each.shape, each.element_type, facts={"number": number})
        for number, each in enumerate(operation.inputs)
    ]
    return operation.compute(Recorder(), inputs)


class Recorder:
    """Makes nodes; `Primitives[Node]`."""

    def cast(self, x: Node, element_type: str) -> Node:
        """The same node where it is of this type."""
        return x if x.element_type == element_type else Node("cast", x.shape, element_type, (x,))

    def constant(self, value: float, like: Node) -> Node:
        """A number, as a fact `value`."""
        return Node("constant", (), like.element_type, facts={"value": value})

    def transpose(self, x: Node, order: Sequence[int]) -> Node:
        """Its `order` is a fact."""
        shape = tuple(x.shape[axis] for axis in order)
        return Node("transpose", shape, x.element_type, (x,), {"order": tuple(order)})

    def reshape(self, x: Node, shape: Sequence[int]) -> Node:
        """The shape is the node's."""
        return Node("reshape", tuple(shape), x.element_type, (x,))

    def matmul(self, a: Node, b: Node, element_type: str) -> Node:
        """Of the type of its sums."""
        del element_type
        return Node("matmul", (*a.shape[:-1], b.shape[-1]), _sums(a), (a, b))

    def convolution(
        self,
        image: Node,
        filters: Node,
        window: Window,
        layouts: tuple[ImageLayout, FilterLayout],
        element_type: str,
    ) -> Node:
        """Of the type of its sums, of the image's shape; that is not computed from the window."""
        del element_type
        facts = {"window": window, "layouts": layouts}
        return Node("convolution", image.shape, _sums(image), (image, filters), facts)

    def layer(self, layer: Layer, lhs: Node, rhs: Node, element_type: str) -> Node:
        """Of the type of its sums, of the left operand's shape; that is not computed."""
        del element_type
        return Node("layer", lhs.shape, _sums(lhs), (lhs, rhs), {"layer": layer})

    def attention(self, q: Node, k: Node, v: Node, mask: Node | None, causal: bool, scale: float) -> Node:
        """A mask is the fourth operand."""
        operands = (q, k, v) if mask is None else (q, k, v, mask)
        shape = (*q.shape[:3], v.shape[3])
        return Node("attention", shape, _sums(v), operands, {"causal": causal, "scale": scale})

    def softmax(self, x: Node, axis: int) -> Node:
        """Its `axis` counts from the first."""
        return Node("softmax", x.shape, x.element_type, (x,), {"axis": axis % len(x.shape)})

    def reduce(self, kind: Reduction, x: Node, axes: Sequence[int], element_type: str) -> Node:
        """Its `axes` count from the first and are sorted; of the type that is asked for, or a wider one."""
        gone = sorted({axis % len(x.shape) for axis in axes})
        shape = tuple(size for axis, size in enumerate(x.shape) if axis not in gone)
        exact = kind in ("max", "min") or _width(element_type) <= _width(x.element_type)
        return Node(kind, shape, x.element_type if exact else element_type, (x,), {"axes": tuple(gone)})

    def unary(self, kind: Unary, x: Node) -> Node:
        """Of the operand's type."""
        return Node(kind, x.shape, x.element_type, (x,))

    def binary(self, kind: Binary, a: Node, b: Node) -> Node:
        """Of the wider operand's type."""
        wide = a if _width(a.element_type) >= _width(b.element_type) else b
        return Node(kind, np.broadcast_shapes(a.shape, b.shape), wide.element_type, (a, b))


def _sums(x: Node) -> str:
    if ElementType.named(x.element_type).is_integer:
        return "i32"
    return "f64" if x.element_type == "f64" else "f32"


def _width(element_type: str) -> int:
    return ElementType.named(element_type).bits
