"""Every other compute op: reductions, softmax, pooling, elementwise ops, transposes.

Matched by structure, together with the ops around it in its dispatch. If several ops use the root's result
and end the dispatch, matching starts from the last. Ops that it does not use get no configuration.

The compiler's DAG match op compares whole attribute dictionaries: an op on which a front end has
left an attribute is described (attributes play no part in a workload), but not matched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from iree.compiler import ir

from iree_tuner.compiler import linalg
from iree_tuner.compiler.context import defining_op, ops_in, reachable, users_of
from iree_tuner.ops import dag
from iree_tuner.ops.attention import attention_tolerance
from iree_tuner.ops.family import ROOT, OpFamily
from iree_tuner.ops.matching import require_bounds
from iree_tuner.ops.scalar_body import ScalarBody, facts_of
from iree_tuner.ops.structure import accesses, inputs_of, is_compute, iterators, structure
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.ops.workload import Companion, Workload

# Which loops of different ops walk the same dimension of the same data.
#
# The rule is the compiler's (IterationDimTracker, Codegen/Utils/SliceUtils.cpp): loops that index one
# dimension of a shared tensor, directly, are the same loop; anything computed is not followed.


_Loop = tuple[int, int]


def shared_loops(ops: Sequence[ir.Operation]) -> list[tuple[int | None, ...]]:
    """For each loop of each op, the loop of the first op that walks the same data; all are followed."""
    groups = _groups(ops)
    of_first: dict[_Loop, int] = {}
    for loop in range(accesses(ops[0])[0].rank):
        of_first.setdefault(groups[0, loop], loop)
    return [
        tuple(of_first.get(groups[index, loop]) for loop in range(accesses(op)[0].rank))
        for index, op in enumerate(ops)
    ]


def _groups(ops: Sequence[ir.Operation]) -> dict[_Loop, _Loop]:
    leaders: dict[_Loop, _Loop] = {}

    def leader(loop: _Loop) -> _Loop:
        while leaders.setdefault(loop, loop) != loop:
            loop = leaders[loop]
        return loop

    walked: dict[tuple[ir.Value, int], _Loop] = {}
    for index, op in enumerate(ops):
        for loop in range(accesses(op)[0].rank):
            leader((index, loop))
        for value, dimension, loop in _accesses(op):
            first = walked.setdefault((value, dimension), (index, loop))
            leaders[leader((index, loop))] = leader(first)
    return {loop: leader(loop) for loop in list(leaders)}


def _accesses(op: ir.Operation) -> Iterable[tuple[ir.Value, int, int]]:
    maps = accesses(op)
    inits = len(maps) - len(op.results)
    for value, access in zip((*op.operands, *op.results), (*maps, *maps[inits:]), strict=True):
        # A tensor without data of its own is often the init of unrelated ops.
        blank = defining_op(value, "tensor.empty", "linalg.fill") is not None
        for dimension, loop in enumerate(access.dimensions):
            if loop is not None and not blank:
                yield value, dimension, loop


# Names for ops that are matched by structure.


MASKED_ATTENTION = "masked_attention"
_NAMED = {"linalg.reduce": "reduction", "linalg.map": "elementwise"}
_MAXIMA = frozenset({"arith.maxnumf", "arith.maximumf"})


def called(ops: Sequence[ir.Operation], root: ir.Operation) -> str:
    """A short name for the work of `root` among the `ops` that are matched with it."""
    if _is_softmax(ops):
        return "softmax"
    if root.name == "iree_linalg_ext.online_attention":
        return MASKED_ATTENTION
    short = root.name.rpartition(".")[2]
    if "pooling" in short:
        return "pooling"
    if root.name in _NAMED:
        return _NAMED[root.name]
    if root.name == "linalg.generic":
        return _generic(root)
    return short if "reduction" in iterators(root) or _is_plain_copy(root) else "elementwise"


def _generic(op: ir.Operation) -> str:
    if "reduction" in iterators(op):
        if linalg.isa_convolution_op(op):
            body = ScalarBody.of(op)
            return "conv" if body and body.multiplies_and_accumulates else "pooling"
        return "reduction"
    if not _is_plain_copy(op):
        return "elementwise"
    source, destination = accesses(op)
    if len(source.results) < len(destination.results):
        return "broadcast"
    return "copy" if source == destination else "transpose"


def _is_plain_copy(op: ir.Operation) -> bool:
    return len(inputs_of(op)) == 1 and len(op.results) == 1 and ScalarBody.of(op) == ScalarBody(())


def _is_softmax(ops: Sequence[ir.Operation]) -> bool:
    found = [(ScalarBody.of(op), "reduction" in iterators(op)) for op in ops]
    bodies = [(set(body.ops) if body else set[str](), reduces) for body, reduces in found]
    return (
        any(reduces and body & _MAXIMA for body, reduces in bodies)
        and any(reduces and {"math.exp", "arith.addf"} <= body for body, reduces in bodies)
        and any("arith.divf" in body for body, _ in bodies)
    )


_WITH_OPS_INSIDE = "iree_linalg_ext.custom_op"
"""Holds other ops, and takes no configuration but theirs: with one of its own, no pipeline lowers it."""


class Generic(OpFamily):
    """Any op with indexing maps, matched with its producers and its users.

    Dynamic loops are matched by the bounds of the first init, as for other families. If one has no upper
    bound, all open sizes are matched only where they are known at run time.
    """

    name = "generic"
    priority = 100

    def describe(self, op: ir.Operation) -> Workload | None:
        """A compute op; None for other ops, and for dynamic ones that compute where they read."""
        if not is_compute(op) or op.name == _WITH_OPS_INSIDE:
            return None
        found = structure(op, dynamic=True)
        # A tile of an op of linalg that indexes each dimension by one loop is one of the data.
        direct = found is not None and all(None not in access.dimensions for access in found.maps)
        if found is None or (found.dynamic and not (direct and op.name.startswith("linalg."))):
            return None
        labels, graph = _members(op)
        companions = _companions(labels)
        if companions is None:
            return None
        name, text = called(list(labels.values()), op), dag.write(graph, labels)
        return replace(found, family=self.name, op=name, companions=companions, dag=text)

    def locate(self, op: ir.Operation, workload: Workload) -> Mapping[str, ir.Operation]:
        """The root op and its companions, in the function that `op` is in."""
        labels, _ = _members(op)
        if len(labels) != 1 + len(workload.companions):
            raise ValueError(f"{op.name} is not the root op of {workload.name}")
        return labels

    def sums(self, workload: Workload) -> Tolerance:
        return attention_tolerance(workload) if workload.op == MASKED_ATTENTION else super().sums(workload)

    def matcher(self, workload: Workload, handle: ir.Value) -> Mapping[str, ir.Value]:
        """Match the DAG from its sink, and go from there to the root op and the companions."""
        bounded = all(loop.upper is not None for loop in workload.dynamic)
        found = dag.match(workload.dag, handle, "" if bounded else ROOT)
        if workload.dynamic:
            inits = dict(facts_of(workload.dag).results)[ROOT]
            require_bounds(found[ROOT], workload, len(workload.types) - inits)
        return found


def _members(root: ir.Operation) -> tuple[dict[str, ir.Operation], dag.Dag]:
    graph = dag.collect(_users(root)[-1])
    reached = dag.above(graph.ops[-1])
    others = [op for op in graph.ops if is_compute(op) and op != root and op in reached]
    return {ROOT: root, **{f"companion_{index}": op for index, op in enumerate(others)}}, graph


def _users(root: ir.Operation) -> list[ir.Operation]:
    """The root and every compute op of its block that uses its results, directly or not, in order."""

    def further(op: ir.Operation) -> list[ir.Operation]:
        found = (each for each in users_of(op) if each.name.startswith(dag.DIALECTS))
        return [each for each in found if each.parent == root.parent]

    reached = set(reachable([root], further))
    return [op for op in ops_in(root.block) if op in reached and is_compute(op)]


def _companions(labels: Mapping[str, ir.Operation]) -> tuple[Companion, ...] | None:
    companions: list[Companion] = []
    found = {label: structure(op, dynamic=True) for label, op in labels.items()}
    shared = shared_loops(list(labels.values()))  # the root is the first
    for (label, op), own in list(zip(labels.items(), shared, strict=True))[1:]:
        described = found[label]
        if described is None or any(own[each.loop] is None for each in described.dynamic):
            return None
        companions.append(Companion(label, called([op], op), described.loops, described.iterators, own))
    return tuple(companions)
