"""How `check.check_program` sees a buffer, for code that builds it and for code that runs it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from iree_tuner.device.data import dtype_of, span, written
from iree_tuner.program.bindings import Binding

CHECK, SURVEY, ALLOW = "check", "survey", "allow"
"""The functions that the program exports; see `check.check_program`."""

TERMS = 8
"""Numbers that `allow` takes of each output."""

_SAMPLED = 1_000_003  # values that a median is taken of, evenly spaced

WORD = 4
"""Bytes that are compared at once; buffers are whole pages."""

_LONGEST_ROW = 4096
_FLOATS = ("f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")


@dataclass(frozen=True)
class FloatOutput:
    """An output of floats, as rows.

    Attributes:
        number: among the tensors that are written.
        start: of its first byte in the buffer.
        rows, columns: their product is its number of elements.
        element_type: MLIR's name of it.
    """

    number: int
    start: int
    rows: int
    columns: int
    element_type: str

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.rows * self.columns


def float_outputs(bindings: Sequence[Binding]) -> tuple[FloatOutput, ...] | None:
    """The outputs whose floats are compared; None where one has a type that this program cannot compare."""
    found: list[FloatOutput] = []
    for number, (binding, each, _) in enumerate(written(bindings)):
        dtype = dtype_of(each.element_type)
        if dtype is not None and dtype.kind == "i":
            continue
        if each.element_type not in _FLOATS:
            return None
        size = math.prod(each.shape)
        columns = _longest_row(size)
        start, _ = span(binding, each)
        found.append(FloatOutput(number, start, size // columns, columns, each.element_type))
    return tuple(found)


def sampling_step(size: int) -> int:
    """Of so many values every which one is looked at, where a sample is enough."""
    return size // _SAMPLED | 1


def words_in_row(size: int) -> int:
    """Columns of the matrices that hold a buffer of `size` bytes as words."""
    return _longest_row(size // WORD)


def _longest_row(size: int) -> int:
    return max(d for d in range(1, _LONGEST_ROW + 1) if size % d == 0)
