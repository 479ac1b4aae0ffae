"""The bytes that a dispatch must not write: its inputs, and the gaps between and behind its tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from iree_tuner.device.data import is_opaque, span
from iree_tuner.device.numerics import same_bytes
from iree_tuner.program.bindings import Binding, TensorSlice

Buffer = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Kept:
    """A range of the buffer that a dispatch must not change.

    Attributes:
        start: its first byte.
        end: the byte behind it.
        tensor: number of the input that it holds; None for gaps between and behind tensors.
    """

    start: int
    end: int
    tensor: int | None = None


def kept(bindings: Sequence[Binding], buffer_bytes: int) -> list[Kept]:
    """All that a dispatch must leave alone: its inputs, and what is between and behind its tensors."""
    every = [(*span(binding, tensor), tensor.access) for binding in bindings for tensor in binding.tensors]
    inputs = [
        Kept(start, start + size, n) for n, (start, size, access) in enumerate(every) if access == "read"
    ]
    changing = [Kept(start, start + size) for start, size, access in every if access != "read"]
    changing += [Kept(each.offset, each.offset + each.length) for each in bindings if is_opaque(each)]
    edges = {edge for each in (*inputs, *changing) for edge in (each.start, each.end)}
    found: list[Kept] = []
    for start, end in pairwise(sorted({0, buffer_bytes, *edges})):
        if end > buffer_bytes or any(each.start <= start < each.end for each in changing):
            continue
        who = next((each.tensor for each in inputs if each.start <= start < each.end), None)
        if found and found[-1].end == start and found[-1].tensor == who:
            start = found.pop().start
        found.append(Kept(start, end, who))
    return found


def changed(got: Buffer, image: Buffer, ranges: Sequence[Kept], bindings: Sequence[Binding]) -> str:
    """The forbidden writes that were found; empty when nothing was."""
    for each in ranges:
        now, before = got[each.start : each.end], image[each.start : each.end]
        if same_bytes(now, before):
            continue
        wrong = np.flatnonzero(now != before)
        first = each.start + int(wrong[0])
        if each.tensor is not None:
            where = _position(bindings, each.tensor, first)
            return f"input {each.tensor} was changed, {wrong.size} bytes, first at {where}"
        return f"written out of bounds: {wrong.size} bytes from byte {first}, {_neighbor(bindings, first)}"
    return ""


def _position(bindings: Sequence[Binding], number: int, byte: int) -> str:
    """Where in a tensor a byte of the buffer is."""
    binding, tensor = _tensors(bindings)[number]
    start, size = span(binding, tensor)
    width = max(1, size // max(1, math.prod(tensor.shape)))
    place = np.unravel_index((byte - start) // width, tensor.shape)
    return f"[{', '.join(str(int(i)) for i in place)}]"


def _neighbor(bindings: Sequence[Binding], byte: int) -> str:
    """The tensor that a byte lies behind, or in front of."""
    ends = [(sum(span(*each)), number) for number, each in enumerate(_tensors(bindings))]
    before = [each for each in ends if each[0] <= byte]
    if before:
        end, number = max(before)
        return f"{byte - end} bytes after the end of tensor {number}"
    start, number = min((span(*each)[0], number) for number, each in enumerate(_tensors(bindings)))
    return f"{start - byte} bytes before tensor {number}"


def _tensors(bindings: Sequence[Binding]) -> list[tuple[Binding, TensorSlice]]:
    return [(binding, tensor) for binding in bindings for tensor in binding.tensors]
