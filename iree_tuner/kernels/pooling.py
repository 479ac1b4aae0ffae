"""Reductions over small windows of images: max and average pooling, with the elementwise ops around them.

A kernel reads each element of a window in one step, also around the image: there it takes the value that the
program pads with. The compiler writes a padded image to memory first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from iree.compiler import ir

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.fused_op import plan_of, workload_of
from iree_tuner.kernels.kernel import Problem
from iree_tuner.kernels.moved import NotIndexableError
from iree_tuner.kernels.moves import (
    PAD,
    is_elementwise,
    is_scalar_constant,
    is_source,
    is_static,
    numbers,
    users_of,
)
from iree_tuner.kernels.nest import Nest
from iree_tuner.kernels.planned_nest import nest_of
from iree_tuner.kernels.site import Site, array_of, case_of, function_of
from iree_tuner.kernels.split_sums import (
    MOST_INPUTS,
    OpsOfBlock,
    computed_before,
    gathered,
    joins_product,
    only_for,
)
from iree_tuner.kernels.windows import window_of
from iree_tuner.ops.dag import captured

OP = "pool"
"""The op of workloads of `find_pools`."""

_LEAST_RESULTS, _MOST_STEPS = 1 << 14, 16


def find_pools(blocks: Sequence[OpsOfBlock]) -> list[Site]:
    """The reductions over windows in blocks, each with its padding and as many steps after it as possible."""
    found: list[Site] = []
    for block in blocks:
        for op in block.ops:
            if op in block.once or window_of(op) is None or not is_static(op):
                continue
            sites = (_site(op, _after(op, block)[:count], block) for count in (_MOST_STEPS, 0))
            found += [each for each in [next(filter(None, sites), None)] if each is not None]
    return found


def _after(op: ir.Operation, block: OpsOfBlock) -> list[ir.Operation]:
    """The elementwise ops that follow an op one after the other, with results of its shape.

    They end before one that may join a product.
    """
    found, shape, value = list[ir.Operation](), ir.RankedTensorType(op.result.type).shape, op.result
    while len(users := users_of(value)) == 1 and is_elementwise(users[0]):
        same = ir.RankedTensorType(users[0].result.type).shape == shape
        others = [each for each in [*users[0].operands][:-1] if each != value]
        if not same or any(joins_product(each, block.epilogues) for each in others):
            break
        found.append(users[0])
        value = users[0].result
    return found


def _site(op: ir.Operation, after: Sequence[ir.Operation], block: OpsOfBlock) -> Site | None:
    pad = _padding(op.operands[0])
    start, first = producer(op.operands[2]), op if pad is None else pad
    before = [each for each in (pad, start) if each is not None and not is_source(each)]
    kept = block.epilogues | block.once
    if producer(first.operands[0]) not in kept:  # what the compiler would compute with the windows
        before += only_for(first, computed_before(first.operands[0], kept))
    own = dict.fromkeys((*before, op, *after))
    values, every = gathered(sorted(own, key=block.place.__getitem__))
    nest = _nest(values, every)
    if nest is None or nest.iterations < _LEAST_RESULTS or not 0 < len(values) <= MOST_INPUTS:
        return None
    result, case = every[-1].result, case_of(values, every)
    problem = Problem(
        workload_of(result.type, OP), tuple(map(array_of, values)), array_of(result), fused=case, nest=nest
    )  # fmt: skip
    if pad is not None:
        lows, highs = (numbers(pad, name) for name in ("static_low", "static_high"))
        problem = replace(problem, padding=tuple(zip(lows, highs, strict=True)))
    return Site(problem, case, function_of(op), roots=(block.roots[op],))


def _padding(value: ir.Value) -> ir.Operation | None:
    """The op that pads a value with a constant, for one user; None for others."""
    op = producer(value)
    if op is None or op.name != PAD or len(op.operands) != 1 or len(users_of(value)) != 1:
        return None
    constants = [value for value in captured(op) if is_scalar_constant(value)]
    body = op.regions[0].blocks[0].operations
    least = min(*numbers(op, "static_low"), *numbers(op, "static_high"))
    return op if len(constants) == len(body) == 1 and least >= 0 else None


def _nest(values: Sequence[ir.Value], ops: Sequence[ir.Operation]) -> Nest | None:
    try:
        return nest_of(plan_of(ops, ops[-1].result), values, places=True)
    except NotIndexableError:
        return None
