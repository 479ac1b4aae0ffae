"""The steps on the sums of a product or convolution before they are stored, as one elementwise op.

Steps are named, joined by `+`: `bias+relu`. They are computed in the type of the sums, or in f32 where sums
are integers and the result is not, and rounded once, to the result's type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.errors import UsageError, did_you_mean
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.suite import tensors
from iree_tuner.suite.operation import Primitives, T, TensorType, chained
from iree_tuner.suite.tensors import INTEGERS, WIDE, element, elementwise, shape_of

FUNCTIONS = ("relu", "gelu", "gelu_tanh", "silu")
ADDED = ("bias", "residual")
_OF_INTEGERS = ("relu", *ADDED)
_ROUNDINGS = 4  # counted as this many factors: 1.5 epsilons of the largest result


@dataclass(frozen=True)
class Epilogue:
    """Steps behind sums."""

    steps: tuple[str, ...]  # names, in order
    result: TensorType  # what is given in the end
    channel: int  # the dimension of the result that a bias runs along

    def check(self) -> None:
        for each in self.steps:
            known = (*FUNCTIONS, *ADDED)
            if each not in known:
                raise UsageError(f"epilogue: unknown step '{each}'", hint=did_you_mean(each, known))
            if self.result.element_type in INTEGERS and each not in _OF_INTEGERS:
                raise UsageError(f"epilogue: {each} does not support results of {self.result.element_type}")

    @property
    def inputs(self) -> tuple[TensorType, ...]:
        """Its operands other than the sums, in the order of the steps, of the result's type."""
        kind, channels = self.result.element_type, self.result.shape[self.channel]
        shapes = {"bias": (channels,), "residual": self.result.shape}
        return tuple(TensorType(shapes[each], kind) for each in self.steps if each in shapes)

    @property
    def flops(self) -> float:
        return float(len(self.steps) * math.prod(self.result.shape))

    def tolerance(self, held: str, length: int) -> Tolerance:
        """That of sums of `length` values, held in a type.

        Libraries round sums to the result's type before the steps. The error is relative to the
        largest sum and not to the result, as for rounded factors.
        """
        if not self.steps or self.result.element_type not in WIDE:
            return Tolerance(held, length)
        return Tolerance(held, length, self.result.element_type, _ROUNDINGS)

    def build(self, sums: ir.Value, extras: Sequence[ir.Value]) -> ir.Value:
        """The result from sums of its shape; they themselves where nothing is to be done with them."""
        out, kind = element(self.result.element_type), ir.RankedTensorType(sums.type).element_type
        if not self.steps and out == kind:
            return sums
        integers = isinstance(kind, ir.IntegerType)
        work = ir.F32Type.get() if integers and not isinstance(out, ir.IntegerType) else kind
        every = range(len(shape_of(sums)))
        places = {1: (self.channel,), len(every): every}
        operands = [(sums, every), *((each, places[len(shape_of(each))]) for each in extras)]

        def added(kind: str, x: ir.Value, other: ir.Value) -> ir.Value:
            return tensors.binary(kind, x, tensors.converted(other, work))

        def body(x: ir.Value, *others: ir.Value) -> ir.Value:
            x = chained(self._functions, tensors.converted(x, work), others, tensors.unary, added)
            return tensors.converted(x, out)

        return elementwise(operands, self.result, body)

    def asked(self, sums: str) -> str:
        """The type that a library's sums need at least, where they are held in `sums`."""
        out = self.result.element_type
        return sums if sums in INTEGERS or out not in WIDE else out

    def compute(self, ops: Primitives[T], sums: T, held: str, extras: Sequence[T]) -> T:
        """The same by a library's primitives, of sums that are held in a type."""
        if held in INTEGERS and self.result.element_type not in INTEGERS:
            sums = ops.cast(sums, "f32")
        behind = len(self.result.shape) - 1 - self.channel
        added = [
            ops.reshape(each, (*kind.shape, *[1] * behind)) if behind and len(kind.shape) == 1 else each
            for each, kind in zip(extras, self.inputs, strict=True)
        ]
        sums = chained(self._functions, sums, added, ops.unary, ops.binary)
        return ops.cast(sums, self.result.element_type)

    @property
    def _functions(self) -> list[str]:
        """The steps by the names of functions."""
        return ["add" if each in ADDED else each for each in self.steps]


def steps_of(text: str) -> tuple[str, ...]:
    """`bias+relu` as its steps; none of an empty text."""
    return tuple(text.split("+")) if text else ()


def in_name(text: str) -> str:
    """As names of operations end with it: `_bias_relu`."""
    return "".join(f"_{each}" for each in steps_of(text))
