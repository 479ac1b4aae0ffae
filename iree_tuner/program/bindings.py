"""A dispatch that can be run, as data: all that the measuring worker needs, without the compiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from iree_tuner.program.valid.interval import Interval

OP_TAG = "iree_tuner_op"
"""Attribute that carries an op's label (`root`, `companion_0`) in a harness."""

Access = Literal["read", "write", "read_write"]


@dataclass(frozen=True)
class TensorSlice:
    """A tensor in a binding: `offset` in bytes from the binding's start.

    `values` are those that the dispatch's uses of it allow, if these restrict it.
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
    """A module (bytecode) that runs one dispatch `n` times, as tuning specs see it, ops tagged with `OP_TAG`.

    `function(n: i32, copies: i32, first: i32, buffer: !hal.buffer)`: iteration i uses copy `(first + i) mod
    copies` of all bindings; copies lie `stride` bytes apart, and there is at least one.
    """

    module: bytes
    function: str
    buffer_bytes: int  # size of one copy of all bindings; `bindings` are their places in it
    bindings: tuple[Binding, ...]
    # for a problem alone, the binding of each input; empty if they are in the same order
    inputs: tuple[int, ...] = ()
    # whether a function limits results after they are summed (`ops.scalar_body.bounds_sums`)
    bounded: bool = False
    # ops through which indices could not be followed to the dispatch's inputs, so that generated ones may be
    # invalid
    unclear: tuple[str, ...] = ()

    @property
    def stride(self) -> int:
        return stride_of(self.buffer_bytes)
