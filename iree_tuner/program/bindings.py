"""A dispatch that can be run, as data: all that the measuring worker needs, without the compiler.

Fold the integer arithmetic by which a dispatch finds its tensors in its bindings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from iree.compiler import ir

from iree_tuner.ops.extents import quotient
from iree_tuner.program.valid.interval import Interval

OP_TAG = "iree_tuner_op"
"""Attribute that carries an op's label (`root`, `companion_0`) in a harness."""

Access = Literal["read", "write", "read_write"]


@dataclass(frozen=True)
class TensorSlice:
    """A tensor in a binding: `offset` in bytes from the binding's start.

    Its `values` are what the dispatch's uses of it allow; None where they say nothing.
    """

    offset: int
    shape: tuple[int, ...]
    element_type: str
    access: Access
    values: Interval | None = None


@dataclass(frozen=True)
class Binding:
    """One buffer of a dispatch, as a range of the harness's single buffer, in bytes."""

    offset: int
    length: int
    tensors: tuple[TensorSlice, ...]


_PAGE = 4096
_GUARD = 256  # bytes behind the last binding that must not be written


def stride_of(buffer_bytes: int) -> int:
    """Bytes from one copy of a harness's bindings to the next: whole pages, with a guard behind the last."""
    return -(-(buffer_bytes + _GUARD) // _PAGE) * _PAGE


@dataclass(frozen=True)
class Harness:
    """A module that runs one dispatch `n` times.

    `function(n: i32, copies: i32, first: i32, buffer: !hal.buffer)`: iteration i uses copy
    `(first + i) mod copies` of all bindings; copies lie `stride` bytes apart, and there is at least one.

    Attributes:
        module: bytecode; the dispatch is as tuning specs see it, its ops tagged with `OP_TAG`.
        function: the exported function.
        buffer_bytes: size of one copy of all bindings.
        bindings: where they are in it.
        inputs: of a problem alone, which binding each of its inputs is; empty where they have its order.
        bounded: whether a function limits results after they are summed (`ops.bounded`).
        unclear: ops through which indices could not be followed to the dispatch's inputs, so that generated
            ones may be invalid.
    """

    module: bytes
    function: str
    buffer_bytes: int
    bindings: tuple[Binding, ...]
    inputs: tuple[int, ...] = ()
    bounded: bool = False
    unclear: tuple[str, ...] = ()

    @property
    def stride(self) -> int:
        """Bytes from one copy of the bindings to the next."""
        return stride_of(self.buffer_bytes)


_SAME = (
    "arith.index_cast", "arith.index_castui", "arith.extui", "arith.extsi", "arith.trunci",
    "iree_tensor_ext.dispatch.workload.ordinal",
)  # fmt: skip
_BINARY: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.minsi": min,
    "arith.minui": min,
    "arith.maxsi": max,
    "arith.maxui": max,
    "arith.muli": lambda a, b: a * b,
    "arith.shli": lambda a, b: a << b,
    "arith.ori": lambda a, b: a | b,
}


def fold(value: ir.Value, constants: Sequence[int] | None) -> int | None:
    """The value of an integer, given the dispatch's push constants, if known; None when it is not."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    op = owner.operation
    if op.name == "arith.constant":
        return ir.IntegerAttr(op.attributes["value"]).value
    if op.name == "hal.interface.constant.load":
        return None if constants is None else constants[ir.IntegerAttr(op.attributes["ordinal"]).value]
    if op.name in _SAME:
        return fold(op.operands[0], constants)
    if op.name == "util.assume.int":
        return fold(op.operands[ir.OpResult(value).result_number], constants)
    divided = quotient(op)
    if divided is not None:
        dividend = fold(divided[0], constants)
        return None if dividend is None else dividend // divided[1]
    if op.name in _BINARY:
        left, right = (fold(operand, constants) for operand in op.operands)
        return None if left is None or right is None else _BINARY[op.name](left, right)
    return None
