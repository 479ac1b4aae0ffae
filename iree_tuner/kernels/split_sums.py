"""Split reductions of many values to few results into two ops: sums of parts, and the sums of these.

The compiler uses few threads for each result. For example, a group norm of an image has 64 sums of 81,920
values, and takes 13 ms on an H200. The compiler's flag for split reductions does not change such sums.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, func, linalg, tensor

from iree_tuner.compiler.linalg import generic
from iree_tuner.kernels.chains import MOST_INPUTS, blocks_of, computed_once, epilogues_of, gathered
from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.fused_op import Plan, build_sum, plan_of, workload_of
from iree_tuner.kernels.moved import UnsupportedError
from iree_tuner.kernels.moves import COLLAPSE, EXPAND, HOISTED, is_elementwise, is_source
from iree_tuner.kernels.plan_nest import nest_of
from iree_tuner.kernels.problem import Problem
from iree_tuner.kernels.site import Site, array_of, case_of, function_of, program_of, roots_of, zeros_of
from iree_tuner.ops.structure import indexing_maps, iterators, loop_sizes

# Add up parts of sums, as an op of the program.


def added_up(parts: ir.Value[Any], kept: int) -> ir.Value:
    """The sums along all dimensions after the first `kept` ones, as an op at the current insertion point."""
    kind = ir.RankedTensorType(parts.type)
    rank = kind.rank
    outer = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(at) for at in range(kept)])
    maps = [ir.AffineMap.get_identity(rank), outer]
    kinds = ["parallel"] * kept + ["reduction"] * (rank - kept)
    return generic([parts], zeros(list(kind.shape)[:kept], kind.element_type), maps, kinds, _plus)


def zeros(shape: Sequence[int], element: ir.Type) -> ir.Value:
    """A tensor of zeros, as ops at the current insertion point."""
    empty = tensor.EmptyOp(list(shape), element).result
    return linalg.fill(arith.constant(element, 0.0), outs=[empty])


def _plus(term: ir.Value, total: ir.Value) -> ir.Value:
    return arith.addf(total, term)


_MOST_RESULTS, _LEAST_TERMS = 1 << 12, 1 << 12
_ENOUGH = 1 << 12
"""The number of partial sums that keeps a device busy."""
_ADD, _IMPORT = "arith.addf", "hal.tensor.import"


def find_sums(module: ir.Module) -> list[Site]:
    """The sums that can be split, of a program in the phase of preprocessing (after `abi`).

    A site includes the elementwise ops of the same size before its sum. Otherwise, if other ops also read
    their results (like the distances from a mean), the compiler writes these to memory. Sites with most ops
    come first, so that their matchers are tried before the matcher of the sum alone.
    """
    found: list[tuple[int, Site]] = []
    roots = {op: number for number, op in enumerate(roots_of(module))}
    for ops in blocks_of(module):
        kept = epilogues_of(ops) | computed_once(ops)
        sites = [_site_of(each, kept) for each in ops]
        found.extend((count, replace(site, root=roots.get(op))) for op, count, site in filter(None, sites))
    return [site for _, site in sorted(found, key=lambda each: -each[0])]


def is_large_sum(op: ir.Operation) -> bool:
    """Whether an op adds up many values to few results, starting from zeros."""
    is_sum = op.name == "linalg.generic" and len(op.operands) == 2 and len(op.results) == 1
    return is_sum and bool(zeros_of(op)) and _adds_up(op) and bool(_loops_apart(op))


def _site_of(
    op: ir.Operation, kept: Collection[ir.Operation]
) -> tuple[ir.Operation, int, Site] | None:  # fmt: skip
    """A sum, the number of elementwise ops in its site, and the site."""
    if not is_large_sum(op):
        return None
    start, apart = zeros_of(op) or [], _loops_apart(op)
    for before in (computed_before(op.operands[0], kept), list[ir.Operation]()):
        values, every = gathered(before) if before else ([op.operands[0]], [])
        try:
            plan = plan_of(every, op.operands[0])
        except UnsupportedError:
            continue
        if values and len(values) <= MOST_INPUTS and len(plan.loops) == len(plan.sizes):
            fused = program_of(values, op.result.type, partial(_build, op, apart, plan, values))
            arrays = tuple(map(array_of, values))
            nest = nest_of(plan, values, _kept(op))
            problem = Problem(
                workload_of(op.result.type), arrays, array_of(op.result), fused=fused, nest=nest
            )
            site = Site(problem, case_of(values, [*every, *start, op]), function_of(op))
            return op, len(every), site
    return None


def computed_before(
    whole: ir.Value, kept: Collection[ir.Operation], *, small: bool = False
) -> list[ir.Operation]:  # fmt: skip
    """The elementwise ops and reshapes that compute a value and are as large, in order, except `kept`.

    With `small`, also smaller elementwise ops that nothing else of the program has to compute before.
    """
    found: list[ir.Operation] = []
    least = math.prod(ir.RankedTensorType(whole.type).shape)

    def look(value: ir.Value) -> None:
        before = producer(value)
        if before is None or before in found or before in kept or is_source(before):
            return
        of_all = math.prod(ir.RankedTensorType(value.type).shape) >= least
        first = small and is_elementwise(before) and all(map(_is_given, before.operands))
        if first or (of_all and (is_elementwise(before) or before.name in (EXPAND, COLLAPSE))):
            for each in before.operands:
                look(each)
            found.append(before)

    look(whole)
    return found


def _is_given(value: ir.Value) -> bool:
    """Whether no op of the program has to compute a value."""
    before = producer(value)
    return before is None or before.name in (*HOISTED, _IMPORT) or is_source(before)


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


def _build(
    op: ir.Operation, apart: Sequence[int], plan: Plan, values: Sequence[ir.Value], function: func.FuncOp
) -> ir.Value:  # fmt: skip
    """Build both sums at the current insertion point. Loops are the dimensions of the summed value."""
    kept, place = _kept(op), _place(op)
    order = [*kept, *(place[loop] for loop in apart)]
    shape = ir.RankedTensorType(op.operands[0].type).shape
    element = ir.RankedTensorType(op.result.type).element_type
    partly = ir.AffineMap.get(len(shape), 0, [ir.AffineDimExpr.get(each) for each in order])
    kinds = ["parallel" if at in order else "reduction" for at in range(len(shape))]
    inputs = dict(zip(values, function.arguments, strict=True))
    first = zeros([shape[each] for each in order], element)
    return added_up(build_sum(plan, inputs, first, kinds, partly), len(kept))


def _place(op: ir.Operation) -> dict[int, int]:
    """The dimension of the summed value that each loop goes along."""
    read, _ = indexing_maps(op)
    return {ir.AffineDimExpr(each).position: at for at, each in enumerate(read.results)}


def _kept(op: ir.Operation) -> list[int]:
    """The dimensions of the summed value that the result has, in the result's order."""
    place = _place(op)
    return [place[ir.AffineDimExpr(each).position] for each in indexing_maps(op)[1].results]
