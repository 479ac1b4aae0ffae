"""Ops that normalise: rows with their reductions, groups by large sums; and moves before convolutions."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from iree.compiler import ir

from iree_tuner.kernels.epilogue import producer, unary_of
from iree_tuner.kernels.fused_op import FusedPlan, plan_of, reduction_of, workload_of
from iree_tuner.kernels.kernel import Problem
from iree_tuner.kernels.moved import NotIndexableError
from iree_tuner.kernels.moves import (
    COLLAPSE,
    EXPAND,
    INSERT,
    JOINS,
    SLICE,
    has_gaps,
    is_elementwise,
    is_followed,
    is_move,
    is_source,
    numbers,
    repeats,
    reversed_by,
    users_of,
)
from iree_tuner.kernels.nest import MOST_IN_ROW, Nest
from iree_tuner.kernels.planned_nest import nest_of
from iree_tuner.kernels.shapes import combined_by
from iree_tuner.kernels.site import Site, array_of, case_of, function_of
from iree_tuner.kernels.split_sums import (
    LARGE,
    LEAST_ELEMENTS,
    MOST_INPUTS,
    OpsOfBlock,
    computed_before,
    cone_of,
    epilogues_of,
    gathered,
    is_large_sum,
    joins_product,
    places_before,
    reduces,
    site_of_plan,
    sums_up,
    top,
)
from iree_tuner.ops.convolution import Convolution
from iree_tuner.ops.structure import indexing_maps

OP = "normalize"
"""The op of workloads of `find_normalizing`."""

_MOST_SMALLER = 8  # ops on a smaller operand, one after the other, that a norm of rows repeats
_WIDE = 64  # elements: the compiler's tiles suit loops of multiples of this
_VERY_LARGE = 1 << 21  # elements of a result
_NARROW = 16  # elements that follow each other, for which the compiler's transposes are slow
_READS_LATER = ("tensor.pad", "hal.tensor.export", "hal.tensor.alias")


def find_normalizing(
    blocks: Sequence[OpsOfBlock], larger: Mapping[ir.Operation, bytes] = MappingProxyType({})
) -> list[Site]:  # fmt: skip
    """Ops of blocks that normalize by sums, in program order, after those that enlarge arrays.

    `larger` has ops of other problems, each with its case. Norms of rows include the reductions along rows.
    Other sites do not include the large sums that they normalize by.

    A site has all elementwise ops of the same size before its last one. Values that sums read, too, are
    computed again instead of read. Vectors that are repeated are read as they are.
    """
    found: list[Site] = []
    for block in blocks:
        moved = (_moving_site(op, block) for op in block.ops)
        found += [site for site in moved if site is not None]
        found += [site for op in block.ops for site in _cut_sites(op, block)]
        once = {op for op in block.once if not any(repeats(op, at) for at in range(len(op.operands)))}
        kept = block.epilogues | once
        rows = _row_sites(block, epilogues_of(block.ops, products=True) | once, larger)
        found += rows.values()
        taken = {root for site in rows.values() for root in site.roots}
        apart = {op for op in block.ops if reduces(op) and block.roots[op] not in taken}
        ends = [each for each in block.ops if each not in kept | block.once and _ends(each, kept, apart)]
        kept |= set(ends)
        sites = [_normalizing_site(each, kept, large=each not in rows) for each in ends]
        found.extend(each for each in sites if each is not None)
    return found


def _row_sites(
    block: OpsOfBlock, kept: Collection[ir.Operation], larger: Mapping[ir.Operation, bytes]
) -> dict[ir.Operation, Site]:
    """Norms of rows with their reductions, by their last ops; those of most ops first.

    These are layer norms and softmaxes, for example. A value that several of them read, such as a residual,
    may be the end of another one.
    """
    waiting = [op for op in block.ops if _ends_row(op, kept)]
    tried, found = {*block.once}, list[tuple[int, ir.Operation, Site]]()
    while waiting:
        op = waiting.pop()
        if op in tried or op in kept or not is_elementwise(op) or is_source(op):
            continue
        tried.add(op)
        values, every, site = _row_site(op, block, kept)
        if site is not None:
            reductions = [each for each in every if each in block.roots and not is_elementwise(each)]
            roots = tuple(block.roots[each] for each in reductions)
            own = replace(site, within=larger.get(op, b""), roots=roots)
            found.append((-len(every), op, own))
            if any(each.name == SLICE for each in _users_of(op)):
                block.norms.add(op)
            waiting += [each for each in map(producer, values) if each is not None]
    found.sort(key=lambda each: (each[0], block.place[each[1]]))
    return {op: site for _, op, site in found}


def _ends_row(op: ir.Operation, kept: Collection[ir.Operation]) -> bool:
    """Whether an op is elementwise on rows, and others than such ops use its result."""
    if op in kept or not is_elementwise(op) or is_source(op):
        return False
    shape = ir.RankedTensorType(op.result.type).shape
    return bool(shape) and not all(_in_row(use.owner.operation, shape, kept) for use in op.result.uses)


def _row_site(
    op: ir.Operation, block: OpsOfBlock, kept: Collection[ir.Operation]
) -> tuple[list[ir.Value], list[ir.Operation], Site | None]:
    """The inputs, the ops and the site of a norm of rows that ends with an op; no site if there is none."""
    shape = ir.RankedTensorType(op.result.type).shape
    unfit = len(shape) < 2 or shape[-1] > MOST_IN_ROW
    parts = [each for each in _users_of(op) if each.name == SLICE]
    if unfit or any(numbers(each, "static_sizes")[-1] != shape[-1] for each in parts):  # a chain has its ops
        return [], [], None
    ops = _without_epilogues(_row_before(op, block, kept), kept, shape[-1])
    values, every = gathered(ops)
    reductions = sum(reduction_of(each, shape[-1]) is not None for each in ops)
    least = 1 if _size(op.result) >= LEAST_ELEMENTS else 2  # each of which is a dispatch of the compiler's
    if reductions < least or not 0 < len(values) <= MOST_INPUTS:
        return [], [], None
    try:
        nest = nest_of(plan_of(every, op.result, rows=True), values, places=True)
    except NotIndexableError:
        return [], [], None
    if nest is None or nest.row is None or not {each.strides[-1] for each in nest.accesses} <= {0, 1}:
        return [], [], None
    arrays, case = tuple(map(array_of, values)), case_of(values, every)
    problem = Problem(workload_of(op.result.type, OP), arrays, array_of(op.result), fused=case, nest=nest)
    return values, every, Site(problem, case, function_of(op))


def _in_row(user: ir.Operation, shape: Sequence[int], kept: Collection[ir.Operation]) -> bool:
    """Whether a user of a row's values goes on with it."""
    if reduction_of(user, shape[-1]):
        return True
    same = is_elementwise(user) and ir.RankedTensorType(user.result.type).shape == shape
    return same and user not in kept and not _turns(user)


