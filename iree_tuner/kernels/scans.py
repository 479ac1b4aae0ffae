"""Running sums, products, maxima and the like along a dimension (scans), with elementwise ops around them.

JAX's `cumsum` becomes such an op. The compiler's code for it goes through a line element by element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from iree.compiler import ir

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.followed import followed, steps_after
from iree_tuner.kernels.fused_op import plan_of, workload_of
from iree_tuner.kernels.kernel import Problem
from iree_tuner.kernels.moved import NotIndexableError
from iree_tuner.kernels.moves import SCAN, is_source
from iree_tuner.kernels.planned_nest import combination_of, nest_of
from iree_tuner.kernels.site import Site, array_of, case_of, function_of
from iree_tuner.kernels.split_sums import MOST_INPUTS, OpsOfBlock, computed_before, gathered

OP = "scan"
"""The op of workloads of `find_scans`."""

_NONE: list[ir.Operation] = []


def find_scans(blocks: Sequence[OpsOfBlock]) -> list[Site]:
    """The scans in blocks, each with the elementwise ops of the same size before and after it, and without.

    Other kernels may take these: a product those that follow it.
    """
    found = list[Site]()
    for block in blocks:
        kept = block.epilogues | block.once
        for op in (each for each in block.ops if _scans(each) and each not in block.once):
            own = [] if producer(op.operands[0]) in kept else computed_before(op.operands[0], kept)
            each = (_site_of(op, before, alone=alone) for alone in (False, True) for before in (own, _NONE))
            found += [replace(site, roots=(block.roots[op],)) for site in dict.fromkeys(filter(None, each))]
    return found


def _scans(op: ir.Operation) -> bool:
    """Whether an op scans static arrays so that each result has its own element, and only these are used."""
    if op.name != SCAN or not ir.BoolAttr(op.attributes["inclusive"]).value or list(op.results[1].uses):
        return False
    kind = ir.RankedTensorType(op.operands[0].type)
    return kind.has_static_shape and kind.shape[_dimension(op)] > 1


def _dimension(op: ir.Operation) -> int:
    return ir.IntegerAttr(op.attributes["dimension"]).value


def _site_of(op: ir.Operation, before: list[ir.Operation], *, alone: bool) -> Site | None:
    """The site of a scan and ops before it; unless it is `alone`, with what follows, if it may have that."""
    whole, scanned, start = op.operands[0], combination_of(op), _start_of(op)
    if not scanned or start is None:
        return None
    read, known = gathered(before)
    for then in steps_after(op, alone=alone):
        ops = (*before, *start, op, *(() if then is None else then.ops))
        values, every = gathered([*dict.fromkeys(ops)])
        # Steps after a scan may compute again what it reads.
        if not 0 < len(values) <= MOST_INPUTS or not {*values}.issuperset(read or [whole]):
            continue
        try:
            plan = plan_of(known, whole)
        except NotIndexableError:
            continue
        nest = nest_of(plan, values, places=True) if len(plan.loops) == len(plan.sizes) else None
        if nest is None:
            continue
        nest = replace(nest, scan=_dimension(op), scanned=scanned)
        if then is not None:
            nest = followed(nest, range(len(nest.sizes)), op, then, values)
        if nest is None:
            continue
        result, case = every[-1].results[0], case_of(values, every)
        problem = Problem(
            workload_of(result.type, OP), tuple(map(array_of, values)), array_of(result), fused=case,
            nest=nest, scanned=_dimension(op) if then is None else None,
        )  # fmt: skip
        return Site(problem, case, function_of(op))
    return None


def _start_of(op: ir.Operation) -> list[ir.Operation] | None:
    """The ops that make the start of a scan, without constants; None if it is computed.

    Its value does not matter: the first result is the first element.
    """
    made = producer(op.operands[2])
    if made is None or is_source(made):
        return None if made is None else []
    before = [producer(each) for each in made.operands]
    return [made] if all(each is not None and is_source(each) for each in before) else None
