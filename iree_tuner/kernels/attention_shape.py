"""Attention as sizes and strides: what kernels that read arrays in place have to know."""

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
        m, n, k1, k2: sizes of the others: queries, width of values, width of heads, keys.
        batch_steps: by array (`Q`, `K`, `V`, `OUT`, and `BIAS` for a bias or a mask), from one of each of the
            batch's loops to the next; 0 where the array is the same for all of these.
        steps: by array, from one row and one column to the next; 0 for rows that have the same bias.
    """

    batch: tuple[int, ...]
    m: int
    n: int
    k1: int
    k2: int
    batch_steps: Mapping[str, tuple[int, ...]]
    steps: Mapping[str, tuple[int, int]]


def attention_shape(problem: Problem) -> AttentionShape | None:
    """The problem as such; None where it is no attention, or has several loops of one role."""
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
