"""Padding that changes nothing: to tiles that divide what they tile.

The same code comes of a configuration with it and without (test/unit/space/test_gpu_direct_loads.py compares
executables), and the compiler's own choice has it or not, by rules of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from iree_tuner.ops.convolution import is_convolution
from iree_tuner.ops.workload import Workload
from iree_tuner.space.gpu.convolution_loops import batch_inside
from iree_tuner.space.gpu.draft import MMA_KIND
from iree_tuner.space.gpu.instructions import shape_of
from iree_tuner.space.gpu.matrix_problem import igemm_problem
from iree_tuner.space.gpu.padding import PADDING, PADDING_CONV

Entries = dict[str, ir.Attribute]


def drop_idle_padding(workload: Workload, template: Entries, actual: Entries) -> None:
    """Take padding out of the one that has it where the other has none and it changes nothing.

    Args:
        workload: what is configured.
        template: a space's entries, with knobs.
        actual: a choice's.
    """
    if "workgroup" not in actual:
        return
    if PADDING_CONV not in actual:
        if PADDING_CONV in template and _keeps_images(workload, actual):
            template.pop(PADDING_CONV)
    elif PADDING_CONV not in template:
        steps = zip(workload.loops, _numbers(actual[PADDING_CONV]), strict=True)
        if all(size % step == 0 for size, step in steps if step):
            actual.pop(PADDING_CONV)
    if (PADDING in template) == (PADDING in actual):
        return
    tiles = _tiles(actual)
    if PADDING in actual and _numbers(actual[PADDING]) != tiles:
        return
    problem = igemm_problem(workload) if is_convolution(workload) else None
    for sizes in (workload.loops, problem.loops if problem else ()):
        if len(sizes) == len(tiles) and all(
            tile and size % tile == 0 for size, tile in zip(sizes, tiles, strict=True)
        ):
            template.pop(PADDING, None)
            actual.pop(PADDING, None)


def _keeps_images(workload: Workload, actual: Entries) -> bool:
    """Whether the batch, which alone may be padded before patches are gathered, is a number of its tiles."""
    if not is_convolution(workload) or not batch_inside(workload):
        return False
    inner = workload.role("batch")[-1]
    tile = _numbers(actual["workgroup"])[inner]
    return tile > 0 and workload.loops[inner] % tile == 0


def _tiles(actual: Entries) -> list[int]:
    """The part of each loop that a workgroup has at a time, in elements."""
    tiles = _numbers(actual["workgroup"])
    steps = _numbers(actual["reduction"]) if "reduction" in actual else []
    inner = max((place for place, step in enumerate(steps) if step), default=-1)
    for place, step in enumerate(steps):
        if step:
            depth = shape_of(actual[MMA_KIND])[2] if place == inner and MMA_KIND in actual else 1
            tiles[place] = step * depth
    return tiles


def _numbers(attribute: ir.Attribute) -> list[int]:
    items: Sequence[ir.Attribute] = list(ir.ArrayAttr(attribute))
    return [ir.IntegerAttr(each).value for each in items]