def _row_before(
    last: ir.Operation, block: OpsOfBlock, kept: Collection[ir.Operation]
) -> list[ir.Operation]:  # fmt: skip
    """The ops that compute rows: elementwise ops, reductions along rows and what is computed of them.

    Values as large as the result that have other uses are read. Ops that widen such values, and a few on
    smaller operands one after the other, such as the scale that modulates a norm, are computed again.
    """
    size, row, place = _size(last.result), ir.RankedTensorType(last.result.type).shape[-1], block.place
    steps, waiting = {last: 0}, places_before(last, place)
    while waiting:  # the latest first: all users of an op come before it
        latest = max(waiting)
        waiting.remove(latest)
        op = block.ops[latest]
        follows = op.name in (EXPAND, COLLAPSE, SLICE) or is_elementwise(op) or reduction_of(op, row)
        follows = follows and not _turns(op)
        if op in kept or is_source(op) or not follows:
            continue
        users = [top(use.owner.operation, place) for use in op.result.uses]
        small = _size(op.result) < size
        smaller = max((steps[each] for each in users if each in steps), default=0) + small
        again = smaller <= _MOST_SMALLER if small else _widens(op)
        if again or all(each in steps for each in users):
            steps[op] = smaller if small else 0
            waiting |= places_before(op, place)
    return sorted(steps, key=place.__getitem__)


def _turned(value: ir.Value) -> ir.Operation | None:
    """The producer of a value, or of what it has in another order."""
    before = producer(value)
    while before is not None and is_move(before) and _turns(before):
        before = producer(before.operands[0])
    return before


