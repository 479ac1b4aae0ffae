"""Split reductions of many values to few results into two ops: sums of parts, and the sums of these.

The compiler uses few threads for each result. For example, a group norm of an image has 64 sums of 81,920
values, and takes 13 ms on an H200. The compiler's flag for split reductions does not change such sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from iree.compiler import ir
from iree.compiler.dialects import arith, func, linalg, tensor

from iree_tuner.compiler.generic import generic
from iree_tuner.kernels.fused_ops import workload_of
from iree_tuner.kernels.problem import Problem
from iree_tuner.kernels.site import Site, array_of, case_of, copy_ops, function_of, program_of, zeros_of
from iree_tuner.ops.structure import indexing_maps, iterators, loop_sizes

_MOST_RESULTS, _LEAST_TERMS = 1 << 12, 1 << 12
_ENOUGH = 1 << 12
"""The number of partial sums that keeps a device busy."""
_ADD = "arith.addf"


def find_sums(module: ir.Module) -> list[Site]:
    """The sums that can be split, of a program in the phase of preprocessing (after `abi`)."""
    found: list[Site] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "linalg.generic" and (site := _site_of(op)) is not None:
            found.append(site)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _site_of(op: ir.Operation) -> Site | None:
    start = zeros_of(op)
    if len(op.operands) != 2 or not start or not _adds_up(op) or not (apart := _loops_apart(op)):
        return None
    value, result = op.operands[0], op.result
    build = partial(_build, op, start[0], apart)
    fused = program_of([value], result.type, build)
    problem = Problem(workload_of(result.type), (array_of(value),), array_of(result), fused=fused)
    return Site(problem, case_of([value], [*start, op]), function_of(op))


def _adds_up(op: ir.Operation) -> bool:
    """Whether the body only adds its input to the result."""
    block = op.regions[0].blocks[0]
    add, *rest = (each.operation for each in block.operations)
    given = list(block.arguments)
    return (
        len(rest) == 1 and add.name == _ADD and set(add.operands) == set(given)
        and list(rest[0].operands) == [add.result]
    )  # fmt: skip


def _loops_apart(op: ir.Operation) -> list[int]:
    """The outermost loops of the sum, whose iterations become parts; empty if a split does not help."""
    sizes, kinds, maps = loop_sizes(op), iterators(op), indexing_maps(op)
    if sizes is None or None in sizes or not all(each.is_projected_permutation for each in maps):
        return []
    known = [size or 1 for size in sizes]
    summed = [
        loop for each in maps[0].results
        if kinds[loop := ir.AffineDimExpr(each).position] == "reduction"
    ]  # fmt: skip
    results = math.prod(size for size, kind in zip(known, kinds, strict=True) if kind == "parallel")
    if results > _MOST_RESULTS or math.prod(known[loop] for loop in summed) < _LEAST_TERMS:
        return []
    apart: list[int] = []
    for loop in summed[:-1]:  # adjacent threads read along the innermost loop
        if results * math.prod(known[each] for each in apart) >= _ENOUGH:
            break
        apart.append(loop)
    return apart


def _build(op: ir.Operation, zero: ir.Operation, apart: Sequence[int], function: func.FuncOp) -> ir.Value:
    """Build both sums at the current insertion point."""
    sizes = [size or 1 for size in loop_sizes(op) or ()]
    kinds, (read, written) = list(iterators(op)), indexing_maps(op)
    kept = [ir.AffineDimExpr(each).position for each in written.results]
    element = ir.RankedTensorType(op.result.type).element_type
    start = copy_ops([zero], {})
    order = [*kept, *apart]
    partly = ir.AffineMap.get(len(sizes), 0, [ir.AffineDimExpr.get(each) for each in order])
    kinds = ["parallel" if loop in apart else kind for loop, kind in enumerate(kinds)]
    first = _filled(start, [sizes[each] for each in order], element)
    parts = generic([function.arguments[0]], first, [read, partly], kinds, _plus)
    whole = ir.AffineMap.get_identity(len(order))
    outer = ir.AffineMap.get(len(order), 0, [ir.AffineDimExpr.get(at) for at in range(len(kept))])
    last = _filled(start, [sizes[each] for each in kept], element)
    kinds = ["parallel"] * len(kept) + ["reduction"] * len(apart)
    return generic([parts], last, [whole, outer], kinds, _plus)


def _plus(term: ir.Value, total: ir.Value) -> ir.Value:
    return arith.addf(total, term)


def _filled(value: ir.Value, shape: Sequence[int], element: ir.Type) -> ir.Value:
    empty = tensor.EmptyOp(list(shape), element).result
    return linalg.fill(value, outs=[empty])
