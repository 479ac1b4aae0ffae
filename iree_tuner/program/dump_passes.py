"""The compiler's changes to a dispatch after the lookup of tuning specs and before it wrote a dump.

A spec for the dispatch has to do the same first, or it meets another op in the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from iree_tuner.ops.convolution import is_convolution
from iree_tuner.ops.structure import iterators
from iree_tuner.ops.workload import Workload
from iree_tuner.targets import Target

_MATRICES = ("mmt4d", "batch_mmt4d")
_PACKING = ("linalg.mmt4d", "linalg.batch_mmt4d", "linalg.pack", "linalg.unpack")
_EXTENSIONS = ("arith.extf", "arith.extsi", "arith.extui", "arith.sitofp", "arith.uitofp")

_Expression = tuple[object, ...]


def prologue_of(workload: Workload, ops: Sequence[ir.Operation], target: Target) -> tuple[str, ...]:
    """The passes whose effects show in a dispatch of a dump.

    Args:
        workload: its root op.
        ops: the ops that compute in it.
        target: what it is compiled for.
    """
    if any(_has_run(name, workload, ops) for name in target.spec_prologue):
        return target.spec_prologue
    # A softmax is decomposed into ops that look so.
    generic = bool(workload.dag) and workload.op != "softmax"
    return target.merging if generic and _are_merged(ops) else ()


def out_of_reach(workload: Workload, prologue: Sequence[str]) -> str:
    """Why no spec with this prologue meets a dumped workload in its program; empty where one does."""
    if workload.op in _MATRICES and not prologue:
        return "data tiling packed its matrices: pass --target llvm-cpu:host+data-tiling or --chip"
    return ""


def _has_run(name: str, workload: Workload, ops: Sequence[ir.Operation]) -> bool:
    match name:
        case "iree-codegen-insert-batch-dim-for-batchless-conv":
            # Loops of one iteration are folded away in all programs: only that pass makes another one.
            batch = workload.role("batch") if is_convolution(workload) else ()
            return bool(batch) and all(workload.loops[loop] == 1 for loop in batch)
        case "iree-codegen-materialize-device-encoding":
            return any(op.name in _PACKING for op in ops)
        case _:
            return False


def _are_merged(ops: Sequence[ir.Operation]) -> bool:
    """Whether elementwise ops may have been moved into their users (RematerializeParallelOps).

    Two ops then compute the same, or a reduction extends what it reads. Both may be so in the program, too:
    the pass then changes nothing there.
    """
    seen = set[_Expression]()
    for op in ops:
        if op.name != "linalg.generic":
            continue
        own = _expressions(op)
        extends = any(each[0] in _EXTENSIONS for each in own)
        if own & seen or (extends and "reduction" in iterators(op)):
            return True
        seen |= own
    return False


def _expressions(generic: ir.Operation) -> set[_Expression]:
    """The computation of an op's body."""
    block = generic.regions[0].blocks[0]
    known: dict[ir.Value, object] = dict(zip(block.arguments, generic.operands, strict=True))
    found = set[_Expression]()
    for view in list(block.operations)[:-1]:
        op = view.operation
        expression = (op.name, *(known.get(operand, operand) for operand in op.operands))
        known |= dict.fromkeys(op.results, expression)
        found.add(expression)
    return found