def _turns(op: ir.Operation) -> bool:
    """Whether an elementwise op reads a large array in another order, so that its rows have gaps there."""
    if not is_elementwise(op) or _size(op.result) == 1:
        return False
    *reads, written = indexing_maps(op)
    return any(
        isinstance(value.type, ir.RankedTensorType)
        and _size(value) == _size(op.result)
        and read.results[-1] != written.results[-1]
        for value, read in zip(op.operands, reads, strict=False)
    )


def _without_epilogues(
    ops: Sequence[ir.Operation], kept: Collection[ir.Operation], row: int
) -> list[ir.Operation]:  # fmt: skip
    """The ops of rows without those of no reduction that may join a product before them."""
    rows, joins, size = set[ir.Operation](), set[ir.Operation](), _size(ops[-1].result)
    for op in ops:
        before = [each for each in map(_turned, op.operands) if each is not None]
        if reduction_of(op, row) or not rows.isdisjoint(before):
            rows.add(op)
        elif (
            _size(op.result) == size
            and not _widens(op)
            and any(
                each in joins or (each not in ops and _size(each.result) == size and _makes_sums(each, kept))
                for each in before
            )
        ):
            joins.add(op)
    left, waiting = set[ir.Operation](), [ops[-1]]
    while waiting:
        op = waiting.pop()
        if op in ops and op not in left and op not in joins:
            left.add(op)
            waiting += [each for each in map(producer, op.operands) if each is not None]
    return [each for each in ops if each in left]


def _widens(op: ir.Operation) -> bool:
    """Whether an op only widens or copies elements of one array."""
    found = unary_of(op.result)
    return found is not None and found.in_order and (found.copies or found.body == ["arith.extf"])


def _makes_sums(op: ir.Operation, kept: Collection[ir.Operation]) -> bool:
    return op in kept or sums_up(op, 2)


def _ends(op: ir.Operation, kept: Collection[ir.Operation], apart: Collection[ir.Operation]) -> bool:
    """Whether an op is large and elementwise, and others than such ops and large sums use its result.

    `apart` are reductions that have kernels of their own.
    """
    if not is_elementwise(op) or is_source(op) or _size(op.result) < LEAST_ELEMENTS:
        return False
    return not all(_goes_on(use.owner.operation, _size(op.result), kept, apart) for use in op.result.uses)


def _goes_on(
    user: ir.Operation, size: int, kept: Collection[ir.Operation], apart: Collection[ir.Operation]
) -> bool:
    if user.name in (EXPAND, COLLAPSE):
        return all(_goes_on(use.owner.operation, size, kept, apart) for use in user.result.uses)
    if is_elementwise(user):
        return user not in kept and _size(user.result) == size
    return is_large_sum(user) or user in apart


def _size(value: ir.Value) -> int:
    return math.prod(ir.RankedTensorType(value.type).shape)


def _normalizing_site(op: ir.Operation, kept: Collection[ir.Operation], *, large: bool) -> Site | None:
    """The site of ops that normalise groups; with `large`, also of others that join no product."""
    ops = computed_before(op.result, kept, small=True)
    if any(map(_turns, ops)):
        ops = computed_before(op.result, {*kept, *filter(_turns, ops)}, small=True)
    values, every = gathered(ops)
    few = [each for each in values if _size(each) < _size(op.result)]
    same = [each for each in values if _size(each) == _size(op.result)]
    normal = any(map(_of_large_sum, few))  # by sums of a product's results, for which its kernel cannot wait
    alone = bool(same) and (normal or not any(joins_product(each, kept) for each in same))
    large = large and alone and _size(op.result) >= LARGE and not any(map(_goes_along, _users_of(op)))
    if len(values) > MOST_INPUTS or not (large or normal):
        return None
    if (planned := _planned(values, every)) is None:
        return None
    plan, nest = planned
    merged = nest.merged()
    # None is transposed; of a norm, operands repeat along the innermost loop, a narrow group.
    steps = {each.strides[-1] for each in merged.accesses} if merged.sizes else set[int]()
    narrow = steps == {0, 1} and merged.sizes[-1] % _WIDE > 0
    if len(merged.sizes) < 2 or not steps <= {0, 1} or not (large or narrow):
        return None
    return site_of_plan(plan, values, every, nest, OP)


def _goes_along(user: ir.Operation) -> bool:
    """Whether a user of an op's result is computed together with it: elementwise ops, moves, reductions."""
    return is_followed(user) or bool(combined_by(user))


