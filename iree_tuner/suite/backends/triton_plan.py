"""Which Triton kernels compute an operation, and in what order. Imported only where Triton computes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from iree_tuner.ops.element_type import ElementType
from iree_tuner.suite.backends import triton_launches as launches
from iree_tuner.suite.backends.recorded import Node
from iree_tuner.suite.backends.torch_primitives import Tensor, torch, type_of
from iree_tuner.suite.backends.triton_launches import Epilogue, three
from iree_tuner.suite.primitives import CannotError

_FUNCTIONS = frozenset(
    ("relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "exp", "sqrt", "rsqrt", "abs", "negate")
)
_COMBINED = frozenset(("add", "subtract", "multiply", "divide", "maximum", "minimum"))
_ORDERED = frozenset(("subtract", "divide"))
_TYPES = frozenset(("f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i32", "i8"))
_EXTRAS = 3
"""Tensors that a chain can take in addition to its own."""

Launch = Callable[[], object]


@dataclass
class Plan:
    """Kernels with the tensors that they read and write.

    Attributes:
        inputs: of the operation.
        buffers: what is written, in the order of the kernels; those of an earlier plan are used again.
        launches: start the kernels, in order.
        result: of the operation; later runs overwrite it.
    """

    inputs: Sequence[Tensor]
    buffers: list[Tensor]
    launches: list[Launch] = field(default_factory=list[Launch])
    result: Tensor = None
    _given: int = 0
    _made: dict[int, Tensor] = field(default_factory=dict[int, Tensor])

    def run(self) -> Tensor:
        """Start all kernels; the result."""
        for launch in self.launches:
            launch()
        return self.result

    def make(self, node: Node) -> Tensor:
        """The tensor of a node, and the launches that fill it. Raises CannotError."""
        found = self._made.get(id(node))
        if found is None:
            found = self._made[id(node)] = self._make(node)
        return found

    def _make(self, node: Node) -> Tensor:
        device = self.inputs[0].device
        if node.element_type not in _TYPES:
            raise CannotError(f"iree-tuner has no Triton kernel for {node.element_type}")
        match node.primitive:
            case "input":
                return self.inputs[node.facts["number"]]
            case "constant":
                return torch.full((), node.facts["value"], dtype=type_of(node.element_type), device=device)
            case "transpose":
                return self.make(node.operands[0]).permute(node.facts["order"])
            case "reshape":
                return _viewed(self.make(node.operands[0]), node.shape)
            case _:
                return self._computed(node)

    def _computed(self, node: Node) -> Tensor:
        base, steps = _unwound(node)
        epilogue = self._epilogue(node, steps)
        match base.primitive:
            case "matmul":
                a, b = (self.make(each) for each in base.operands)
                return self._launched(node, lambda out: launches.gemm(a, b, epilogue, out))
            case "attention" | "softmax" | "sum" | "mean" | "max" | "min" if not steps:
                return self._alone(base, node)
            case "convolution":
                raise CannotError("iree-tuner has no Triton kernel for convolutions")
            case _:
                x = self.make(base)
                return self._launched(node, lambda out: launches.chain(x, epilogue, out))

    def _alone(self, base: Node, node: Node) -> Tensor:
        """A node whose only epilogue is the conversion to its type."""
        operands = [self.make(each) for each in base.operands]
        match base.primitive:
            case "attention":
                causal, scale = base.facts["causal"], base.facts["scale"]
                return self._launched(node, lambda out: launches.attention(operands, causal, scale, out))
            case "softmax":
                if base.facts["axis"] != len(base.shape) - 1:
                    raise CannotError(
                        "iree-tuner has no Triton kernel for a softmax along any but the last axis"
                    )
                return self._launched(node, lambda out: launches.softmax(operands[0], out))
            case _:
                return self._reduced(base, operands[0], node)

    def _reduced(self, base: Node, x: Tensor, node: Node) -> Tensor:
        """In two kernels where one would have too few programs: parts first."""
        axes = base.facts["axes"]
        if axes != tuple(range(axes[0], axes[0] + len(axes))):
            raise CannotError("iree-tuner has no Triton kernel for reductions of non-adjacent axes")
        if not x.is_contiguous():
            raise CannotError("iree-tuner has no Triton kernel for reductions of transposed tensors")
        outer, inner = math.prod(x.shape[: axes[0]]), math.prod(x.shape[axes[-1] + 1 :])
        length = math.prod(x.shape[axis] for axis in axes)
        kind = "sum" if base.primitive == "mean" else base.primitive
        parts = launches.parts_of(outer, length, inner)
        if parts > 1:
            sums = "i32" if ElementType.named(base.element_type).is_integer else "f32"
            whole = x.view(outer * parts, length // parts, inner)
            x = self._buffer((outer, parts, inner), sums)
            self.launches.append(launches.reduced(whole, kind, 1.0, x))
        factor = 1.0 / length if base.primitive == "mean" else 1.0
        last = x.view(outer, parts if parts > 1 else length, inner)
        return self._launched(node, lambda out: launches.reduced(last, kind, factor, out))

    def _launched(self, node: Node, make: Callable[[Tensor], Launch]) -> Tensor:
        out = self._buffer(node.shape, node.element_type)
        self.launches.append(make(out))
        return out

    def _buffer(self, shape: tuple[int, ...], element_type: str) -> Tensor:
        if self._given == len(self.buffers):
            made = torch.empty(shape, dtype=type_of(element_type), device=self.inputs[0].device)
            self.buffers.append(made)
        self._given += 1
        return self.buffers[self._given - 1]

    def _epilogue(self, node: Node, steps: Sequence[tuple[str, Node | None]]) -> Epilogue:
        names: list[str] = []
        slots: list[int] = []
        extras: list[Tensor] = []
        strides: list[int] = []
        for name, other in steps:
            names.append(name)
            slots.append(-1 if other is None else len(extras))
            if other is not None:
                tensor = self.make(other)
                extras.append(tensor)
                strides += three(tensor, node.shape)[1]
        if len(extras) > _EXTRAS:
            raise CannotError(f"iree-tuner has no Triton kernel for a chain with {len(extras)} more operands")
        return Epilogue(tuple(names), tuple(slots), tuple(strides), tuple(extras))


def plans_of(node: Node, copies: Sequence[Sequence[Tensor]]) -> list[Plan]:
    """A plan of an operation for each copy of its inputs, all with the same buffers. Raises CannotError."""
    buffers: list[Tensor] = []
    plans = [Plan(inputs, buffers) for inputs in copies]
    for each in plans:
        each.result = each.make(node)
    return plans


def _unwound(node: Node) -> tuple[Node, list[tuple[str, Node | None]]]:
    """The input of a chain of functions, and its steps, each with its other operand.

    The conversion to the type of the result is none of them: it is made when the result is stored.
    """
    steps: list[tuple[str, Node | None]] = []
    each = node.operands[0] if node.primitive == "cast" and _stores(node) else node
    while True:
        if each.primitive in _FUNCTIONS:
            _check_floats(each)
            steps.append((each.primitive, None))
            each = each.operands[0]
        elif each.primitive == "cast":
            steps.append((_rounding(each), None))
            each = each.operands[0]
        elif each.primitive in _COMBINED:
            a, b = each.operands
            swapped = math.prod(a.shape) < math.prod(each.shape)
            if math.prod((b if swapped else a).shape) < math.prod(each.shape):
                raise CannotError("iree-tuner has no Triton kernel for operands that are both broadcast")
            if each.primitive == "divide":
                _check_floats(each)
            name = f"{each.primitive}_swapped" if swapped and each.primitive in _ORDERED else each.primitive
            steps.append((name, a if swapped else b))
            each = b if swapped else a
        else:
            return each, steps[::-1]


def _stores(cast: Node) -> bool:
    """Whether what computes the operand of a conversion can store its result converted."""
    integers = ElementType.named(cast.element_type).is_integer
    return not integers or ElementType.named(cast.operands[0].element_type).is_integer


def _rounding(cast: Node) -> str:
    if cast.element_type not in ("f32", "f16", "bf16"):
        raise CannotError(f"iree-tuner has no Triton kernel that rounds to {cast.element_type} on the way")
    return f"to_{cast.element_type}"


def _check_floats(node: Node) -> None:
    integers = ElementType.named(node.element_type).is_integer
    if integers and node.primitive not in ("relu", "abs", "negate"):
        raise CannotError(f"iree-tuner has no Triton kernel for {node.primitive} of integers")


def _viewed(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    try:
        return x.view(shape)
    except RuntimeError:
        raise CannotError("iree-tuner has no Triton kernel for a reshape that moves elements") from None
