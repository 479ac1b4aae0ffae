"""Sizes and strides of an attention, for kernels that read arrays in place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from iree_tuner.kernels.problem import Problem
from iree_tuner.ops.attention import is_attention

_SCALE = 3  # operand of attention
_AXES = {"Q": ("m", "k1"), "K": ("k2", "k1"), "V": ("k2", "n"), "BIAS": ("m", "k2"), "OUT": ("m", "n")}


@dataclass(frozen=True)
class AttentionShape:
    """Sizes and strides, in elements, of an attention.

    Attributes:
        batch: sizes of the batch's loops.
        m, n, k1, k2: number of queries, width of values, width of heads, number of keys.
        batch_steps: by array (`Q`, `K`, `V`, `OUT`, and `BIAS` for a bias or a mask), the stride of each of
            the batch's loops; 0 if the array does not depend on the loop.
        steps: by array, the strides of rows and of columns; 0 if all rows have the same bias.
    """

    batch: tuple[int, ...]
    m: int
    n: int
    k1: int
    k2: int
    batch_steps: Mapping[str, tuple[int, ...]]
    steps: Mapping[str, tuple[int, int]]


def attention_shape(problem: Problem) -> AttentionShape | None:
    """The shape of a problem; None if it is not an attention, or has several loops of one role."""
    workload = problem.workload
    if not is_attention(workload) or workload.dynamic:
        return None
    if any(len(workload.role(role)) != 1 for role in ("m", "n", "k1", "k2")):
        return None
    sizes, batch = workload.loops, workload.role("batch")
    batch_steps: dict[str, tuple[int, ...]] = {}
    steps: dict[str, tuple[int, int]] = {}
    maps = [each for number, each in enumerate(workload.maps) if number != _SCALE]
    names = [name for name in _AXES if name != "BIAS" or len(maps) == len(_AXES)]
    for name, each in zip(names, maps, strict=True):
        row, column = _AXES[name]
        loops = each.loops
        own = {loop: math.prod(sizes[each] for each in loops[at + 1 :]) for at, loop in enumerate(loops)}
        batch_steps[name] = tuple(own.get(loop, 0) for loop in batch)
        steps[name] = own.get(workload.role(row)[0], 0), own[workload.role(column)[0]]
    m, n, k1, k2 = (workload.sizes(role)[0] for role in ("m", "n", "k1", "k2"))
    return AttentionShape(workload.sizes("batch"), m, n, k1, k2, batch_steps, steps)