def _moving_site(op: ir.Operation, block: OpsOfBlock) -> Site | None:
    """The site of moves that make a large array for a convolution, of a smaller one or of narrow parts.

    These are nearest upsampling, and pixels from channels. The compiler's code for them takes several times
    as long as memory does.
    """
    if op in block.once or not is_elementwise(op) or _size(op.result) < _VERY_LARGE or not is_move(op):
        return None
    if not all(each.name in _READS_LATER or Convolution().describe(each) for each in _users_of(op)):
        return None
    value, ops = op.result, list[ir.Operation]()
    while (before := producer(value)) is not None and (before.name in (EXPAND, COLLAPSE) or _copies(before)):
        value, ops = before.operands[0], [before, *ops]
    values, every = gathered(ops)
    if not values or (planned := _planned(values, every)) is None:
        return None
    plan, nest = planned
    merged = nest.merged()
    along = {each.strides[-1] for each in merged.accesses} <= {0, 1}
    fits = along if _size(value) * 2 <= _size(op.result) else _interleaves(merged)
    return site_of_plan(plan, values, every, nest, OP) if fits else None


def _cut_sites(op: ir.Operation, block: OpsOfBlock) -> list[Site]:
    """The sites of a large part with gaps, or of a large array of several parts, as products read it.

    A part is taken of what moves make of other arrays, if it can be read there, and otherwise of these. The
    compiler's code for these copies takes several times as long as memory does.
    """
    part = op.name == SLICE and has_gaps(op)
    ops = [op] if part else _joins(op)
    if op in block.once or not ops or not is_followed(op) or _size(op.result) < LEAST_ELEMENTS:
        return []
    if all(
        is_elementwise(each) or reversed_by(each) or each.name in (*JOINS, SLICE) for each in _users_of(op)
    ):
        return []
    left, found = block.once | block.epilogues, dict[Site, None]()
    cone = cone_of(op, block.place, block.ops, left, parts=True) if part else set(ops)
    for own in (sorted(cone, key=block.place.__getitem__), ops):
        values, every = gathered(own)
        planned = _planned(values, every)
        if planned is None or len(values) > MOST_INPUTS:
            continue
        if {each.strides[-1] for each in planned[1].accesses} == {1}:
            found[site_of_plan(planned[0], values, every, planned[1], OP)] = None
    return [*found]


def _joins(op: ir.Operation) -> list[ir.Operation]:
    """The insertions that make a new tensor of parts, in order; empty if the op is none of them."""
    found = list[ir.Operation]()
    while op.name == INSERT and is_followed(op):
        found.append(op)
        before = producer(op.operands[1])
        if before is None:
            return []
        op = before
    return found[::-1] if is_source(op) else []


def _planned(values: Sequence[ir.Value], ops: Sequence[ir.Operation]) -> tuple[FusedPlan, Nest] | None:
    """The plan of ops of these inputs and its loops; None if they are not one op, or have no such loops."""
    try:
        plan = plan_of(ops, ops[-1].result)
    except NotIndexableError:
        return None
    nest = nest_of(plan, values)
    return None if nest is None else (plan, nest)


def _interleaves(nest: Nest) -> bool:
    """Whether neighbors in an array become neighbors of others, a few at a time."""
    sizes = [
        size for each in nest.accesses for size, stride in zip(nest.sizes[:-1], each.strides, strict=False)
        if stride == 1
    ]  # fmt: skip
    return bool(sizes) and min(sizes) < _NARROW


def _copies(op: ir.Operation) -> bool:
    """Whether an op copies elements of one array, for one user."""
    one = len(op.operands) == 2 and isinstance(op.operands[0].type, ir.RankedTensorType)
    return one and is_elementwise(op) and is_move(op) and len(list(op.result.uses)) == 1


def _users_of(op: ir.Operation) -> list[ir.Operation]:
    """The users of an op's result, behind reshapes."""
    return [more for each in users_of(op.result)
            for more in (_users_of(each) if each.name in (EXPAND, COLLAPSE) else [each])]  # fmt: skip


def _of_large_sum(value: ir.Value) -> bool:
    """Whether a value is a large sum, or computed from one by elementwise ops and reshapes."""
    before = producer(value)
    if before is None or is_large_sum(before):
        return before is not None
    on = before.name in (EXPAND, COLLAPSE) or is_elementwise(before)
    return on and any(map(_of_large_sum, before.operands))
