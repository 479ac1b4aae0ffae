"""Find large elementwise ops that normalise groups of elements by large sums, as group norms do.

The compiler tiles the loops of an op. If an operand is the same for 20 elements that follow each other, the
innermost loop has 20 iterations, and few threads read elements next to each other.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import partial

from iree.compiler import ir

from iree_tuner.kernels.chains import (
    LEAST_ELEMENTS,
    MOST_INPUTS,
    blocks_of,
    computed_once,
    epilogues_of,
    gathered,
)
from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.fused_op import build, plan_of, workload_of
from iree_tuner.kernels.moved import UnsupportedError
from iree_tuner.kernels.moves import COLLAPSE, EXPAND, is_elementwise, is_source, repeats
from iree_tuner.kernels.nest import Nest
from iree_tuner.kernels.plan_nest import nest_of
from iree_tuner.kernels.problem import Problem
from iree_tuner.kernels.site import Site, array_of, case_of, function_of, program_of
from iree_tuner.kernels.split_sums import computed_before, is_large_sum

OP = "normalize"
"""The op of these problems' workloads."""

_WIDE = 64
"""The compiler's tiles suit loops of multiples of so many elements."""


def find_normalizing(module: ir.Module) -> list[Site]:
    """These ops of a program in the phase of preprocessing (after `abi`), in program order.

    A site has all elementwise ops of the same size before its last one. Values that sums read, too, are
    computed again instead of read. Vectors that are repeated are read as they are.
    """
    found: list[Site] = []
    for ops in blocks_of(module):
        once = {each for each in computed_once(ops) if not any(map(partial(repeats, each), _operands(each)))}
        kept = epilogues_of(ops) | once
        ends = [each for each in ops if each not in kept and _ends(each, kept)]
        sites = [_site_of(each, {*kept, *ends}) for each in ends]
        found.extend(each for each in sites if each is not None)
    return found


def _operands(op: ir.Operation) -> range:
    return range(len(op.operands)) if is_elementwise(op) else range(0)


def _ends(op: ir.Operation, kept: Collection[ir.Operation]) -> bool:
    """Whether an op is large and elementwise, and others than such ops and large sums use its result."""
    if not is_elementwise(op) or is_source(op) or _size(op.result) < LEAST_ELEMENTS:
        return False
    return not all(_goes_on(use.owner.operation, _size(op.result), kept) for use in op.result.uses)


def _goes_on(user: ir.Operation, size: int, kept: Collection[ir.Operation]) -> bool:
    if user.name in (EXPAND, COLLAPSE):
        return all(_goes_on(use.owner.operation, size, kept) for use in user.result.uses)
    if is_elementwise(user):
        return user not in kept and _size(user.result) == size
    return is_large_sum(user)


def _size(value: ir.Value) -> int:
    return math.prod(ir.RankedTensorType(value.type).shape)


def _site_of(op: ir.Operation, kept: Collection[ir.Operation]) -> Site | None:
    ops = computed_before(op.result, [each for each in kept if each != op], small=True)
    values, every = gathered(ops)
    few = [each for each in values if _size(each) < _size(op.result)]
    if len(values) > MOST_INPUTS or not any(map(_of_large_sum, few)):
        return None
    try:
        plan = plan_of(every, op.result)
    except UnsupportedError:
        return None
    nest = nest_of(plan, values)
    if nest is None or not _repeats_along_groups(nest.merged()):
        return None
    kind = op.result.type
    fused = program_of(
        values, kind, lambda function: build(plan, dict(zip(values, function.arguments, strict=True)), kind)
    )
    arrays = tuple(map(array_of, values))
    problem = Problem(workload_of(kind, OP), arrays, array_of(op.result), fused=fused, nest=nest)
    return Site(problem, case_of(values, every), function_of(op))


def _of_large_sum(value: ir.Value) -> bool:
    """Whether a value is a large sum, or computed from one by elementwise ops and reshapes."""
    before = producer(value)
    if before is None or is_large_sum(before):
        return before is not None
    on = before.name in (EXPAND, COLLAPSE) or is_elementwise(before)
    return on and any(map(_of_large_sum, before.operands))


def _repeats_along_groups(nest: Nest) -> bool:
    """Whether the innermost loop is a narrow group along which operands repeat, and none is transposed."""
    steps = {each.strides[-1] for each in nest.accesses}
    return len(nest.sizes) > 1 and steps == {0, 1} and nest.sizes[-1] % _WIDE != 0
