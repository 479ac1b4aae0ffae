"""Dispatches as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from iree_tuner.ops.workload import Workload
from iree_tuner.targets import CpuLimits, Limits

OP_TAG = "iree_tuner_op"
"""Attribute that carries an op's label (`root`, `companion_0`) in a harness."""

Access = Literal["read", "write", "read_write"]


@dataclass(frozen=True)
class Calls:
    """How often one invocation of the program runs a dispatch.

    Attributes:
        count: call sites reached from the program's entry functions; a site in a loop counts as one.
        in_loop: whether any of them is in a loop, so that the count is a lower bound.
    """

    count: int
    in_loop: bool = False


@dataclass(frozen=True)
class TensorSlice:
    """A tensor in a binding: `offset` in bytes from the binding's start."""

    offset: int
    shape: tuple[int, ...]
    element_type: str
    access: Access


@dataclass(frozen=True)
class Binding:
    """One buffer of a dispatch, as a range of the harness's single buffer, in bytes."""

    offset: int
    length: int
    tensors: tuple[TensorSlice, ...]


_PAGE = 4096
_GUARD = 256  # bytes behind the last binding that nobody may write


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
    """

    module: bytes
    function: str
    buffer_bytes: int
    bindings: tuple[Binding, ...]

    @property
    def stride(self) -> int:
        """Bytes from one copy of the bindings to the next."""
        return stride_of(self.buffer_bytes)


@dataclass(frozen=True)
class Dispatch:
    """One executable entry point of a program.

    Attributes:
        name: the export's name, which the compiler derives from the program.
        calls: how often the program runs it.
        workload: its root op, or None with the `reason` why it cannot be tuned.
        harness: how to run it alone; None when it depends on sizes known only at run time.
        default: the lowering config that the compiler picks for the root op, printed.
        decomposition: what it picks for the two matrix multiplications of an attention, printed.
        pipeline: the translation info that the compiler picks, printed.
        limits: what the target can hold.
    """

    name: str
    calls: Calls
    workload: Workload | None
    reason: str = ""
    harness: Harness | None = None
    default: str = ""
    pipeline: str = ""
    limits: Limits = field(default_factory=CpuLimits)
    decomposition: str = ""

    @property
    def tunable(self) -> bool:
        """Whether there is a workload to tune and a way to run it."""
        return self.workload is not None and self.harness is not None
